//! What an adversary has to know and to have, what he has, and when he plays.

use tidegate_algorithms::{Span, Timestamp};

/// Something an adversary has to know or to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Need {
    /// The limit's numbers.
    Policy,
    /// When windows begin by the server's clock.
    Phase,
    /// What refusals say of when to come back.
    RetryAfter,
    /// Many addresses.
    Addresses,
    /// An IPv6 network shorter than the key's prefix.
    Ipv6Network,
    /// Many accounts or phone numbers to try.
    Subjects,
    /// New sessions or challenges at will.
    Sessions,
    /// An account of his own.
    OwnAccount,
    /// Requests under way at once.
    Concurrency,
    /// That the store goes down, by chance or by his doing.
    Outage,
    /// That processes start anew.
    Restarts,
}

impl Need {
    /// Returns it in words, as the end of a sentence that begins with "needs".
    pub fn words(self) -> &'static str {
        match self {
            Self::Policy => "the limit's numbers",
            Self::Phase => "when windows begin",
            Self::RetryAfter => "what refusals say of when to come back",
            Self::Addresses => "many addresses",
            Self::Ipv6Network => "an IPv6 network",
            Self::Subjects => "many accounts or numbers to try",
            Self::Sessions => "new sessions or codes at will",
            Self::OwnAccount => "an account of his own",
            Self::Concurrency => "requests under way at once",
            Self::Outage => "an outage of the store",
            Self::Restarts => "a restart",
        }
    }
}

/// What an adversary has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Means {
    /// How many addresses send for him.
    pub addresses: u32,
    /// The length of the prefix of the IPv6 network that he holds.
    pub ipv6_prefix: u8,
    /// The most requests a second that he makes.
    pub rate: u32,
    /// How many accounts or numbers he tries.
    pub subjects: u32,
    /// How many requests he can have under way at once.
    pub concurrency: u32,
    /// How many guesses he puts into one request, where the service takes several.
    pub batch: u32,
}

impl Default for Means {
    /// A hundred rented addresses, a /48, a thousand requests a second, ten thousand accounts.
    fn default() -> Self {
        Self { addresses: 100, ipv6_prefix: 48, rate: 1000, subjects: 10_000, concurrency: 20, batch: 10 }
    }
}

impl Means {
    /// Returns the time that so many requests take him, rounded down; a rate of none is one a second.
    pub fn time_for(&self, requests: u64) -> Span {
        let micros = u128::from(requests).saturating_mul(1_000_000) / u128::from(self.rate.max(1));
        // More than there is time.
        Span::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
    }

    /// Returns the least time between two of his requests, a microsecond at least.
    pub fn step(&self) -> Span {
        self.time_for(1).max(Span::from_micros(1))
    }
}

/// When and with what an attack is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Play {
    /// The instant at which it begins: what its phase to windows of the clock comes from.
    pub start: Timestamp,
    /// How long it goes on.
    pub length: Span,
    /// How far from the instants he aims at his requests arrive: a standard deviation.
    pub jitter: Span,
    /// What he has.
    pub means: Means,
}

impl Play {
    /// Returns the first instant after it.
    pub fn end(&self) -> Timestamp {
        self.start.saturating_add(self.length)
    }
}

//! What actors do and see: requests at instants, and the answers to them.

use std::net::IpAddr;

use rand_pcg::Pcg64Mcg;
use tidegate_algorithms::{Span, Timestamp};

/// The numbers that chance is made of; the same for the same seed on every machine.
pub type Chance = Pcg64Mcg;

/// Whom a request is about and where it comes from, as coordinates; a [`Target`](crate::target::Target) makes a request of
/// them. Equal coordinates make equal requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Who {
    /// Whom it is about: the number of an account, a phone number, a customer. Phone numbers whose subjects have the same
    /// ten thousands are neighbours.
    pub subject: u32,
    /// Which spelling of that somebody: 0 as the service itself writes it, others where it does not mind.
    pub spelling: u8,
    /// Which session, challenge, cookie or device, all of which a caller gets anew when he likes.
    pub session: u32,
    /// The address that the connection comes from.
    pub address: IpAddr,
    /// The address that the request itself claims to come from, in the field that proxies write.
    pub forwarded: Option<IpAddr>,
}

impl Who {
    /// Returns the coordinates of somebody who asks about `subject` from `address`, with nothing odd about him.
    pub fn new(subject: u32, address: IpAddr) -> Self {
        Self { subject, spelling: 0, session: 0, address, forwarded: None }
    }
}

/// What the service behind the limits answers to a request that passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The guess was wrong.
    Failure,
    /// It was right: a person's own code, or the login of the attacker's own account.
    Success,
}

/// One or several equal requests that arrive together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Act {
    /// The instant at which they are to arrive, by the actor's own clock. One that has passed means at once.
    pub at: Timestamp,
    /// Whom they are about and where they come from.
    pub who: Who,
    /// How many requests.
    pub requests: u32,
    /// How many guesses each carries: 1, more where a service takes several in one request, 0 for one that guesses nothing.
    pub guesses: u32,
    /// What becomes of those that pass.
    pub outcome: Outcome,
}

impl Act {
    /// Returns one request with one wrong guess.
    pub fn one(at: Timestamp, who: Who) -> Self {
        Self { at, who, requests: 1, guesses: 1, outcome: Outcome::Failure }
    }

    /// Returns the same, so many times at once.
    #[must_use]
    pub fn times(self, requests: u32) -> Self {
        Self { requests, ..self }
    }
}

/// What an actor sees of what he did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// When the requests were decided, by the server's clock.
    pub at: Timestamp,
    /// How many passed.
    pub admitted: u32,
    /// How many did not.
    pub refused: u32,
    /// How long the last refusal said to wait, where clients are told: whole seconds, rounded up, as `Retry-After` has it.
    pub retry_after: Option<Span>,
    /// Whether the limits' store was gone.
    pub degraded: bool,
}

/// Somebody who makes requests: an adversary's hand, or a person.
pub trait Actor: Send {
    /// Returns what he does next, after the answer to what he did last; `None` when he is done. First he is asked without
    /// an answer.
    fn next(&mut self, last: Option<&Answer>, chance: &mut Chance) -> Option<Act>;

    /// Returns whether what he does next is done to learn, on accounts of his own: it meets the limits, and is no part of the
    /// attack that is told and measured.
    fn is_learning(&self) -> bool {
        false
    }
}

/// Whose requests a seat's are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The adversary's: what the limits are there for.
    Adversary,
    /// A person's who wants nothing but his own.
    Person,
}

/// An actor at his place in a simulation.
pub struct Seat {
    /// Whose requests they are.
    pub role: Role,
    /// Who makes them.
    pub actor: Box<dyn Actor>,
    /// The standard deviation of how far a request arrives from when it was meant to: his clock and the way together.
    pub jitter: Span,
    /// The number of the adversary whose it is, where there are several.
    pub party: usize,
}

impl Seat {
    /// Returns an adversary's seat, who hits the instants he aims at.
    pub fn adversary(actor: impl Actor + 'static) -> Self {
        Self { role: Role::Adversary, actor: Box::new(actor), jitter: Span::ZERO, party: 0 }
    }

    /// Returns a person's seat.
    pub fn person(actor: impl Actor + 'static) -> Self {
        Self { role: Role::Person, actor: Box::new(actor), jitter: Span::ZERO, party: 0 }
    }

    /// Makes requests arrive off the instants they are meant for, by a normal distribution around them.
    #[must_use]
    pub fn with_jitter(self, jitter: Span) -> Self {
        Self { jitter, ..self }
    }
}

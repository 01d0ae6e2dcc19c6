//! Messages, lookups and accounts by the million: what rates and quotas add up to.

use super::figure::{Figure, Unit};
use super::played::{BY_ADDRESS, float};
use super::played::{Fault, against, bucket, clock, digits, keyed, log, play, secs, wide};
use super::{Case, Figures};
use crate::adversary::{Means, Play};
use tidegate_review::{DAY, YEAR};

pub(super) const CASES: [Case; 6] = [
    Case {
        id: "twitter-sms-pumping",
        what: "Codes sent by SMS to numbers of 390 carriers that share the price, for 60 million dollars a year.",
        source: "cybelangel.com/blog/sms-pumping-fraud; voxsolutions.co",
        published: "60 million dollars a year, 390 carriers",
        unconfirmed: Some("the claim: the company never confirmed it"),
        says: "At five cents each, six messages a minute and carrier: below any limit by address or number.",
        figures: pumping,
    },
    Case {
        id: "startmessaging",
        what: "12,000 messages in an hour at 0.30 rupees each.",
        source: "startmessaging.com/blog/otp-rate-limiting-guide",
        published: "3,600 rupees",
        unconfirmed: None,
        says: "The price is in how many, not in how fast: 3.3 a second.",
        figures: startmessaging,
    },
    Case {
        id: "signal-2021",
        what: "A leaky bucket of 50,000 lookups that gets 200,000 a day, and a hundred accounts for 25 days.",
        source: "Hagen et al., NDSS 2021",
        published: "505 million numbers with a hundred accounts in 25 days",
        unconfirmed: Some("the bucket's parameters, and the figures beside the abstract"),
        says: "The bound B + R · H of the bucket, a hundred times.",
        figures: signal,
    },
    Case {
        id: "whatsapp-2025",
        what: "Lookups from five sessions without a limit that shows.",
        source: "arxiv.org/abs/2511.20252",
        published: "more than 100 million numbers an hour",
        unconfirmed: None,
        says: "5,556 a second of each.",
        figures: whatsapp,
    },
    Case {
        id: "edge-counters",
        what: "1,200 requests an hour and address that the counters of edges let through, from ten addresses.",
        source: "a case study of security-program.com",
        published: "28,800 a day and address, 2.0 million a week from ten",
        unconfirmed: None,
        says: "What a limit lets through in the long run is what it is worth.",
        figures: edges,
    },
    Case {
        id: "spray",
        what: "A hundred thousand stolen passwords, five codes a day and account, three right at once.",
        source: "from the chances alone",
        published: "no figure",
        unconfirmed: None,
        says: "One or two accounts a day, under any rule by account.",
        figures: spray,
    },
];

fn seconds_a_year() -> f64 {
    float(YEAR.as_micros()) / 1e6
}

#[expect(clippy::unnecessary_wraps, reason = "all cases have one shape")]
fn pumping() -> Figures {
    let a_second = 60e6 / 0.05 / seconds_a_year();
    Ok(vec![
        Figure::computed("messages a second", Unit::PerSecond, a_second).known(38.0, 0),
        Figure::computed("messages a minute and carrier", Unit::PerMinute, a_second * 60.0 / 390.0)
            .known(5.9, 1),
    ])
}

#[expect(clippy::unnecessary_wraps, reason = "all cases have one shape")]
fn startmessaging() -> Figures {
    Ok(vec![
        Figure::computed("rupees", Unit::Count, 12_000.0 * 0.30).published(3_600.0, 0),
        Figure::computed("messages a second", Unit::PerSecond, 12_000.0 / 3_600.0).known(3.3, 1),
    ])
}

fn signal() -> Figures {
    let quota = bucket(50_000, 200_000, 86_400)?;
    let of_each = quota.most_from_idle(secs(25 * 86_400));
    let all = of_each.saturating_mul(100);
    Ok(vec![
        Figure::computed("lookups of a hundred accounts in 25 days", Unit::Count, wide(all))
            .published(505_000_000.0, 0),
        Figure::computed("lookups a day and account", Unit::Count, wide(of_each) / 25.0).known(202_000.0, 0),
    ])
}

#[expect(clippy::unnecessary_wraps, reason = "all cases have one shape")]
fn whatsapp() -> Figures {
    let a_second = 1e8 / 3_600.0;
    Ok(vec![
        Figure::computed("a second", Unit::PerSecond, a_second).known(27_778.0, 0),
        Figure::computed("a second and session", Unit::PerSecond, a_second / 5.0).known(5_556.0, 0),
    ])
}

fn edges() -> Figures {
    let quota = clock(1_200, 3_600)?;
    let (target, aim) = keyed(quota, BY_ADDRESS);
    let day = Play { means: Means { addresses: 1, rate: 10, ..Means::default() }, ..play(secs(0), DAY) };
    let alone = against(target, "many-addresses", &aim, &day)?;
    let week = log(1_200, 3_600)?.most_in_half_open(secs(7 * 86_400)).saturating_mul(10);
    Ok(vec![
        Figure::simulated("a day from one address", Unit::Count, alone.count()).published(28_800.0, 0),
        Figure::computed("millions a week from ten", Unit::Count, wide(week) / 1e6).published(2.0, 1),
    ])
}

fn spray() -> Figures {
    let tries = 100_000.0 * 5.0;
    let of_one: Result<f64, Fault> = Ok(digits(6, 3)?.chance_of_one());
    Ok(vec![Figure::computed("accounts a day", Unit::Count, tries * of_one?).known(1.5, 1)])
}

//! What services and standards allow, where they tell no time that a blind guess takes.

use super::figure::{Figure, Unit};
use super::incidents::{code_of_attempts, guard, whole};
use super::played::{
    BY_ADDRESS, BY_SESSION, Fault, against, at_quota, bucket, digits, keyed, log, play, secs, wide,
};
use super::policies::half;
use super::{Case, Figures};
use crate::adversary::{Aim, Means, Play};
use crate::world::Setting;
use tidegate_algorithms::{Quota, Span};

pub(super) const CASES: [Case; 5] = [
    Case {
        id: "asvs-2.2.1",
        what: "A hundred failures an hour and account, the ceiling of the standard.",
        source: "github.com/OWASP/ASVS/issues/906",
        published: "no time",
        unconfirmed: None,
        says: "Not enough for six digits.",
        figures: asvs,
    },
    Case {
        id: "twilio-verify",
        what: "Five checks a verification that lives ten minutes, and a new one whenever the last is spent.",
        source: "twilio.com/docs/api/errors/60202, 60203, 60308, 60312",
        published: "no time",
        unconfirmed: None,
        says: "Years for six digits, two weeks for four.",
        figures: twilio,
    },
    Case {
        id: "ownid",
        what: "Five tries a challenge and a hundred challenges in five minutes, if nothing else limits.",
        source: "docs.ownid.com/explore/customize-emails/rate-limits",
        published: "no time",
        unconfirmed: None,
        says: "A counter that begins anew with each code is no limit: less than a week.",
        figures: ownid,
    },
    Case {
        id: "supabase-verify",
        what: "360 tries an hour and address with a burst of 30, at a code that lives an hour.",
        source: "github.com/supabase/supabase/pull/19582",
        published: "no chance",
        unconfirmed: None,
        says: "A limit by address alone is one by how many addresses are rented.",
        figures: supabase,
    },
    Case {
        id: "entra-lockout",
        what: "A lockout after ten failures, counted by each data centre for itself.",
        source: "the Azure AD documentation of smart lockout",
        published: "attempts are the threshold times the data centres",
        unconfirmed: None,
        says: "As many times ten as there are regions.",
        figures: entra,
    },
];

fn asvs() -> Figures {
    let quota = [log(100, 3_600)?];
    Ok(vec![
        Figure::computed("half by", Unit::Days, half(1, &quota)?).known(289.0, 0),
        Figure::computed("half by, with three right codes", Unit::Days, half(3, &quota)?).known(96.0, 0),
    ])
}

/// Plays challenge cycling for so long: so many tries a challenge, and so many challenges in a time.
fn cycling(attempts: u32, challenges: u64, window: u64, length: u64) -> Result<f64, Fault> {
    let (target, mut aim) = keyed(log(attempts.into(), 86_400)?, BY_SESSION);
    aim.code = Some(code_of_attempts(attempts));
    aim.senders = vec![guard(&aim, log(challenges, window)?)];
    Ok(against(target, "challenge-cycling", &aim, &play(secs(9), secs(length)))?.count())
}

fn twilio() -> Figures {
    let a_day = cycling(5, 1, 600, 86_400)?;
    let mean = |length: u32| digits(length, 1).map(|code| code.mean_tries() / a_day);
    Ok(vec![
        Figure::simulated("tries a day", Unit::Count, a_day).known(720.0, 0),
        Figure::simulated("mean, six digits", Unit::Years, mean(6)? / 365.0).known(3.8, 1),
        Figure::simulated("mean, four digits", Unit::Days, mean(4)?).known(13.9, 1),
    ])
}

fn ownid() -> Figures {
    // An hour holds twelve windows.
    let a_day = cycling(5, 100, 300, 3_600)? * 24.0;
    let code = digits(6, 1)?;
    Ok(vec![
        Figure::simulated("tries a day, by an hour's", Unit::Count, a_day).known(144_000.0, 0),
        Figure::simulated("mean", Unit::Days, code.mean_tries() / a_day).known(6.9, 1),
        Figure::simulated("half by", Unit::Days, code.tries_at(0.5) / a_day).known(4.8, 1),
    ])
}

fn supabase() -> Figures {
    let code = digits(6, 1)?;
    let quota = bucket(30, 360, 3_600)?;
    let (target, aim) = keyed(quota, BY_ADDRESS);
    let life = Span::from_micros(3_600_000_001);
    let hour = Play { means: Means { addresses: 1, ..Means::default() }, ..play(secs(9), life) };
    let alone = against(std::sync::Arc::clone(&target), "many-addresses", &aim, &hour)?;
    let sources = code.sources_to_exhaust(whole(alone.count())).unwrap_or(0);
    let hundred = Play { means: Means { addresses: 100, ..Means::default() }, ..hour };
    let together = against(target, "many-addresses", &aim, &hundred)?;
    let chance = code.chance_without_repeats(whole(together.count()));
    Ok(vec![
        Figure::simulated("tries of one address while a code lives", Unit::Count, alone.count())
            .known(390.0, 0),
        Figure::simulated("addresses that try every code", Unit::Count, wide(sources)).known(2_565.0, 0),
        Figure::simulated("chance of a hundred addresses", Unit::Percent, 100.0 * chance).known(3.9, 1),
    ])
}

fn entra() -> Figures {
    let quota = Quota::lockout(10, secs(600), secs(3_600))?;
    let of = |regions: u32| -> Result<f64, Fault> {
        let setting = Setting { regions, ..Setting::default() };
        let aim = Aim { setting, ..Aim::at(quota) };
        let adversary = if regions > 1 { "regions" } else { "refill" };
        Ok(at_quota(adversary, &aim, &play(secs(9), secs(600)))?.count())
    };
    Ok(vec![
        Figure::simulated("attempts at one data centre", Unit::Count, of(1)?).known(10.0, 0),
        Figure::simulated("attempts at three data centres", Unit::Count, of(3)?).published(30.0, 0),
        Figure::simulated("attempts at eight data centres", Unit::Count, of(8)?).published(80.0, 0),
    ])
}

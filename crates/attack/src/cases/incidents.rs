//! Incidents: codes that were guessed at, or could have been, and how long it took or would have.

use super::figure::{Figure, Unit};
use super::played::{
    BY_ADDRESS, BY_SESSION, Evenly, against, bucket, clock, digits, first_hit, float, in_unit, keyed, log,
    play, rounds, seated, secs, times, wide,
};
use super::{Case, Figures};
use crate::act::Seat;
use crate::adversary::{Aim, Guard, Keyed, Means, Play};
use tidegate_algorithms::Span;
use tidegate_policy::Code;
use tidegate_review::Guess;

pub(super) const CASES: [Case; 10] = [
    Case {
        id: "authquake-2024",
        what: "Ten failures a login session, sessions without end, a code that is taken for three minutes: the counter is \
               keyed on what the attacker gets anew.",
        source: "beyondidentity.com, informationsecuritybuzz.com and darkreading.com on AuthQuake",
        published: "3 % in each window, more than 50 % after 24 sessions or some 70 minutes",
        unconfirmed: None,
        says: "The arithmetic holds for 3 % a window, which counts one right code; at the rate that takes, with all six \
               codes that are right at once, it is half after twelve minutes.",
        figures: authquake,
    },
    Case {
        id: "instagram-2019",
        what: "A reset code of six digits that lives ten minutes, some 200 tries an address, nothing by account.",
        source: "asipatha.info, 23 August 2019, on Muthiyah's finding",
        published: "5,000 addresses for the whole space, some 150 dollars",
        unconfirmed: Some("that concurrency is how 200 tries of an address got through"),
        says: "The addresses to exhaust a code are its space by what one of them may try while it lives.",
        figures: instagram,
    },
    Case {
        id: "microsoft-2021",
        what: "A reset code of seven digits; of a thousand sent at once 122 were looked at, and a race went around the block.",
        source: "securityaffairs.com/115230, on Muthiyah's finding",
        published: "some 11 million requests with the second factor",
        unconfirmed: Some("the 11 million"),
        says: "Both spaces together.",
        figures: microsoft,
    },
    Case {
        id: "zoom-2020",
        what: "A meeting's code of six digits, and nothing that limits tries.",
        source: "hotforsecurity.bitdefender.com, 30 July 2020, on Anthony's finding",
        published: "all million codes within minutes, with four or five servers",
        unconfirmed: Some("how fast one machine was"),
        says: "Three to five minutes take a rate that four or five servers can make.",
        figures: zoom,
    },
    Case {
        id: "web3-game-2026",
        what: "A code of six digits that lives ten minutes, no limit, 623 tries a second over 80 connections.",
        source: "imvector.dev/field-notes/otp-brute-force-web3-game",
        published: "374,000 tries a window, 37 %; seven minutes",
        unconfirmed: None,
        says: "37 % a window holds. Seven minutes was one lucky run: the mean over codes that are sent again is 22.",
        figures: web3_game,
    },
    Case {
        id: "shesha-4772",
        what: "A code of six digits that lives an hour, a hundred threads of 14.6 tries a second each.",
        source: "github.com, shesha-framework issue 4772",
        published: "some 11 minutes",
        unconfirmed: None,
        says: "The space by the rate.",
        figures: shesha,
    },
    Case {
        id: "textbee-238",
        what: "500 tries a minute and address at one of 900,000 codes that lives twenty minutes.",
        source: "github.com, textbee pull request 238",
        published: "10,000 tries an address, some 1.1 %",
        unconfirmed: None,
        says: "And ninety addresses try them all.",
        figures: textbee,
    },
    Case {
        id: "keycloak-2fa-email-146",
        what: "A limit on attempts that is never reached, so that only the connection limits: 500 tries in four seconds, \
               five minutes a code.",
        source: "github.com, keycloak-2fa-email plugin issue 146",
        published: "500 wrong codes in four seconds",
        unconfirmed: None,
        says: "At six digits 3.75 % a code; at the eight that were set, half after six days.",
        figures: keycloak_email,
    },
    Case {
        id: "dcms-50",
        what: "Four codes a minute with five tries each, counted anew for each code; 60 mails a minute of 100 a day.",
        source: "github.com, dcms issue 50",
        published: "some 20 guesses a minute; the mail quota gone in less than two minutes",
        unconfirmed: None,
        says: "Half of such attacks succeed by the 24th day.",
        figures: dcms,
    },
    Case {
        id: "keycloak-totp-2026",
        what: "Codes of the clock without a limit, three of them right at once.",
        source: "groups.google.com, keycloak-user, January 2026; github.com/keycloak/keycloak issue 46164",
        published: "a few hours an account",
        unconfirmed: None,
        says: "Three at thirty tries a second, nine at ten.",
        figures: keycloak_totp,
    },
];

fn authquake() -> Figures {
    let window = Guess::new(100, 1, 3)?;
    let sessions = window.tries_at(0.5);
    let one = digits(6, 1)?;
    let six = digits(6, 6)?;
    // Ten tries a session, a session each sixty milliseconds: 30,000 tries in the three minutes of a code.
    let (target, aim) = keyed(log(10, 180)?, BY_SESSION);
    let play = play(secs(9), secs(700));
    let hand = Evenly { per_session: 10, ..Evenly::from(&play, Span::from_millis(6)) };
    let passed = seated(target, &aim, &play, vec![Seat::adversary(hand)], 1)?;
    let in_window = passed.first(Span::from_micros(180_000_000 - 1));
    let half = passed.seconds_to(six.tries_for(0.5));
    Ok(vec![
        Figure::computed("after 24 windows of 3 %", Unit::Percent, 100.0 * window.chance_of(24))
            .published_at_least(50.0)
            .known(51.86, 2),
        Figure::computed("time of 24 windows", Unit::Minutes, 24.0 * 3.0).published_about(70.0, 2.5),
        Figure::computed("half by, in windows", Unit::Count, sessions).known(22.8, 1),
        Figure::computed("half by", Unit::Minutes, sessions * 3.0).published_about(70.0, 2.5).known(68.0, 0),
        Figure::simulated("tries in three minutes that pass", Unit::Count, in_window).known(30_000.0, 0),
        Figure::computed(
            "those at one right code",
            Unit::Percent,
            100.0 * one.chance_without_repeats(30_000),
        )
        .published(3.0, 0)
        .known(3.0, 9),
        Figure::computed("those at six right codes", Unit::Percent, 100.0 * six.chance_of(30_000))
            .known(16.5, 1),
        Figure::simulated("half by, with six right codes", Unit::Minutes, in_unit(half, Unit::Minutes))
            .known(11.6, 1),
    ])
}

fn instagram() -> Figures {
    let code = digits(6, 1)?;
    let quota = first_hit(200, 3_600)?;
    let (target, aim) = keyed(quota, BY_ADDRESS);
    let means = Means { addresses: 1_000, rate: 1_667, ..Means::default() };
    let play = Play { means, ..play(secs(9), secs(600)) };
    let passed = against(target, "many-addresses", &aim, &play)?;
    let tries = whole(passed.count());
    let sources = code.sources_to_exhaust(quota.most_from_idle(secs(600))).unwrap_or(0);
    Ok(vec![
        Figure::computed("addresses that try every code", Unit::Count, wide(sources)).published(5_000.0, 0),
        Figure::computed("dollars for them at three cents each", Unit::Count, 0.03 * wide(sources))
            .published(150.0, 0),
        Figure::simulated("tries of 1,000 addresses that pass in ten minutes", Unit::Count, passed.count())
            .known(200_000.0, 0),
        Figure::simulated("their chance", Unit::Percent, 100.0 * code.chance_without_repeats(tries))
            .known(20.0, 1),
        Figure::computed("tries a second of 5,000 addresses", Unit::PerSecond, 1e6 / 600.0).known(1_667.0, 0),
        Figure::computed("of each of them", Unit::PerSecond, 1e6 / 600.0 / 5_000.0).known(0.33, 2),
    ])
}

fn microsoft() -> Figures {
    let both = digits(7, 1)?.space().saturating_add(digits(6, 1)?.space());
    Ok(vec![Figure::computed("codes of both factors", Unit::Count, wide(both)).published(11_000_000.0, 0)])
}

fn zoom() -> Figures {
    let space = wide(digits(6, 1)?.space());
    let of = |minutes: f64| space / (minutes * 60.0);
    Ok(vec![
        Figure::computed("tries a second for five minutes", Unit::PerSecond, of(5.0)).known(3_333.0, 0),
        Figure::computed("tries a second for three minutes", Unit::PerSecond, of(3.0)).known(5_556.0, 0),
        Figure::computed("at least of each of five servers", Unit::PerSecond, of(5.0) / 5.0)
            .known_about(670.0, 0, 5.0),
        Figure::computed("at most of each of five servers", Unit::PerSecond, of(3.0) / 5.0)
            .known_about(1_100.0, 0, 15.0),
    ])
}

fn web3_game() -> Figures {
    let tries = 623 * 600;
    let chance = digits(6, 1)?.chance_without_repeats(tries);
    // All windows but the last one miss; in the last one the hit is halfway, in the mean.
    let mean = (chance.recip() - 1.0) * 600.0 + 300.0;
    Ok(vec![
        Figure::computed("tries while a code lives", Unit::Count, wide(tries))
            .published_about(374_000.0, 500.0)
            .known(373_800.0, 0),
        Figure::computed("chance of one code", Unit::Percent, 100.0 * chance)
            .published(37.0, 0)
            .known(37.4, 1),
        Figure::computed(
            "mean, over codes that are sent again",
            Unit::Minutes,
            in_unit(Some(mean), Unit::Minutes),
        )
        .published(7.0, 0)
        .wrongly()
        .known_about(21.8, 1, 0.06),
    ])
}

fn shesha() -> Figures {
    let all = wide(digits(6, 1)?.space()) / (100.0 * 14.6);
    Ok(vec![
        Figure::computed("time to try every code", Unit::Minutes, in_unit(Some(all), Unit::Minutes))
            .published_about(11.0, 0.5)
            .known(11.4, 1),
    ])
}

fn textbee() -> Figures {
    let code = Guess::new(900_000, 1, 1)?;
    let quota = clock(500, 60)?;
    let (target, aim) = keyed(quota, BY_ADDRESS);
    let life = play(secs(0), secs(1_200));
    let hand = Evenly::from(&life, Span::from_millis(100));
    let passed = seated(target, &aim, &life, vec![Seat::adversary(hand)], 1)?;

    let tries = whole(passed.count());
    Ok(vec![
        Figure::simulated("tries of an address in twenty minutes", Unit::Count, passed.count())
            .published(10_000.0, 0),
        Figure::simulated("chance of one address", Unit::Percent, 100.0 * code.chance_without_repeats(tries))
            .published(1.1, 1)
            .known(1.11, 2),
        Figure::simulated(
            "addresses that try every code",
            Unit::Count,
            wide(code.sources_to_exhaust(tries).unwrap_or(0)),
        )
        .known(90.0, 0),
    ])
}

fn keycloak_email() -> Figures {
    let rate = 500.0 / 4.0;
    let tries = whole(rate * 300.0);
    let of = |length: u32| digits(length, 1).map(|code| code.chance_without_repeats(tries));
    let codes = rounds(0.5, of(8)?);
    Ok(vec![
        Figure::computed("tries at one code", Unit::Count, wide(tries)).known(37_500.0, 0),
        Figure::computed("chance of a code of six digits", Unit::Percent, 100.0 * of(6)?).known(3.75, 2),
        Figure::computed("chance of a code of eight digits", Unit::Percent, 100.0 * of(8)?).known(0.0375, 4),
        Figure::computed("codes of eight digits, half by", Unit::Count, codes).known(1_848.0, 0),
        Figure::computed("half by", Unit::Days, in_unit(Some(codes * 300.0), Unit::Days)).known(6.4, 1),
    ])
}

fn dcms() -> Figures {
    let (target, mut aim) = keyed(log(5, 3_600)?, BY_SESSION);
    aim.code = Some(code_of_attempts(5));
    aim.senders = vec![guard(&aim, log(4, 60)?)];
    let hour = play(secs(9), secs(3_600));
    let passed = against(target, "challenge-cycling", &aim, &hour)?;
    let a_minute = passed.count() / 60.0;
    let half = digits(6, 1)?.tries_at(0.5) / a_minute * 60.0;
    Ok(vec![
        Figure::simulated("guesses a minute, over an hour", Unit::PerMinute, a_minute)
            .published_about(20.0, 0.5),
        Figure::simulated("half by", Unit::Days, in_unit(Some(half), Unit::Days)).known_about(24.1, 1, 0.06),
        Figure::computed("mail quota gone after", Unit::Seconds, 100.0 / 60.0 * 60.0)
            .published_at_most(120.0)
            .known(100.0, 0),
    ])
}

/// Six digits, with so many tries at each code.
pub(super) fn code_of_attempts(attempts: u32) -> Code {
    Code {
        name: "code".to_owned(),
        digits: 6,
        alphabet: 10,
        step: None,
        skew_steps: 0,
        life: Some(secs(600)),
        valid: Some(1),
        attempts: Some(attempts),
        carry_over: false,
    }
}

/// A limit by whom a request is about, beside those that are aimed at.
pub(super) fn guard(aim: &Aim, quota: tidegate_algorithms::Quota) -> Guard {
    let keyed = Keyed { subject: true, ..Keyed::default() };
    let like = aim.guards.first().cloned();
    let like = like.unwrap_or_else(|| Aim::at(quota).guards.swap_remove(0));
    Guard { name: "send".to_owned(), quota, keyed, ..like }
}

fn keycloak_totp() -> Figures {
    let code = digits(6, 3)?;
    let hours = |rate: u64| -> Result<f64, super::played::Fault> {
        Ok(in_unit(times(&code, &[bucket(1, rate, 1)?]).mean, Unit::Hours))
    };
    Ok(vec![
        Figure::computed("tries, mean", Unit::Count, code.mean_tries()).known(333_333.0, 0),
        Figure::computed("mean at ten a second", Unit::Hours, hours(10)?).known(9.3, 1),
        Figure::computed("mean at thirty a second", Unit::Hours, hours(30)?).known(3.1, 1),
    ])
}

/// Returns a count that was made a figure as a count again.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts are whole and not negative"
)]
pub(super) fn whole(count: f64) -> u128 {
    debug_assert!(count < float(1 << 53));
    count.round() as u128
}

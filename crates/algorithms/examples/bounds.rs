//! Prints what limits admit at worst and what that gives a blind guesser: the figures of `docs/algorithms.md`.
//!
//! Run as `cargo run -p tidegate-algorithms --example bounds`. Counts come from `Quota`'s closed forms; the guessing
//! table adds the sum that whoever reviews a limit does by hand.

use std::error::Error;
use std::fmt::Write as _;
use std::io::{self, Write as _};

use tidegate_algorithms::{Anchor, Calendar, Quota, QuotaError, Rate, Span};

const DAY: Span = Span::from_secs(86_400);

fn main() -> Result<(), Box<dyn Error>> {
    io::stdout().write_all(report()?.as_bytes())?;
    Ok(())
}

/// Returns every table, as printed.
pub(crate) fn report() -> Result<String, Box<dyn Error>> {
    let codes = codes()?;
    let patient = ("sliding_log 9 per 24h", Quota::sliding_log(9, DAY)?);
    let tables = [
        worst("5 per 30 s", Span::from_secs(30), &codes)?,
        worst("100 per 60 s", Span::from_secs(60), &requests()?)?,
        queue(Quota::leaky_bucket(Rate::new(5, Span::from_secs(1))?, 10)?)?,
        guesses(&[&codes[..], &[patient, locks()?[0]]].concat())?,
        lockouts()?,
        months()?,
        denied(&[&codes[..], &[patient, locks()?[0]]].concat())?,
    ];
    Ok(tables.join("\n"))
}

type Named = (&'static str, Quota);

/// Five codes a half minute, said in six ways.
fn codes() -> Result<Vec<Named>, QuotaError> {
    let window = Span::from_secs(30);
    let refill = Rate::new(1, Span::from_secs(10))?;
    Ok(vec![
        ("fixed_window, clock", Quota::fixed_window(5, window, Anchor::Clock)?),
        ("fixed_window, first_hit", Quota::fixed_window(5, window, Anchor::FirstHit)?),
        ("sliding_counter", Quota::sliding_counter(5, window)?),
        ("sliding_log", Quota::sliding_log(5, window)?),
        ("token_bucket 4, 1 per 10s", Quota::token_bucket(4, refill)?),
        ("token_bucket 3, 1 per 10s", Quota::token_bucket(3, refill)?),
    ])
}

/// A hundred requests a minute, said in five ways.
fn requests() -> Result<Vec<Named>, QuotaError> {
    let window = Span::from_secs(60);
    Ok(vec![
        ("fixed_window, clock", Quota::fixed_window(100, window, Anchor::Clock)?),
        ("fixed_window, first_hit", Quota::fixed_window(100, window, Anchor::FirstHit)?),
        ("sliding_counter", Quota::sliding_counter(100, window)?),
        ("sliding_log", Quota::sliding_log(100, window)?),
        ("token_bucket 100, 100 per 1m", Quota::token_bucket(100, Rate::new(100, window)?)?),
    ])
}

/// The most in any half-open window, and in closed spans.
fn worst(nominal: &str, window: Span, quotas: &[Named]) -> Result<String, std::fmt::Error> {
    let spans = [Span::from_secs(2), window, Span::from_secs(600), Span::from_secs(3_600), DAY];
    let mut out = format!("{:<30}{:>10}", format!("{nominal}: most in"), format!("[t,t+{window})"));
    for span in spans {
        write!(out, "{:>12}", format!("[t,t+{span}]"))?;
    }
    writeln!(out, "{:>8}", "bytes")?;
    for (name, quota) in quotas {
        write!(out, "{name:<30}{:>10}", quota.most_in_half_open(window))?;
        for span in spans {
            write!(out, "{:>12}", quota.most_in_closed(span))?;
        }
        writeln!(out, "{:>8}", quota.state_bytes())?;
    }
    Ok(out)
}

/// Ten failures, then half an hour, as two rule books have it; and three, then a quarter.
fn locks() -> Result<[Named; 3], QuotaError> {
    let minutes = |n: u64| Span::from_secs(n * 60);
    Ok([
        ("lockout 10 in 30m, 30m", Quota::lockout(10, minutes(30), minutes(30))?),
        ("lockout 10 in 24h, 30m", Quota::lockout(10, DAY, minutes(30))?),
        ("lockout 3 in 5m, 15m", Quota::lockout(3, minutes(5), minutes(15))?),
    ])
}

/// What lockouts admit, and what to somebody who is never locked.
fn lockouts() -> Result<String, Box<dyn Error>> {
    let spans = [Span::from_secs(1_800), Span::from_secs(3_600), DAY];
    let mut out = format!("{:<34}", "lockout: most in");
    for span in spans {
        write!(out, "{:>12}", format!("[t,t+{span}]"))?;
    }
    writeln!(out, "{:>12}", "a day")?;
    for (name, quota) in locks()? {
        let Quota::Lockout(lockout) = quota else { continue };
        let run = quota.long_run();
        let row = |what: &str, most: [u128; 3], a_day: u128| {
            let [short, hour, day] = most;
            format!("{:<34}{short:>12}{hour:>12}{day:>12}{a_day:>12}\n", format!("{name}{what}"))
        };
        let per_day =
            |units: u32, micros: u64| u128::from(units) * u128::from(DAY.as_micros()) / u128::from(micros);
        let day = per_day(run.units, run.micros);
        out.push_str(&row("", spans.map(|span| quota.most_in_closed(span)), day));
        let careful = per_day(lockout.attempts() - 1, lockout.within().as_micros());
        out.push_str(&row(
            ", not locked",
            spans.map(|span| lockout.most_without_locking_in_closed(span)),
            careful,
        ));
    }
    Ok(out)
}

/// What a quota of a calendar month admits at worst.
fn months() -> Result<String, Box<dyn Error>> {
    let month = Quota::calendar_window(10_000, Calendar::Month)?;
    let mut out = format!("{:<34}", "10,000 a calendar month: most in");
    let spans = [1, 28, 31, 59, 365].map(|days| Span::from_secs(days * 86_400));
    for span in spans {
        write!(out, "{:>12}", format!("[t,t+{span})"))?;
    }
    write!(out, "\n{:<34}", "fixed_window, calendar")?;
    for span in spans {
        write!(out, "{:>12}", month.most_in_half_open(span))?;
    }
    out.push('\n');
    Ok(out)
}

/// The fewest requests that keep a key refused in half-open spans.
fn denied(quotas: &[Named]) -> Result<String, std::fmt::Error> {
    let spans = [Span::from_secs(30), Span::from_secs(600), Span::from_secs(3_600), DAY];
    let mut out = format!("{:<30}", "requests to deny a key for");
    for span in spans {
        write!(out, "{:>10}", span.to_string())?;
    }
    out.push('\n');
    for (name, quota) in quotas {
        write!(out, "{name:<30}")?;
        for span in spans {
            let closed = Span::from_micros(span.as_micros() - 1);
            let requests =
                quota.requests_to_deny(closed).map_or_else(|| "more".to_owned(), |n| n.to_string());
            write!(out, "{requests:>10}")?;
        }
        out.push('\n');
    }
    Ok(out)
}

/// What a leaky bucket takes and starts.
fn queue(quota: Quota) -> Result<String, std::fmt::Error> {
    let mut out = format!("{:<34}{:>12}{:>12}\n", "leaky_bucket 5 per 1s, queue 10", "[t,t+1s]", "[t,t+1m]");
    let spans = [Span::from_secs(1), Span::from_secs(60)];
    for (what, most) in [
        ("admitted", spans.map(|span| quota.most_in_closed(span))),
        ("started", spans.map(|span| quota.most_started_in_closed(span))),
    ] {
        writeln!(out, "{what:<34}{:>12}{:>12}", most[0], most[1])?;
    }
    Ok(out)
}

/// What a patient guesser who never repeats a code gets: six digits, three codes valid at once.
fn guesses(quotas: &[Named]) -> Result<String, Box<dyn Error>> {
    const HIT: f64 = 3e-6;
    let day = f64::from(u32::try_from(DAY.as_micros() / 1_000_000)?);
    let mut out = format!(
        "{:<30}{:>10}{:>14}{:>14}{:>14}\n",
        "six digits, three valid", "a day", "mean days", "days to 50 %", "first day"
    );
    for (name, quota) in quotas {
        let run = quota.long_run();
        let period = f64::from(u32::try_from(run.micros / 1_000_000)?);
        let a_day = f64::from(run.units) * day / period;
        let first = f64::from(u32::try_from(quota.most_in_closed(DAY))?);
        let (mean, half) = (1.0 / HIT / a_day, 0.5_f64.ln() / (1.0 - HIT).ln() / a_day);
        let first = 100.0 * (1.0 - (1.0 - HIT).powf(first));
        writeln!(out, "{name:<30}{a_day:>10.0}{mean:>14.2}{half:>14.2}{:>14}", format!("{first:.2} %"))?;
    }
    let budget = 0.99_f64.ln() / (1.0 - HIT).ln() / 365.0;
    writeln!(out, "for 1 % a year: {budget:.1} guesses a day")?;
    Ok(out)
}

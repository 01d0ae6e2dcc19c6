//! The figures of a limit as text and as JSON.

use serde::Serialize;
use tidegate_review::{GuessTimes, spoken_chance, spoken_count, spoken_time, written};

use super::Figures;
use super::target::Target;

/// How wide the names of figures are.
const NAMES: usize = 30;

/// Returns the lines that people read.
pub(super) fn lines(figures: &Figures, target: Option<&Target>) -> Vec<String> {
    let row = |name: String, figure: String| format!("  {name:NAMES$}{figure}");
    let (span, horizon) = (figures.span, figures.horizon);
    let (half_open, closed) = (spoken_count(figures.half_open), spoken_count(figures.closed));
    let mut lines = vec![
        written(&figures.quota),
        row(format!("in any {span}, half-open"), half_open),
        row(format!("in any {span}, closed"), closed),
    ];
    if let Some(started) = figures.started {
        lines.push(row(format!("sent on in any {span}"), spoken_count(started)));
    }
    lines.extend([
        row(format!("from idle over {horizon}"), spoken_count(figures.from_idle)),
        row("in the long run".to_owned(), long_run(figures)),
        row(
            "one key's state".to_owned(),
            format!("{} bytes", spoken_count(figures.quota.state_bytes().into())),
        ),
        row("to keep a key refused a day".to_owned(), to_deny(figures.requests_to_deny)),
        format!("a blind guess at {}:", figures.guess),
    ]);
    let GuessTimes { mean, p50, p95, chance_day, chance_year } = figures.times;
    let time = |time: Option<f64>| time.map_or_else(|| "never".to_owned(), spoken_time);
    lines.extend([
        row("mean".to_owned(), time(mean)),
        row("50 % by".to_owned(), time(p50)),
        row("95 % by".to_owned(), time(p95)),
        row("chance within a day".to_owned(), spoken_chance(chance_day)),
        row("chance within a year".to_owned(), spoken_chance(chance_year)),
    ]);
    lines.extend(target.into_iter().flat_map(|target| target_lines(target, row)));
    lines
}

fn target_lines(target: &Target, row: impl Fn(String, String) -> String) -> Vec<String> {
    let mut lines = vec![
        format!("for at most {} a year:", percent(target.chance)),
        row("tries a year".to_owned(), spoken_count(floor(target.tries))),
        row("tries a day".to_owned(), one_decimal(target.tries_a_day())),
        row("this limit lets through".to_owned(), format!("{} a year", spoken_count(target.let_through))),
    ];
    if target.is_kept {
        lines.push(row("this limit".to_owned(), "keeps it".to_owned()));
        return lines;
    }
    let mut name = "a limit that keeps it";
    for limit in target.limits() {
        lines.push(row(name.to_owned(), written(limit)));
        name = "or";
    }
    if target.limits().next().is_none() {
        let most = spoken_count(floor(target.tries));
        lines.push(row(name.to_owned(), format!("none with these numbers; at most {most} may pass at once")));
    }
    let digits = target.digits.map_or_else(|| "none".to_owned(), |digits| format!("{digits} digits"));
    lines.push(row("a code that keeps it".to_owned(), digits));
    lines
}

fn to_deny(requests: Option<u64>) -> String {
    match requests {
        Some(1) => "1 request".to_owned(),
        Some(requests) => format!("{} requests", spoken_count(requests.into())),
        None => "more requests than can be counted".to_owned(),
    }
}

/// Writes the long-run rate: a day, and exactly a second.
fn long_run(figures: &Figures) -> String {
    let (units, seconds) = figures.per_second();
    let hundredths = units.saturating_mul(8_640_000) / seconds;
    let (whole, rest) = (hundredths / 100, hundredths % 100);
    let rest = if rest == 0 { String::new() } else { format!(".{rest:02}") };
    format!("{}{rest} a day ({} a second)", spoken_count(whole), fraction(units, seconds))
}

/// Writes a fraction, without a denominator of one.
fn fraction(numerator: u128, denominator: u128) -> String {
    if denominator == 1 { numerator.to_string() } else { format!("{numerator}/{denominator}") }
}

/// Writes a chance as the percentage that was asked for.
fn percent(chance: f64) -> String {
    let percent = format!("{:.6}", chance * 100.0);
    format!("{} %", percent.trim_end_matches('0').trim_end_matches('.'))
}

/// Writes a number with one decimal, or none when it is large.
fn one_decimal(number: f64) -> String {
    if number < 1e4 { format!("{number:.1}") } else { spoken_count(floor(number)) }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the conversion saturates")]
fn floor(number: f64) -> u128 {
    number.floor() as u128
}

/// The figures as JSON; without a target it has these members and no others.
#[derive(Serialize)]
struct Told {
    half_open: u128,
    closed: u128,
    from_idle: u128,
    long_run_per_second: String,
    guess: ToldTimes,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<ToldTarget>,
}

#[derive(Serialize)]
struct ToldTimes {
    mean_s: Option<f64>,
    p50_s: Option<f64>,
    p95_s: Option<f64>,
    chance_day: f64,
    chance_year: f64,
}

#[derive(Serialize)]
struct ToldTarget {
    chance_year: f64,
    attempts_year: f64,
    attempts_day: f64,
    kept: bool,
    limits: Vec<String>,
    digits: Option<u32>,
}

/// Returns one JSON object.
pub(super) fn json(figures: &Figures, target: Option<&Target>) -> serde_json::Result<String> {
    let (units, seconds) = figures.per_second();
    let GuessTimes { mean, p50, p95, chance_day, chance_year } = figures.times;
    serde_json::to_string(&Told {
        half_open: figures.half_open,
        closed: figures.closed,
        from_idle: figures.from_idle,
        long_run_per_second: fraction(units, seconds),
        guess: ToldTimes { mean_s: mean, p50_s: p50, p95_s: p95, chance_day, chance_year },
        target: target.map(|target| ToldTarget {
            chance_year: target.chance,
            attempts_year: target.tries,
            attempts_day: target.tries_a_day(),
            kept: target.is_kept,
            limits: target.limits().map(written).collect(),
            digits: target.digits,
        }),
    })
}

//! Cases as text: a block for each.

use tidegate_attack::cases::{Computed, Figure, How, Sense, Told, Unit, Verdict};

use crate::output::Output;
use crate::table::Table;

/// Writes a case.
pub(super) fn case(case: &Computed, out: &mut Output) {
    let label = if case.confirmed { "" } else { " (unconfirmed)" };
    out.line(&format!("{}{label}: {}", case.id, verdict(case.verdict)));
    out.line(&format!("  {}", case.what));
    out.line(&format!("  published: {}", case.published));
    out.line(&format!("  source: {}", case.source));
    if let Some(unconfirmed) = case.unconfirmed {
        out.line(&format!("  unconfirmed: {unconfirmed}"));
    }
    let mut table = Table::new(["  figure", "here", "", "published", ""]);
    for figure in &case.figures {
        table.push([
            format!("  {}", figure.name),
            with_unit(figure.unit, &ours(figure)),
            if figure.how == How::Simulated { "simulated" } else { "computed" }.to_owned(),
            figure.published.map_or_else(String::new, |published| told(figure.unit, &published)),
            against(figure),
        ]);
    }
    table.lines().for_each(|line| out.line(&line));
    out.line(&format!("  {}", case.says));
    out.line("");
}

/// Writes what all cases come to.
pub(super) fn sum(cases: &[Computed], out: &mut Output) {
    let count = |is: fn(&Computed) -> bool| cases.iter().filter(|case| is(case)).count();
    let parts = [
        (count(|case| case.verdict == Verdict::Agrees), "as published"),
        (count(|case| matches!(case.verdict, Verdict::OffBy(_))), "with something published that is wrong"),
        (count(|case| case.verdict == Verdict::Uncompared), "with no published figure to compare"),
        (count(|case| !case.confirmed), "unconfirmed"),
    ];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts.map(|(count, of)| format!("{count} {of}")).collect();
    let noun = if cases.len() == 1 { "case" } else { "cases" };
    out.line(&format!("{} {noun}: {}", cases.len(), parts.join(", ")));
    match count(|case| !case.comes_out()) {
        0 => out.line("every figure comes out as it is known to"),
        wrong => out.line(&format!("{wrong} DO NOT COME OUT: a fault of Tidegate; please report it")),
    }
}

fn verdict(verdict: Verdict) -> String {
    match verdict {
        Verdict::Agrees => "agrees".to_owned(),
        Verdict::OffBy(times) => format!("something published is off by {}", by(times)),
        Verdict::Uncompared => "no published figure to compare".to_owned(),
        Verdict::DoesNotComeOut => "DOES NOT COME OUT".to_owned(),
    }
}

/// Says what becomes of what was published.
fn against(figure: &Figure) -> String {
    if !figure.comes_out() {
        let known = figure
            .known
            .map_or_else(String::new, |known| format!("; known is {}", told(figure.unit, &known)));
        return format!("DOES NOT COME OUT{known}");
    }
    match figure.agrees() {
        None => String::new(),
        Some(true) => "agrees".to_owned(),
        Some(false) => {
            figure.off_by().map_or_else(|| "off".to_owned(), |times| format!("off by {}", by(times)))
        }
    }
}

fn by(times: f64) -> String {
    format!("{} times", number(times, if times < 10.0 { 2 } else { 0 }))
}

/// Writes a figure of ours with the digits of what it is held against.
fn ours(figure: &Figure) -> String {
    let told = [figure.published, figure.known].into_iter().flatten();
    let digits = told.map(|told| told.digits.min(9).into()).chain([decimals(figure)]).max().unwrap_or(2);
    number(figure.ours, digits)
}

/// Returns the digits after the point that a figure is worth showing with: as many as the numbers it is held against are
/// written with, and three that count.
fn decimals(figure: &Figure) -> usize {
    let written = [figure.published, figure.known].into_iter().flatten().map(|told| plain(told.value));
    let written = written.filter_map(|text| Some(text.split_once('.')?.1.len())).max().unwrap_or(0);
    let counting = (0..9).find(|digits| figure.ours.abs() * 10_f64.powi(*digits) >= 100.0);
    let counting = if figure.ours.fract() == 0.0 { 0 } else { counting.unwrap_or(9) };
    let is_held = figure.published.or(figure.known).is_some_and(|told| told.agrees(figure.ours));
    let counting = usize::try_from(counting).unwrap_or(2);
    if is_held { written } else { written.max(counting) }
}

fn told(unit: Unit, told: &Told) -> String {
    let value = with_unit(unit, &grouped(&plain(told.value)));
    match told.sense {
        Sense::Digits => value,
        Sense::About(_) => format!("about {value}"),
        Sense::AtLeast => format!("at least {value}"),
        Sense::AtMost => format!("at most {value}"),
    }
}

/// Writes a number as short as it can be read back.
fn plain(value: f64) -> String {
    format!("{value}")
}

/// Writes a number with so many digits after the point, without zeros at their end.
fn number(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    grouped(text)
}

/// Puts a comma between each three digits before the point.
fn grouped(text: &str) -> String {
    let (whole, rest) = text.find('.').map_or((text, ""), |point| text.split_at(point));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + rest
}

fn with_unit(unit: Unit, number: &str) -> String {
    let unit = match unit {
        Unit::Count => return number.to_owned(),
        Unit::Percent => "%",
        Unit::Seconds => "seconds",
        Unit::Minutes => "minutes",
        Unit::Hours => "hours",
        Unit::Days => "days",
        Unit::Months => "months",
        Unit::Years => "years",
        Unit::PerSecond => "a second",
        Unit::PerMinute => "a minute",
        Unit::PerThirtySeconds => "in 30s",
        Unit::Times => "times",
    };
    format!("{number} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_before_the_point_and_end_without_zeros() {
        let written = [(11_525.0, 0), (0.009_999_5, 7), (3.2, 9), (1_848.046, 1), (999.0, 0), (100.0, 0)];
        let written = written.map(|(value, digits)| number(value, digits));
        assert_eq!(written, ["11,525", "0.0099995", "3.2", "1,848", "999", "100"]);
        assert_eq!(grouped("505000000"), "505,000,000");
    }
}

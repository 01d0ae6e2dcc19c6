//! Axes: where a value lies between two ends, which values are marked, and how they are written.

use tidegate_review::{spoken_count, whole};

/// How values are spread over an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps are equal differences.
    Linear,
    /// Equal steps are equal ratios; what is not above the axis's beginning lies at its beginning.
    Log,
}

/// What values are, and so how they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Counts.
    Count,
    /// Times in seconds.
    Seconds,
    /// Chances from 0 to 1, written as percentages.
    Chance,
}

/// An axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What it shows.
    pub label: String,
    /// The value at its beginning.
    pub from: f64,
    /// The value at its end.
    pub to: f64,
    /// How values are spread over it.
    pub scale: Scale,
    /// What values are.
    pub unit: Unit,
}

/// A marked value: where it lies, from 0 to 1, and how it is written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tick {
    pub(super) at: f64,
    pub(super) label: String,
}

/// Times that people know, the better known first, in seconds.
const TIMES: [f64; 24] = [
    86_400.0,
    YEAR,
    1.0,
    3_600.0,
    60.0,
    30.0 * 86_400.0,
    10.0 * YEAR,
    100.0 * YEAR,
    1_000.0 * YEAR,
    10_000.0 * YEAR,
    0.001,
    10.0,
    600.0,
    7.0 * 86_400.0,
    0.1,
    0.01,
    100_000.0 * YEAR,
    1_000_000.0 * YEAR,
    21_600.0,
    1e-4,
    1e-5,
    1e-6,
    1e-7,
    1e-8,
];
const YEAR: f64 = 365.0 * 86_400.0;

impl Axis {
    /// Makes a linear axis from zero to a round number at or above a value.
    pub fn linear(label: &str, to: f64, unit: Unit) -> Self {
        let to = if to.is_finite() && to > 0.0 { to } else { 1.0 };
        let step = step(to, unit);
        Self { label: label.to_owned(), from: 0.0, to: (to / step).ceil() * step, scale: Scale::Linear, unit }
    }

    /// Makes a logarithmic axis that reaches from one positive value to another; at least by a factor of ten.
    pub fn log(label: &str, from: f64, to: f64, unit: Unit) -> Self {
        let from = if from.is_finite() && from > 0.0 { from } else { 1.0 };
        let to = if to.is_finite() { to.max(from * 10.0) } else { from * 1e6 };
        Self { label: label.to_owned(), from, to, scale: Scale::Log, unit }
    }

    /// Returns where a value lies: from 0 at the beginning to 1 at the end; what is outside lies at an end.
    pub(super) fn place(&self, value: f64) -> f64 {
        let part = match self.scale {
            Scale::Linear => (value - self.from) / (self.to - self.from),
            Scale::Log if value <= self.from => 0.0,
            Scale::Log => (value / self.from).ln() / (self.to / self.from).ln(),
        };
        if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Returns the marked values in order, no two nearer to each other than `gap`.
    pub(super) fn ticks(&self, gap: f64) -> Vec<Tick> {
        let mut ticks: Vec<Tick> = Vec::new();
        for value in self.candidates() {
            let at = self.place(value);
            let inside = value >= self.from * 0.999 && value <= self.to * 1.001;
            if inside && ticks.iter().all(|tick| (tick.at - at).abs() >= gap) {
                ticks.push(Tick { at, label: self.written(value) });
            }
        }
        ticks.sort_by(|a, b| a.at.total_cmp(&b.at));
        ticks
    }

    /// Returns the values that may be marked, the ones that matter most first.
    fn candidates(&self) -> Vec<f64> {
        match (self.scale, self.unit) {
            (Scale::Linear, unit) => {
                let step = step(self.to, unit);
                (0..=10_u8).map(|index| f64::from(index) * step).collect()
            }
            (Scale::Log, Unit::Seconds) => TIMES.into(),
            (Scale::Log, _) => {
                // Every third power first, lest the marks that are kept be unevenly spread.
                let power = |exponent: i32| 10_f64.powi(exponent);
                (-4..8).map(|third| power(third * 3)).chain((-12..24).map(power)).collect()
            }
        }
    }

    fn written(&self, value: f64) -> String {
        match self.unit {
            Unit::Count => count(value),
            Unit::Seconds => short_time(value),
            Unit::Chance => {
                let percent = value * 100.0;
                let digits = usize::from(percent < 9.5 && percent.fract() > 0.001);
                format!("{percent:.digits$} %")
            }
        }
    }
}

/// Returns the step of an axis from zero to a value: 1, 2 or 5 of a power of ten, so that there are four to ten of them;
/// counts have whole steps.
fn step(to: f64, unit: Unit) -> f64 {
    let power = 10_f64.powf((to / 4.0).log10().floor());
    let steps = [5.0, 2.0, 1.0].map(|times| times * power);
    let step = steps.into_iter().find(|step| to / step >= 3.9).unwrap_or(power);
    if unit == Unit::Count { step.max(1.0) } else { step }
}

/// Writes a count in few letters: `14,405`, `100 k`, `5 M`.
fn count(value: f64) -> String {
    match value {
        ..1.0 if value > 0.0 => format!("{value:.3}").trim_end_matches('0').to_owned(),
        ..99_999.5 => spoken_count(whole(value)),
        ..999_999.5 => format!("{} k", whole(value / 1e3)),
        ..1e15 => format!("{} M", spoken_count(whole(value / 1e6))),
        _ => format!("{value:.0e}"),
    }
}

/// Writes a time in few letters, in the largest unit that leaves it whole: `30 s`, `90 min`, `1 day`, `10 years`.
pub fn short_time(seconds: f64) -> String {
    const UNITS: [(f64, &str, &str); 5] = [
        (YEAR, "year", "years"),
        (86_400.0, "day", "days"),
        (3_600.0, "h", "h"),
        (60.0, "min", "min"),
        (1.0, "s", "s"),
    ];
    let fits = |unit: f64| seconds >= unit && (seconds / unit).fract().abs() < 1e-9;
    let Some((unit, one, many)) = UNITS.into_iter().find(|(unit, ..)| fits(*unit)) else {
        return match seconds {
            ..=0.0 | 1.0.. => format!("{seconds} s"),
            ..9.995e-7 => format!("{} ns", whole(seconds * 1e9)),
            ..9.995e-4 => format!("{} µs", whole(seconds * 1e6)),
            _ => format!("{} ms", spoken_count(whole(seconds * 1e3))),
        };
    };
    let amount = seconds / unit;
    let name = if amount < 1.5 { one } else { many };
    format!("{} {name}", spoken_count(whole(amount)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis, gap: f64) -> Vec<String> {
        axis.ticks(gap).into_iter().map(|tick| tick.label).collect()
    }

    /// Guards against marks that nobody counts in, and against an axis that ends below its highest value.
    #[test]
    fn marks_are_round_numbers_that_people_know() {
        assert_eq!(labels(&Axis::linear("", 10.0, Unit::Count), 0.1), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(labels(&Axis::linear("", 3.0, Unit::Count), 0.1), ["0", "1", "2", "3"]);
        let chance = Axis::linear("", 1.0, Unit::Chance);
        assert_eq!(labels(&chance, 0.1), ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]);
        let small = Axis::linear("", 0.042, Unit::Chance);
        assert_eq!(labels(&small, 0.1), ["0 %", "1 %", "2 %", "3 %", "4 %", "5 %"]);
        let time = Axis::log("", 1.0, 10.0 * YEAR, Unit::Seconds);
        assert_eq!(labels(&time, 0.12), ["1 s", "1 min", "1 h", "1 day", "30 days", "1 year"]);
        let many = Axis::log("", 1.0, 2e6, Unit::Count);
        assert_eq!(labels(&many, 0.1), ["1", "10", "100", "1,000", "10,000", "100 k", "1 M"]);
    }

    /// Guards a logarithm of nothing: what is at or below the beginning lies there.
    #[test]
    fn every_value_lies_on_the_axis() {
        let axis = Axis::log("", 1.0, 100.0, Unit::Seconds);
        assert!([0.0, -1.0, f64::NAN].iter().all(|value| axis.place(*value) == 0.0));
        assert!((axis.place(10.0) - 0.5).abs() < 1e-12);
        assert_eq!([1e9, f64::INFINITY].map(|value| axis.place(value))[0].to_bits(), 1_f64.to_bits());
        let nothing = Axis::linear("", 0.0, Unit::Count);
        assert!(nothing.place(0.0) == 0.0 && !nothing.ticks(0.1).is_empty());
        let narrow = Axis::log("", 5.0, 5.0, Unit::Count);
        assert!(narrow.place(5.0) < narrow.place(6.0));
    }

    #[test]
    fn short_times_are_whole_in_their_unit() {
        assert_eq!([1e-7, 1e-5, 2.5e-4, 1e-3].map(short_time), ["100 ns", "10 µs", "250 µs", "1 ms"]);
        let said = [0.25, 30.0, 90.0, 600.0, 5_400.0, 86_400.0, 172_800.0, 1.5, YEAR, 10.0 * YEAR];
        let said = said.map(short_time);
        let wanted =
            ["250 ms", "30 s", "90 s", "10 min", "90 min", "1 day", "2 days", "1.5 s", "1 year", "10 years"];
        assert_eq!(said, wanted);
    }
}

//! Figures as people say them.

use tidegate_review::{spoken_count, whole};

/// Writes a time in microseconds in the unit that suits it, with three digits: `140 ns`, `1.80 ms`.
pub fn time(micros: f64) -> String {
    let (value, unit) = match micros {
        ..1.0 => (micros * 1e3, "ns"),
        ..1e3 => (micros, "µs"),
        ..1e6 => (micros / 1e3, "ms"),
        _ => (micros / 1e6, "s"),
    };
    let digits = match value {
        _ if unit == "ns" => 0,
        ..10.0 => 2,
        ..100.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}

/// Writes a rate or count with three digits of it: `41,200`.
pub fn about(number: f64) -> String {
    if number < 99.95 {
        return format!("{number:.1}").trim_end_matches(".0").to_owned();
    }
    let step = 10_f64.powf((number.log10().floor() - 2.0).max(0.0));
    spoken_count(whole((number / step).round() * step))
}

/// Writes a share of requests as a percentage; what is not nothing is not written as nothing.
pub(super) fn share(part: f64) -> String {
    let percent = part * 100.0;
    match percent {
        ..=0.0 => "0 %".to_owned(),
        ..0.01 => "under 0.01 %".to_owned(),
        ..1.0 => format!("{percent:.2} %"),
        99.95..100.0 => "over 99.9 %".to_owned(),
        _ => format!("{percent:.1} %").replace(".0 %", " %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_three_digits_and_never_round_to_nothing() {
        let times = [0.14, 2.5, 212.4, 1_800.0, 12_345.0, 250_000.0, 3_000_000.0].map(time);
        assert_eq!(times, ["140 ns", "2.50 µs", "212 µs", "1.80 ms", "12.3 ms", "250 ms", "3.00 s"]);
        assert_eq!(
            [0.0, 7.25, 50.0, 999.6, 41_234.0, 1_999_999.0].map(about),
            ["0", "7.2", "50", "1,000", "41,200", "2,000,000"]
        );
        assert_eq!(
            [0.0, 0.00001, 0.004, 0.5, 0.9999, 1.0].map(share),
            ["0 %", "under 0.01 %", "0.40 %", "50 %", "over 99.9 %", "100 %"]
        );
    }
}

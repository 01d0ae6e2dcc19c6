//! Numbers, spans and rates as files write them, and what is said to those who write them otherwise.

use tidegate_algorithms::Span;

use super::{integer, rate, span};

/// Guards against a unit that is read as another, and against one that is guessed.
#[test]
fn spans_have_a_whole_number_and_a_known_unit() {
    for (text, micros) in [
        ("500ms", 500_000),
        ("30s", 30_000_000),
        ("10m", 600_000_000),
        ("24h", 86_400_000_000),
        ("7d", 604_800_000_000),
    ] {
        assert_eq!(span(text), Ok(Span::from_micros(micros)), "{text}");
    }
    for (text, hint) in [
        ("30", "did you mean 30s?"),
        ("5 min", "did you mean 5m?"),
        ("2hours", "did you mean 2h?"),
        ("1M", "did you mean 1m?"),
        ("010s", "write 10s"),
        ("", "500ms"),
        ("s", "500ms"),
        ("-5s", "500ms"),
        ("1.5h", "did you mean 90m?"),
        ("1h30m", "did you mean 90m?"),
        ("0.5s", "did you mean 500ms?"),
        ("2 weeks", "did you mean 14d?"),
        ("PT1M", "did you mean 1m?"),
        ("0.0001s", "500ms"),
        ("1.2.3s", "500ms"),
        ("1h 99999999999999999999999999999999999999999d", "500ms"),
        ("５s", "500ms"),
    ] {
        let refused = span(text).expect_err(text);
        assert!(refused.contains(hint), "{text}: {refused}");
    }
    for text in ["18446744073709551615d", "99999999999999999999s"] {
        assert_eq!(span(text), Ok(Span::from_micros(u64::MAX)), "{text} is out of every range");
    }
}

/// Guards against rates that other limiters were seen to misread (`10/0 minute` as ten a minute).
#[test]
fn rates_are_written_in_one_way() {
    assert_eq!(rate("1 per 10s"), Ok((1, Span::from_secs(10))));
    for text in [
        "10/0 minute",
        "10/minute:,5/hour",
        "-1 per 1s",
        "1.5 per 1m",
        "1 per millenium",
        "meow",
        "1 per yearl",
        "1 per",
        "per 1s",
        "",
        "10 per 1s per 2s",
    ] {
        assert!(rate(text).is_err(), "{text}");
    }
    assert_eq!(rate("5/s"), Err("did you mean 5 per 1s?".to_owned()));
    for (text, meant) in [
        ("10 per minute", "10 per 1m"),
        ("10r/s", "10 per 1s"),
        ("10 a minute", "10 per 1m"),
        ("1 every 10s", "1 per 10s"),
        ("10s per 1", "1 per 10s"),
        ("0.1 per 1s", "1 per 10s"),
        ("1.5 per 1s", "3 per 2s"),
        ("10", "10 per 1s"),
    ] {
        assert_eq!(rate(text), Err(format!("did you mean {meant}?")), "{text}");
    }
}

/// Guards against numbers that YAML readers read differently.
#[test]
fn integers_are_plain_digits() {
    assert_eq!(integer("0"), Ok(0));
    assert_eq!(integer("18446744073709551615"), Ok(u64::MAX));
    for text in ["", "-1", "+1", "1.0", "1e3", "0x10", "0o7", "007", "00", "1_000", "１"] {
        assert!(integer(text).is_err(), "{text}");
    }
    for (text, meant) in [
        ("1_000", "write 1000"),
        ("10,000", "write 10000"),
        ("10k", "write 10000"),
        ("1e3", "write 1000"),
        ("0x10", "write 16"),
        ("1.0", "write 1"),
        ("10 requests", "write 10"),
    ] {
        assert_eq!(integer(text), Err(Some(meant.to_owned())), "{text}");
    }
    for text in ["1.5", "1e999", "10x"] {
        assert_eq!(integer(text), Err(None), "{text}");
    }
    assert_eq!(integer("18446744073709551616"), Ok(u64::MAX), "out of every range");
}

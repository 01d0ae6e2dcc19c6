//! The description's character classes against what is taken: a client that follows the one must not fail the other.

use super::{PathAndQuery, Whole, cost, delay, host, is_plain, method, target};

/// The printable characters besides those in `but`.
fn visible(but: &str) -> impl Fn(char) -> bool {
    move |char: char| char.is_ascii_graphic() && !but.contains(char)
}

#[test]
fn what_is_taken_is_what_the_description_says() {
    let path = visible("#<>?`");
    let query = visible("\"#<>");
    for char in '\0'..='\u{ff}' {
        let text = char.to_string();
        assert_eq!(target(Some(format!("/{text}").into()), None).is_ok(), path(char), "path {char:?}");
        assert_eq!(target(None, Some(text.clone().into())).is_ok(), query(char), "query {char:?}");
        assert_eq!(host(text.clone().into()).is_ok(), char.is_ascii_graphic(), "host {char:?}");
        let is_token = char.is_ascii_alphanumeric() || "!#$%&'*+.^_`|~-".contains(char);
        assert_eq!(method(Some(text.into())).is_ok(), is_token, "method {char:?}");
    }
}

#[test]
fn bounds_are_part_of_what_is_taken() {
    assert_eq!(cost(Whole(1 << 30)).unwrap(), 1 << 30);
    assert!(cost(Whole((1 << 30) + 1)).is_err());
    assert_eq!(delay(Whole(34_560_000_000)).unwrap().as_micros(), 34_560_000_000_000);
    assert!(delay(Whole(34_560_000_001)).is_err());
    assert!(method(Some("A".repeat(64).into())).is_ok());
    assert!(host("a".repeat(262).into()).is_ok());
    assert!(host("a".repeat(263).into()).is_err());
    assert!(target(Some(format!("/{}", "a".repeat(8_191)).into()), None).is_ok());
    assert!(target(Some(format!("/{}", "a".repeat(8_192)).into()), None).is_err());
}

#[test]
fn a_whole_number_may_be_written_as_a_float() {
    let read = |text: &str| serde_json::from_str::<Whole>(text).ok().map(|whole| whole.0);
    for (text, whole) in [("0", 0), ("-0.0", 0), ("1.0", 1), ("1e3", 1_000), ("9007199254740992.0", 1 << 53)]
    {
        assert_eq!(read(text), Some(whole), "{text}");
    }
    for text in ["-1", "-1.0", "0.5", "9007199254740994.0", "1e300", "\"1\"", "true"] {
        assert_eq!(read(text), None, "{text}");
    }
}

/// Guards against a path that the quick look takes and the reader of targets does not, or reads as another.
#[test]
fn the_plainest_paths_are_paths_to_whoever_reads_targets() {
    let letters = ['/', '.', '-', '_', '~', 'a', '0', '?', '#', '*', '%', ' '];
    let mut plain = 0;
    for number in 0..letters.len().pow(4) {
        let path: String = (0_u32..4)
            .map(|place| letters[number / letters.len().pow(place) % letters.len()])
            .take(1 + number % 4)
            .collect();
        if is_plain(&path) {
            plain += 1;
            assert_eq!(PathAndQuery::try_from(&*path).unwrap().path(), path);
        }
    }
    assert!(plain > 100, "{plain}");
}

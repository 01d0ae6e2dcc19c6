//! One limit, or one time, written as in a policy file and not in one: an argument of a command.

use tidegate_algorithms::{Quota, Span};

use crate::file::{self, Fields, Report};
use crate::problem::{Place, Problems};
use crate::validate;

/// Reads the algorithm of one limit as a policy file writes it, such as `token_bucket: { capacity: 4, refill: 1 per 10s }`,
/// and returns its quota with its numbers as written; `name` only stands in problems.
///
/// # Errors
/// With everything that is wrong, each with its place in the text.
pub fn parse_quota(name: &str, text: &str) -> Result<(Quota, String), Problems> {
    let mut report = Report::default();
    let number = report.open_file(name);
    if text.trim().is_empty() {
        let remedy = "write one as a policy file does: token_bucket: { capacity: 4, refill: 1 per 10s }";
        report.add(Place { file: number, ..Place::START }, "there is no limit", remedy);
        return Err(report.into_problems());
    }
    let root = file::load(text, number, &mut report);
    let read = root.as_ref().and_then(|root| {
        let mut fields = Fields::open(root, "the limit", &mut report)?;
        let read = validate::algorithm(&mut fields, "the limit", &mut report);
        fields.finish(&[], &mut report);
        read
    });
    match read {
        Some(read) if report.is_empty() => Ok(read),
        _ => Err(report.into_problems()),
    }
}

/// Reads a time as a policy file writes it: `500ms`, `30s`, `10m`, `24h`, `7d`. One longer than any is [`Span::MAX`].
///
/// # Errors
/// With the remedy, for anything else.
pub fn parse_span(text: &str) -> Result<Span, String> {
    file::span(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> String {
        parse_quota("LIMIT", text).unwrap_err().to_string()
    }

    #[test]
    fn a_limit_is_read_with_and_without_braces_around_it() {
        let read = parse_quota("LIMIT", "token_bucket: {capacity: 4, refill: 1 per 10s}").unwrap();
        assert_eq!(read.0.algorithm(), "token_bucket");
        assert_eq!(read.1, "capacity 4, refill 1 per 10s");
        assert_eq!(
            parse_quota("LIMIT", "{ token_bucket: { capacity: 4, refill: 1 per 10s } }").unwrap(),
            read
        );
        assert_eq!(
            parse_quota("LIMIT", "token_bucket:\n  capacity: 4\n  refill: 1 per 10s\n").unwrap(),
            read
        );
    }

    /// Guards against a second reader that says less than that of the policy file.
    #[test]
    fn what_is_wrong_is_told_with_its_place_and_the_remedy() {
        assert_eq!(
            wrong("token_bucket: {capacity: 0, refill: 1 per 10}"),
            "LIMIT:1:26: token_bucket: capacity 0 is out of range; the nearest possible is 1\n\
             LIMIT:1:37: refill \"1 per 10\" is not a rate; write a whole number, `per` and a time: 1 per 10s"
        );
        assert!(wrong("").starts_with("LIMIT:1:1: there is no limit; write one as a policy file does"));
        assert!(wrong("five a minute").starts_with("LIMIT:1:1: the limit has to be a mapping"));
        assert!(
            wrong("tokn_bucket: {capacity: 4, refill: 1 per 10s}").contains("did you mean \"token_bucket\"?")
        );
        assert!(
            wrong("{sliding_log: {limit: 5, window: 30s}, lockout: {attempts: 5, within: 1m, lock: 1m}}")
                .contains("a second algorithm, lockout")
        );
    }

    #[test]
    fn a_time_is_read_as_in_a_file() {
        assert_eq!(parse_span("10m"), Ok(Span::from_secs(600)));
        assert_eq!(parse_span("30").unwrap_err(), "it has no unit; did you mean 30s?");
    }
}

//! What other programs tell, read.

use anyhow::{Context as _, Result, bail, ensure};

/// What came of it.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Answered {
    pub(in super::super) requests: u64,
    /// Answers of a status from 400 on.
    pub(in super::super) refusals: u64,
    /// Requests a second.
    pub(in super::super) rate: f64,
    /// In microseconds.
    pub(in super::super) p99: f64,
}

/// An answer.
#[derive(Debug)]
pub(in super::super) struct Answer {
    pub(in super::super) status: u16,
    pub(in super::super) body: String,
}

/// What the line begins with that the script prints at the end.
pub(in super::super) const MARK: &str = "tidegate-bench";

/// Reads the line that wrk's script prints at the end.
///
/// # Errors
/// When there is none, or a connection failed.
pub(in super::super) fn wrk_line(said: &str) -> Result<Answered> {
    let line = said.lines().find_map(|line| line.strip_prefix(MARK)).context("its script did not end")?;
    let numbers: Vec<u64> =
        line.split_whitespace().map(str::parse).collect::<Result<_, _>>().context("numbers")?;
    let [requests, micros, refusals, broken, p99] = numbers[..] else {
        bail!("{} numbers instead of five", numbers.len())
    };
    ensure!(broken == 0, "{broken} requests got no answer");
    ensure!(requests > 0 && micros > 0, "nothing was answered");
    #[allow(clippy::cast_precision_loss, reason = "counts of seconds")]
    Ok(Answered { requests, refusals, rate: requests as f64 * 1e6 / micros as f64, p99: p99 as f64 })
}

/// Reads an answer of HTTP/1.1.
pub(in super::super) fn answer(answer: &str) -> Option<Answer> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.1 ")?.split(' ').next()?.parse().ok()?;
    Some(Answer { status, body: body.to_owned() })
}

/// Returns the value of a metric in the text that Prometheus reads; 0 where there is none yet.
pub(in super::super) fn metric(text: &str, name: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.and_then(|value| value.split(' ').next()?.parse().ok()).unwrap_or(0.0)
}

/// Reads the 14th and 15th field; the second, a name in parentheses, may hold anything.
pub(in super::super) fn ticks(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let [user, system] = [fields.next()?, fields.next()?].map(str::parse::<u64>);
    Some(user.ok()? + system.ok()?)
}

/// Returns the version of a crate in a lock file.
pub(in super::super) fn version_in(locked: &str, name: &str) -> Option<String> {
    let (_, rest) = locked.split_once(&format!("name = \"{name}\"\nversion = \""))?;
    rest.split('"').next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_script_prints_is_read_and_a_broken_connection_is_no_figure() {
        let answered = wrk_line("Running 3s test\ntidegate-bench 6000 3000000 10 0 950\n").unwrap();
        assert_eq!((answered.requests, answered.refusals), (6_000, 10));
        assert!((answered.rate - 2_000.0).abs() < 1e-9 && (answered.p99 - 950.0).abs() < 1e-9);
        assert!(wrk_line("tidegate-bench 6000 3000000 0 1 950\n").is_err());
        assert!(wrk_line("tidegate-bench 0 3000000 0 0 0\n").is_err());
        assert!(wrk_line("unable to connect").is_err());
    }

    #[test]
    fn an_answer_has_a_status_and_a_body() {
        let read = answer("HTTP/1.1 429 Too Many Requests\r\na: b\r\n\r\n{}").unwrap();
        assert_eq!((read.status, read.body.as_str()), (429, "{}"));
        assert!(answer("SSH-2.0").is_none());
    }

    #[test]
    fn a_metric_is_found_by_its_whole_name() {
        let text = "# TYPE a counter\na_total{b=\"c\"} 12\na_total{b=\"cd\"} 3\na_total 15 1700000000\n";
        let seen = ["a_total{b=\"c\"}", "a_total", "a"].map(|name| metric(text, name));
        assert!((seen[0] - 12.0).abs() < 1e-9 && (seen[1] - 15.0).abs() < 1e-9 && seen[2] == 0.0);
    }

    #[test]
    fn the_times_are_found_behind_a_name_with_spaces_and_parentheses() {
        let stat = "42 (a (b) c) S 1 42 42 0 -1 4194560 10 0 0 0 123 45 6 7 20 0 3 0 100";
        assert_eq!(ticks(stat), Some(168));
        assert_eq!(ticks("42 (a"), None);
    }

    #[test]
    fn a_version_is_that_of_the_whole_name() {
        let locked = "[[package]]\nname = \"throttlecrab\"\nversion = \"0.4.40\"\n\n[[package]]\nname = \"crab\"\nversion = \"1.0.0\"\n";
        assert_eq!(version_in(locked, "crab").as_deref(), Some("1.0.0"));
        assert_eq!(version_in(locked, "throttle"), None);
    }
}

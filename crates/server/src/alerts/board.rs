//! What is wrong at this moment, and what was until a moment ago: the alerts that every webhook is told.
//!
//! An alert is known by its labels alone, so these stay as they are while it goes on; whatever varies is in its
//! annotations. Whoever receives alerts takes the end of one from being told it, or from not hearing of it any more, so one
//! that is over is told for some minutes yet.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::Serialize;

use super::instant::rfc3339;

/// How long an alert is told of after its end: as long as a receiver that heard nothing of it would take it for firing.
const TOLD_AFTER_END: Duration = Duration::from_mins(5);
/// The most alerts at one time. They are of limits, which are an operator's; more than this nobody reads.
const MOST: usize = 1_024;

pub(super) type Words = BTreeMap<String, String>;

/// One thing that is or was wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Alert {
    /// What it is known by.
    pub(super) labels: Words,
    /// What is said of it.
    pub(super) annotations: Words,
    pub(super) starts_at: SystemTime,
    /// When it is over, in the past or in the future; nothing while nobody knows.
    pub(super) ends_at: Option<SystemTime>,
}

/// All alerts. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct Board {
    alerts: Vec<Arc<Alert>>,
}

/// An alert as Alertmanager's API takes it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Told<'a> {
    labels: &'a Words,
    annotations: &'a Words,
    starts_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ends_at: Option<String>,
}

impl Alert {
    fn has_ended(&self, now: SystemTime) -> bool {
        self.ends_at.is_some_and(|end| end <= now)
    }

    fn is_news(&self, now: SystemTime) -> bool {
        self.ends_at
            .is_none_or(|end| now.duration_since(end).is_ok_and(|since| since < TOLD_AFTER_END) || end > now)
    }
}

impl Board {
    /// Puts an alert up, in the place of one with the same labels, whose beginning it keeps while that goes on. One more
    /// than there is room for is left out; the log has it.
    pub(super) fn raise(&mut self, mut alert: Alert, now: SystemTime) {
        self.alerts.retain(|one| one.is_news(now));
        let has_room = self.alerts.len() < MOST;
        match self.alerts.iter_mut().find(|one| one.labels == alert.labels) {
            Some(one) => {
                if !one.has_ended(now) {
                    alert.starts_at = one.starts_at;
                    alert.ends_at = alert.ends_at.map(|end| one.ends_at.map_or(end, |other| end.max(other)));
                }
                *one = Arc::new(alert);
            }
            None if has_room => self.alerts.push(Arc::new(alert)),
            None => {}
        }
    }

    /// Ends the alert with these labels, if it goes on, with what is to be said of that.
    pub(super) fn resolve(&mut self, labels: &Words, annotations: Words, now: SystemTime) {
        let mut going_on = self.alerts.iter_mut().filter(|one| !one.has_ended(now));
        if let Some(one) = going_on.find(|one| one.labels == *labels) {
            let alert = Alert { annotations, ends_at: Some(now), ..Alert::clone(one) };
            *one = Arc::new(alert);
        }
    }

    /// Writes the alerts down as Alertmanager's API takes them; nothing when there are none to be told.
    pub(super) fn body(&self, now: SystemTime) -> Option<Vec<u8>> {
        let news = self.alerts.iter().filter(|alert| alert.is_news(now));
        let told: Vec<_> = news
            .map(|alert| Told {
                labels: &alert.labels,
                annotations: &alert.annotations,
                starts_at: rfc3339(alert.starts_at),
                // An end to come would look like one that was.
                ends_at: alert.ends_at.filter(|_| alert.has_ended(now)).map(rfc3339),
            })
            .collect();
        if told.is_empty() { None } else { serde_json::to_vec(&told).ok() }
    }

    /// Returns how long it takes until the next alert ends by itself.
    pub(super) fn next_end(&self, now: SystemTime) -> Option<Duration> {
        let ends = self.alerts.iter().filter_map(|alert| alert.ends_at);
        ends.filter_map(|end| end.duration_since(now).ok()).filter(|until| !until.is_zero()).min()
    }

    /// Returns how many alerts go on.
    pub(super) fn firing(&self, now: SystemTime) -> usize {
        self.alerts.iter().filter(|alert| !alert.has_ended(now)).count()
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use serde_json::{Value, json};

    use super::*;

    fn at(secs: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(secs)
    }

    fn words(pairs: &[(&str, &str)]) -> Words {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn alert(name: &str, starts: u64, ends: Option<u64>) -> Alert {
        Alert {
            labels: words(&[("alertname", name)]),
            annotations: words(&[("summary", "s")]),
            starts_at: at(starts),
            ends_at: ends.map(at),
        }
    }

    fn told(board: &Board, now: u64) -> Value {
        board.body(at(now)).map_or(Value::Null, |body| serde_json::from_slice(&body).unwrap())
    }

    /// Guards the form, which Alertmanager refuses whole when a name is wrong, and the end of an alert, which has to be told
    /// for as long as it would be taken for firing, and then no more.
    #[test]
    fn an_alert_is_told_while_it_goes_on_and_five_minutes_after() {
        let mut board = Board::default();
        assert_eq!(told(&board, 0), Value::Null);
        board.raise(alert("a", 10, None), at(10));
        let firing = json!([{ "labels": { "alertname": "a" }, "annotations": { "summary": "s" },
            "startsAt": "1970-01-01T00:00:10.000Z" }]);
        assert_eq!(told(&board, 10), firing);
        assert_eq!(told(&board, 100_000), firing);
        let labels = words(&[("alertname", "a")]);
        board.resolve(&labels, words(&[("summary", "over")]), at(100_060));
        assert_eq!(told(&board, 100_359)[0]["endsAt"], "1970-01-02T03:47:40.000Z");
        assert_eq!(told(&board, 100_359)[0]["annotations"]["summary"], "over");
        assert_eq!(told(&board, 100_360), Value::Null);
        // What is over does not end once more.
        board.resolve(&labels, Words::new(), at(100_300));
        assert_eq!(told(&board, 100_360), Value::Null);
    }

    /// Guards against an end that is told before it came, and against one that nobody is told since nothing happens then.
    #[test]
    fn an_alert_that_ends_by_itself_is_firing_until_then() {
        let mut board = Board::default();
        board.raise(alert("a", 10, Some(70)), at(10));
        assert_eq!((board.next_end(at(10)), board.firing(at(10))), (Some(Duration::from_mins(1)), 1));
        assert_eq!(told(&board, 69)[0].get("endsAt"), None);
        assert_eq!(told(&board, 70)[0]["endsAt"], "1970-01-01T00:01:10.000Z");
        assert_eq!((board.next_end(at(70)), board.firing(at(70))), (None, 0));
    }

    /// Guards against one alert under two beginnings, and against one that was over being told as if it had gone on.
    #[test]
    fn an_alert_raised_again_goes_on_and_one_that_was_over_begins_anew() {
        let mut board = Board::default();
        board.raise(alert("a", 10, Some(70)), at(10));
        board.raise(alert("a", 20, Some(50)), at(20));
        assert_eq!(told(&board, 70)[0]["startsAt"], "1970-01-01T00:00:10.000Z");
        assert_eq!(told(&board, 69)[0].get("endsAt"), None);
        board.raise(alert("a", 80, None), at(80));
        assert_eq!(told(&board, 80)[0]["startsAt"], "1970-01-01T00:01:20.000Z");
        assert_eq!(told(&board, 80).as_array().map(Vec::len), Some(1));
    }

    /// Guards memory against alerts without end.
    #[test]
    fn there_are_no_more_alerts_than_somebody_reads() {
        let mut board = Board::default();
        for index in 0..MOST + 10 {
            board.raise(alert(&index.to_string(), 10, None), at(10));
        }
        assert_eq!(board.firing(at(10)), MOST);
        board.resolve(&words(&[("alertname", "7")]), Words::new(), at(20));
        board.raise(alert("another", 1_000, None), at(1_000));
        assert!(told(&board, 1_000).to_string().contains("another"));
    }
}

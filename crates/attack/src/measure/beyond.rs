//! How an attack goes on beyond what was played.

use tidegate_algorithms::Span;
use tidegate_review::float;

use super::Measured;
use super::measured::a_day;

impl Measured {
    /// Returns the guesses a day by which an attack that was to go on for `length` goes on beyond what was seen; none, if it
    /// was over before.
    ///
    /// That is the sustained rate, but no more than the limits let through in the long run: a half may hold one window more
    /// than are in it. An attack that was too short for it ([`Measured::is_short`]) may have spent a whole window before its
    /// half began; there it is what was sustained, or what the limits let through in the long run of as much as was asked,
    /// whichever is more. What passed while the store was lost does not go on.
    pub fn guesses_per_day(&self, length: Span) -> f64 {
        let each = float(self.guesses) / float(self.admitted.max(1));
        self.goes_on_at((self.sustained_guesses, self.sustained_without_store.1), each, length)
    }

    /// Returns the requests that pass a day, by the same reckoning: what goes on where nothing is guessed.
    pub fn requests_per_day(&self, length: Span) -> f64 {
        self.goes_on_at((self.sustained.0, self.sustained_without_store.0), 1.0, length)
    }

    /// Returns what goes on a day, of which so much was in the second half, so much of it without the store, and `each` in a
    /// request that passed.
    fn goes_on_at(&self, (all, without_store): (u64, u64), each: f64, length: Span) -> f64 {
        if self.is_over || self.admitted == 0 {
            return 0.0;
        }
        // Where the store was lost all the time, what passed without it is all that is known.
        let counted = all.checked_sub(without_store).filter(|counted| *counted > 0).unwrap_or(all);
        let sustained = a_day(counted, self.sustained.1);
        let Some(most) = self.most_per_day else { return sustained };
        let went_on = self.went_on(length).as_micros().max(1);
        // Who finds more keys all the time is held by none of them, but by the pace at which he finds them.
        let growing = most.max(a_day(self.admitted_with_store(), went_on));
        let held = self.settled_per_day.map_or(growing, |settled| settled.min(growing));
        let sustained = sustained.min(held * each);
        if !self.is_short {
            return sustained;
        }
        sustained.max(most.min(a_day(self.requests, went_on)) * each)
    }
}

#[cfg(test)]
mod tests {
    use tidegate_review::DAY;

    use super::*;

    /// Guards against messages that seem to end because they carry no guesses.
    #[test]
    fn what_carries_no_guesses_goes_on_as_requests() {
        let sent = Measured {
            requests: 2_000,
            admitted: 2_000,
            sustained: (1_000, DAY.as_micros() / 2),
            ..Measured::default()
        };
        assert_eq!((sent.guesses_per_day(DAY), sent.requests_per_day(DAY)), (0.0, 2_000.0));
        let short = Measured { is_short: true, sustained: (0, 1), most_per_day: Some(288.0), ..sent };
        assert!((short.requests_per_day(DAY) - 288.0).abs() < 1e-9);
    }

    /// Guards against a rate that no day can have: half a day that holds thirteen windows of an hour.
    #[test]
    fn what_goes_on_is_no_more_than_the_limits_let_through_in_the_long_run() {
        let day = Measured {
            requests: 5_000,
            admitted: 1_250,
            guesses: 2_500,
            sustained: (650, DAY.as_micros() / 2),
            sustained_guesses: 1_300,
            most_per_day: Some(1_200.0),
            settled_per_day: Some(1_200.0),
            ..Measured::default()
        };
        assert_eq!((day.requests_per_day(DAY), day.guesses_per_day(DAY)), (1_200.0, 2_400.0));
        // Of keys that are new all the time, each lets a window through at once.
        let new = Measured { settled_per_day: None, ..day.clone() };
        assert!((new.requests_per_day(DAY) - 1_250.0).abs() < 1e-9);
        let unlimited = Measured { settled_per_day: None, most_per_day: None, ..day.clone() };
        assert!((unlimited.requests_per_day(DAY) - 1_300.0).abs() < 1e-9);
        let over = Measured { is_over: true, is_short: true, ..day };
        assert_eq!((over.requests_per_day(DAY), over.guesses_per_day(DAY)), (0.0, 0.0));
    }

    /// Guards against an outage that is told as if there were one every day.
    #[test]
    fn what_passed_without_the_store_does_not_go_on() {
        let outage = Measured {
            requests: 70_000,
            admitted: 60_020,
            guesses: 60_020,
            without_store: 60_000,
            sustained: (60_010, DAY.as_micros() / 2),
            sustained_guesses: 60_010,
            sustained_without_store: (60_000, 60_000),
            ..Measured::default()
        };
        assert_eq!((outage.requests_per_day(DAY), outage.guesses_per_day(DAY)), (20.0, 20.0));
        let to_the_end = Measured { sustained_without_store: (60_010, 60_010), ..outage };
        assert!((to_the_end.requests_per_day(DAY) - 120_020.0).abs() < 1e-9);
    }
}

//! Counting what came of requests, a class of traffic at a time.

use hdrhistogram::{CreationError, Histogram};

use crate::outcome::{FAULTS, Fault, Odd, Outcome, Said};

/// A second of nanoseconds.
pub(crate) const SECOND: u64 = 1_000_000_000;
/// How many digits of a latency are kept: over all, and of each second, of which there may be many.
const DIGITS: u8 = 3;
const DIGITS_A_SECOND: u8 = 2;
/// So many seconds are told one by one: each has a histogram, and tests may go on for days.
const TOLD: u64 = 3_600;

/// What came of the requests of a class.
#[derive(Debug, Clone)]
pub(crate) struct Tally {
    /// Requests that were to be sent.
    pub(crate) offered: u64,
    /// Those that were let pass.
    pub(crate) admitted: u64,
    /// Those of them that no limit was asked about, as far as answers tell.
    pub(crate) unlimited: u64,
    /// Those that were refused.
    pub(crate) refused: u64,
    /// Those that brought no decision, by why.
    pub(crate) faults: [u64; FAULTS],
    /// The first answer that was no decision.
    pub(crate) odd: Option<Odd>,
    /// Decisions that came before the phase was over.
    pub(crate) in_time: u64,
    /// How long each took from when it was meant to be sent, in nanoseconds.
    pub(crate) latency: Histogram<u64>,
    /// The same from when it was sent, of an open loop.
    pub(crate) service: Histogram<u64>,
    /// The same by the second in which requests were meant to be sent, for the first hour.
    pub(crate) seconds: Vec<Second>,
    end: u64,
}

/// What came of the requests of one second.
#[derive(Debug, Clone)]
pub(crate) struct Second {
    /// Requests that were to be sent in it.
    pub(crate) offered: u64,
    /// Decisions that came in it.
    pub(crate) answered: u64,
    /// How long its requests took.
    pub(crate) latency: Histogram<u64>,
}

/// The instants of a request, in nanoseconds since the beginning.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// When it was meant to be sent.
    pub(crate) intended: u64,
    /// When it was; `None` for one that was given up before.
    pub(crate) sent: Option<u64>,
    /// When what became of it was known.
    pub(crate) done: u64,
}

impl Tally {
    /// Begins a count over so many nanoseconds.
    ///
    /// # Errors
    /// When there can be no histogram, which does not happen.
    pub(crate) fn new(length: u64) -> Result<Self, CreationError> {
        let second = || Ok(Second { offered: 0, answered: 0, latency: Histogram::new(DIGITS_A_SECOND)? });
        let seconds =
            (0..length.div_ceil(SECOND).min(TOLD)).map(|_| second()).collect::<Result<_, CreationError>>()?;
        Ok(Self {
            offered: 0,
            admitted: 0,
            unlimited: 0,
            refused: 0,
            faults: [0; FAULTS],
            odd: None,
            in_time: 0,
            latency: Histogram::new(DIGITS)?,
            service: Histogram::new(DIGITS)?,
            seconds,
            end: length,
        })
    }

    fn second(&mut self, at: u64) -> Option<&mut Second> {
        self.seconds.get_mut(usize::try_from(at / SECOND).ok()?)
    }

    /// Notes that a request is to be sent.
    #[inline]
    pub(crate) fn offer(&mut self, at: u64) {
        self.offered += 1;
        if let Some(second) = self.second(at) {
            second.offered += 1;
        }
    }

    /// Notes what became of a request. One that brought nothing counts as long as it was waited for: left out, a target that
    /// answers nothing would seem quick.
    #[inline]
    pub(crate) fn note(&mut self, times: Times, outcome: Outcome) {
        let Times { intended, sent, done } = times;
        let took = done.saturating_sub(intended);
        // A histogram that grows takes any value.
        let _ = self.latency.record(took);
        if let Some(sent) = sent.filter(|sent| *sent != intended) {
            let _ = self.service.record(done.saturating_sub(sent));
        }
        if let Some(second) = self.second(intended) {
            let _ = second.latency.record(took);
        }
        match outcome {
            Ok(Said::Admitted) => self.admitted += 1,
            Ok(Said::Unlimited) => {
                self.admitted += 1;
                self.unlimited += 1;
            }
            Ok(Said::Refused) => self.refused += 1,
            Err(fault) => {
                if let Fault::Status(odd) = fault {
                    self.odd.get_or_insert(odd);
                }
                if let Some(count) = self.faults.get_mut(fault.index()) {
                    *count += 1;
                }
                return;
            }
        }
        if done <= self.end {
            self.in_time += 1;
        }
        if let Some(second) = self.second(done) {
            second.answered += 1;
        }
    }

    /// Returns how many requests brought a decision.
    pub(crate) fn decided(&self) -> u64 {
        self.admitted + self.refused
    }

    /// Returns how many brought none.
    pub(crate) fn failed(&self) -> u64 {
        self.faults.iter().sum()
    }

    /// Adds what another thread counted.
    pub(crate) fn add(&mut self, other: &Self) {
        self.offered += other.offered;
        self.admitted += other.admitted;
        self.unlimited += other.unlimited;
        self.refused += other.refused;
        self.odd = self.odd.or(other.odd);
        self.in_time += other.in_time;
        for (ours, theirs) in self.faults.iter_mut().zip(other.faults) {
            *ours += theirs;
        }
        // Histograms that grow take each other in.
        let _ = self.latency.add(&other.latency);
        let _ = self.service.add(&other.service);
        for (ours, theirs) in self.seconds.iter_mut().zip(&other.seconds) {
            ours.offered += theirs.offered;
            ours.answered += theirs.answered;
            let _ = ours.latency.add(&theirs.latency);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards against requests that vanish from the count, and against failures that make a target look quick.
    #[test]
    fn every_request_is_counted_once_and_failures_as_long_as_they_were_waited_for() {
        let mut tally = Tally::new(2 * SECOND).unwrap();
        let times = |intended, done| Times { intended, sent: Some(intended + 1), done };
        for intended in [0, 1_500_000_000] {
            tally.offer(intended);
        }
        tally.note(times(0, 1_000), Ok(Said::Admitted));
        tally.note(times(1_500_000_000, 2_600_000_000), Err(Fault::Timeout));
        tally.offer(1_999_000_000);
        tally.note(times(1_999_000_000, 2_000_500_000), Ok(Said::Refused));
        assert_eq!((tally.offered, tally.decided(), tally.failed(), tally.in_time), (3, 2, 1, 1));
        assert!(tally.latency.max() >= 1_100_000_000 && tally.latency.len() == 3);
        let seconds: Vec<_> =
            tally.seconds.iter().map(|one| (one.offered, one.answered, one.latency.len())).collect();
        assert_eq!(seconds, [(1, 1, 1), (2, 0, 2)]);

        let other = tally.clone();
        tally.add(&other);
        assert_eq!((tally.offered, tally.decided(), tally.latency.len()), (6, 4, 6));
    }

    /// Guards the column of those who count from when they send: a request that nobody sent took no time in it, and a target that
    /// is so slow that most are given up would seem quick.
    #[test]
    fn a_request_that_was_given_up_unsent_has_a_latency_and_no_time_of_service() {
        let mut tally = Tally::new(SECOND).unwrap();
        tally.note(Times { intended: 0, sent: None, done: 2 * SECOND }, Err(Fault::Timeout));
        assert_eq!((tally.latency.len(), tally.service.len(), tally.failed()), (1, 0, 1));
    }

    /// Guards the memory of a machine on which somebody tests for days.
    #[test]
    fn seconds_are_told_for_an_hour_and_all_requests_counted() {
        let day = 86_400 * SECOND;
        let mut tally = Tally::new(day).unwrap();
        tally.offer(day - 1);
        tally.note(Times { intended: day - 1, sent: Some(day - 1), done: day }, Ok(Said::Admitted));
        assert_eq!((tally.seconds.len(), tally.offered, tally.in_time), (3_600, 1, 1));
    }
}

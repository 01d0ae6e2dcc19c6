//! Answers to be given again: a proxy that asks twice about one request is told the same, and it is charged once.
//!
//! nginx asks again after each of its internal redirects. An answer is kept for [`KEPT`], among the last [`ROOM`]; every
//! operation takes constant time. It is kept from when it began to be sought, so that who asks meanwhile waits for it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::watch;

use super::answer::Answer;

/// How long an answer is kept: longer than a proxy takes from one look at a request to its next.
const KEPT: Duration = Duration::from_secs(10);
/// The answers kept at most, of about a kilobyte each.
const ROOM: usize = 10_000;

/// By what a request is known again: a digest of its name and of all that it must have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct RequestId(pub(super) [u8; 32]);

/// What an answer will be told by.
pub(super) type Telling = watch::Receiver<Option<Arc<Answer>>>;

/// Answers by the request they are for.
#[derive(Debug, Default)]
pub(super) struct Repeats(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    answers: HashMap<RequestId, Telling>,
    /// Every request that is kept, once, the oldest first.
    order: VecDeque<(Instant, RequestId)>,
}

impl Repeats {
    /// Returns the answer to a request that was asked about, or begins to seek one.
    pub(super) fn first_or_begin(
        &self,
        id: RequestId,
        now: Instant,
        begin: impl FnOnce() -> Telling,
    ) -> Telling {
        let mut kept = self.0.lock();
        let kept = &mut *kept;
        kept.forget(now);
        if let Some(found) = kept.answers.get(&id) {
            return found.clone();
        }
        if kept.order.len() >= ROOM
            && let Some((_, oldest)) = kept.order.pop_front()
        {
            kept.answers.remove(&oldest);
        }
        let telling = begin();
        kept.order.push_back((now, id));
        kept.answers.insert(id, telling.clone());
        telling
    }
}

impl Kept {
    /// Forgets what is over.
    fn forget(&mut self, now: Instant) {
        while let Some((since, id)) = self.order.front()
            && now.saturating_duration_since(*since) >= KEPT
        {
            self.answers.remove(id);
            self.order.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: usize) -> RequestId {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&number.to_be_bytes());
        RequestId(bytes)
    }

    /// Asks about a request and returns whether it had to be decided.
    fn is_first(repeats: &Repeats, number: usize, now: Instant) -> bool {
        let mut began = false;
        let _ = repeats.first_or_begin(id(number), now, || {
            began = true;
            watch::channel(None).1
        });
        began
    }

    #[test]
    fn an_answer_is_kept_for_ten_seconds_from_the_first_call() {
        let (repeats, start) = (Repeats::default(), Instant::now());
        assert!(is_first(&repeats, 1, start));
        let later = |millis| start + Duration::from_millis(millis);
        assert!(!is_first(&repeats, 1, later(5_000)));
        assert!(!is_first(&repeats, 1, later(9_999)));
        // Asking again did not put it off.
        assert!(is_first(&repeats, 1, later(10_000)));
        assert!(!is_first(&repeats, 1, later(19_999)));
    }

    /// Guards against memory that a proxy's clients fill at will.
    #[test]
    fn the_oldest_goes_when_there_is_no_room() {
        let (repeats, now) = (Repeats::default(), Instant::now());
        for number in 0..=ROOM {
            assert!(is_first(&repeats, number, now));
        }
        assert!(!is_first(&repeats, ROOM, now), "the newest is kept");
        assert!(!is_first(&repeats, 1, now), "and all but the oldest");
        assert!(is_first(&repeats, 0, now));
        let kept = repeats.0.lock();
        assert_eq!((kept.answers.len(), kept.order.len()), (ROOM, ROOM));
    }
}

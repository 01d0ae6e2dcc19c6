//! Seats in real time: each does what it does when it is time, waits for the answers, and is asked what it does next.

use std::cell::RefCell;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::future::join_all;
use rand::SeedableRng;
use tidegate_algorithms::Timestamp;
use tokio::time::sleep;

use super::LiveError;
use super::client::{Client, Response};
use super::here::Here;
use super::place::Place;
use crate::act::{Act, Answer, Chance, Role, Seat, Who};
use crate::adversary::Play;

/// A request that was sent, and its answer.
pub(super) struct Record {
    pub(super) who: Who,
    pub(super) response: Response,
}

/// How many requests may still be sent.
pub(super) struct Budget {
    left: u64,
}

impl Budget {
    pub(super) fn new(requests: u64) -> Self {
        Self { left: requests }
    }

    /// Takes so many requests, or what is left.
    fn take(&mut self, wanted: u32) -> u32 {
        let given = u32::try_from(self.left.min(wanted.into())).unwrap_or(wanted);
        self.left = self.left.saturating_sub(given.into());
        given
    }
}

/// Returns the instant that this machine's clock tells.
#[allow(clippy::disallowed_methods, reason = "here the simulation meets the clock")]
pub(super) fn now() -> Timestamp {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::saturating_from_micros(u64::try_from(wall.as_micros()).unwrap_or(u64::MAX))
}

/// Plays the adversary's seats at a gateway until the play or the budget ends, and returns what was sent.
///
/// # Errors
/// When the gateway does not answer.
pub(super) async fn drive(
    place: &Place,
    here: &Here,
    seats: Vec<Seat>,
    play: &Play,
    budget: &mut Budget,
) -> Result<Vec<Record>, LiveError> {
    let client = Client::new(place);
    let shared = RefCell::new((budget, Vec::new()));
    // People are not played: a gateway has its own.
    let adversaries = seats.into_iter().filter(|seat| seat.role == Role::Adversary);
    let hands = (0_u64..).zip(adversaries).map(|(index, seat)| Hand {
        seat,
        chance: Chance::seed_from_u64(index),
        client: &client,
        here,
        play,
        shared: &shared,
    });
    let ended: Result<Vec<()>, LiveError> = join_all(hands.map(Hand::play)).await.into_iter().collect();
    ended?;
    Ok(shared.into_inner().1)
}

/// What hands share: the requests that are left, and the record of those that were sent.
type Shared<'b> = RefCell<(&'b mut Budget, Vec<Record>)>;

/// A seat at work.
struct Hand<'a, 'b> {
    seat: Seat,
    chance: Chance,
    client: &'a Client<'a>,
    here: &'a Here,
    play: &'a Play,
    shared: &'a Shared<'b>,
}

impl Hand<'_, '_> {
    async fn play(mut self) -> Result<(), LiveError> {
        let mut last: Option<Answer> = None;
        while let Some(act) = self.seat.actor.next(last.as_ref(), &mut self.chance) {
            if act.at >= self.play.end() || now() >= self.play.end() {
                return Ok(());
            }
            let wait = act.at.saturating_since(now());
            if wait.as_micros() > 0 {
                sleep(Duration::from_micros(wait.as_micros())).await;
            }
            let given = self.shared.borrow_mut().0.take(act.requests);
            if given == 0 && act.requests > 0 {
                return Ok(());
            }
            last = Some(self.send(&act, given).await?);
        }
        Ok(())
    }

    /// Sends the requests of an act at once and waits for all answers.
    async fn send(&self, act: &Act, requests: u32) -> Result<Answer, LiveError> {
        let who = self.here.who(&act.who);
        let wire = self.here.wire(&who);
        let all = join_all((0..requests).map(|_| self.client.send(&wire))).await;
        let mut answer = Answer { at: now(), admitted: 0, refused: 0, retry_after: None, degraded: false };
        for response in all {
            let response = response.map_err(LiveError::Gateway)?;
            if response.is_admitted() {
                answer.admitted = answer.admitted.saturating_add(1);
            } else {
                answer.refused = answer.refused.saturating_add(1);
                answer.retry_after = response.retry_after();
            }
            self.shared.borrow_mut().1.push(Record { who, response });
        }
        Ok(answer)
    }
}

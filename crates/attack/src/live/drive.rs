//! Seats in real time: each does what it does when it is time, waits for the answers, and is asked what it does next.

use std::cell::RefCell;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::future::try_join_all;
use futures_util::stream::{self, StreamExt as _};
use rand::SeedableRng;
use tidegate_algorithms::Timestamp;
use tokio::time::sleep;

use super::client::{Client, Response};
use super::here::Here;
use super::plan::Planned;
use super::{LiveError, LiveOptions};
use crate::act::{Act, Answer, Chance, Role, Seat, Who};

/// So many requests of one act are under way at once at most: more take descriptors, and show nothing else.
const AT_ONCE: usize = 64;

/// A request that was sent, and its answer.
#[derive(Debug)]
pub(super) struct Record {
    /// Its number among all, in the order in which they were sent; given when all were.
    pub(super) number: usize,
    /// The index of the attack that it belongs to.
    pub(super) attack: usize,
    pub(super) who: Who,
    pub(super) response: Response,
}

/// What came of an attack.
pub(super) struct Driven {
    pub(super) records: Vec<Record>,
    /// Whether it would have made more requests than it may.
    pub(super) is_cut: bool,
}

/// How many requests an attack may still make, and those that it made.
struct Book {
    left: u64,
    records: Vec<Record>,
    is_cut: bool,
}

impl Book {
    /// Takes so many requests, or what is left.
    fn take(&mut self, wanted: u32) -> u32 {
        let given = u32::try_from(self.left.min(wanted.into())).unwrap_or(wanted);
        self.left = self.left.saturating_sub(given.into());
        self.is_cut |= given < wanted;
        given
    }
}

/// Returns the instant that this machine's clock tells.
#[allow(clippy::disallowed_methods, reason = "here the simulation meets the clock")]
pub(super) fn now() -> Timestamp {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::saturating_from_micros(u64::try_from(wall.as_micros()).unwrap_or(u64::MAX))
}

/// Plays an attack at a gateway from now on until it ends or has made its requests, and returns what was sent.
///
/// # Errors
/// When the gateway does not answer.
pub(super) async fn drive(
    client: &Client<'_>,
    (index, attack): (usize, &Planned),
    options: &LiveOptions,
) -> Result<Driven, LiveError> {
    let play = attack.play(now(), options);
    let book = RefCell::new(Book { left: attack.requests, records: Vec::new(), is_cut: false });
    let seats = attack.adversary.seats(&attack.aim, &play);
    // People are not played: a gateway has its own.
    let adversaries = seats.into_iter().filter(|seat| seat.role == Role::Adversary);
    let hands = (0_u64..).zip(adversaries).map(|(seat_index, seat)| Hand {
        seat,
        chance: Chance::seed_from_u64(options.seed.wrapping_add(seat_index)),
        end: play.end(),
        attack: index,
        here: &attack.here,
        client,
        book: &book,
    });
    try_join_all(hands.map(Hand::play)).await?;
    let Book { records, is_cut, .. } = book.into_inner();
    Ok(Driven { records, is_cut })
}

/// A seat at work.
struct Hand<'a> {
    seat: Seat,
    chance: Chance,
    end: Timestamp,
    attack: usize,
    here: &'a Here,
    client: &'a Client<'a>,
    book: &'a RefCell<Book>,
}

impl Hand<'_> {
    async fn play(mut self) -> Result<(), LiveError> {
        let mut last: Option<Answer> = None;
        while let Some(act) = self.seat.actor.next(last.as_ref(), &mut self.chance) {
            if act.at >= self.end || now() >= self.end {
                return Ok(());
            }
            let wait = act.at.saturating_since(now());
            if wait.as_micros() > 0 {
                sleep(Duration::from_micros(wait.as_micros())).await;
            }
            let given = self.book.borrow_mut().take(act.requests);
            if given == 0 && act.requests > 0 {
                return Ok(());
            }
            last = Some(self.send(&act, given).await?);
        }
        Ok(())
    }

    /// Sends the requests of an act at once, as far as that goes, and waits for all answers.
    async fn send(&self, act: &Act, requests: u32) -> Result<Answer, LiveError> {
        let who = self.here.who(&act.who);
        let mut answer = Answer { at: now(), admitted: 0, refused: 0, retry_after: None, degraded: false };
        // Rules without requests of their own have been left out.
        let Some(wire) = self.here.wire(&who) else { return Ok(answer) };
        let mut all = stream::iter((0..requests).map(|_| self.client.send(&wire))).buffer_unordered(AT_ONCE);
        while let Some(response) = all.next().await {
            let response = response.map_err(LiveError::Gateway)?;
            if response.kind.is_admitted() {
                answer.admitted = answer.admitted.saturating_add(1);
            } else {
                answer.refused = answer.refused.saturating_add(1);
                answer.retry_after = response.retry_after();
            }
            self.book.borrow_mut().records.push(Record { number: 0, attack: self.attack, who, response });
        }
        answer.at = now();
        Ok(answer)
    }
}

/// Plays all lanes side by side, and in each its attacks one after the other; returns what came of each attack.
///
/// # Errors
/// When the gateway does not answer.
pub(super) async fn drive_all(
    client: &Client<'_>,
    attacks: &[Planned],
    lanes: &[Vec<usize>],
    options: &LiveOptions,
) -> Result<Vec<(usize, Driven)>, LiveError> {
    let lane = async |lane: &Vec<usize>| {
        let mut driven = Vec::new();
        for index in lane {
            if let Some(attack) = attacks.get(*index) {
                driven.push((*index, drive(client, (*index, attack), options).await?));
            }
        }
        Ok(driven)
    };
    Ok(try_join_all(lanes.iter().map(lane)).await?.into_iter().flatten().collect())
}

//! One call of the script: some questions packed, and its reply read.

use redis::{Cmd, Value};
use tidegate_algorithms::{Place, Quota, Span, Timestamp};
use tidegate_store::{Give, StoreError};

use super::places::Places;
use super::replay::{Found, Replay};
use crate::codec::quota_code;
use crate::op::{Answer, Digest, Op, OwnCheck, OwnRefund};

/// The most questions of a call: past that a call takes the server longer than the others who wait should bear.
pub(crate) const MAX_OPS: usize = 128;
/// The most keys of a call of several questions. One question may name more, up to what two bytes count.
pub(crate) const MAX_KEYS: usize = 512;

/// A call of the script.
#[derive(Debug)]
pub(crate) struct Call<'o> {
    ops: Vec<&'o Op>,
    at: Option<Timestamp>,
    keys: Vec<Vec<u8>>,
    places: Places,
    codes: Vec<Vec<u8>>,
    /// The quotas of the codes, few enough to be looked through.
    quotas: Vec<Quota>,
    packed: Vec<u8>,
}

/// What came of a call: an answer a question, and how many of them the script and this program disagree about.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) answers: Vec<Result<Answer, StoreError>>,
    pub(crate) disagreements: u64,
    pub(crate) foreign_values: u64,
    /// What the program thinks is held of each key after the call, in the order of the call's keys.
    #[cfg_attr(not(feature = "testing"), allow(dead_code, reason = "a differential run compares it"))]
    pub(crate) after: Vec<Found>,
}

impl<'o> Call<'o> {
    /// Packs questions, all of them decided at one instant: `at`, or the server's.
    pub(crate) fn new(prefix: &str, ops: impl IntoIterator<Item = &'o Op>, at: Option<Timestamp>) -> Self {
        let mut call = Self {
            ops: ops.into_iter().collect(),
            at,
            keys: Vec::new(),
            places: Places::default(),
            codes: Vec::new(),
            quotas: Vec::new(),
            packed: Vec::new(),
        };
        call.keys.reserve(call.ops.len());
        call.places.reserve(call.ops.len());
        for place in 0..call.ops.len() {
            if let Some(op) = call.ops.get(place).copied() {
                call.pack(prefix, op);
            }
        }
        call
    }

    /// Returns the command.
    pub(crate) fn evalsha(&self, sha1: &str) -> Cmd {
        let mut cmd = Cmd::with_capacity(self.keys.len() + self.codes.len() + 5, self.packed.len() + 64);
        cmd.arg("EVALSHA").arg(sha1).arg(self.keys.len());
        for key in &self.keys {
            cmd.arg(key.as_slice());
        }
        match self.at {
            Some(at) => cmd.arg(at.as_micros()),
            None => cmd.arg(""),
        };
        cmd.arg(self.packed.as_slice());
        for code in &self.codes {
            cmd.arg(code.as_slice());
        }
        cmd
    }

    /// Reads the reply, and runs the first writing of the algorithms on what the script found.
    ///
    /// # Errors
    /// When it is no reply of the script; what was charged is unknown then.
    pub(crate) fn read(&self, reply: &Value) -> Result<Read, StoreError> {
        let unreadable =
            || StoreError::rejected("the script's reply cannot be read: is it ours?").perhaps_counted();
        let Value::Array(parts) = reply else { return Err(unreadable()) };
        let [Value::BulkString(now), Value::BulkString(flags), found @ ..] = parts.as_slice() else {
            return Err(unreadable());
        };
        let now = std::str::from_utf8(now).ok().and_then(|now| Timestamp::from_micros(now.parse().ok()?));
        let found: Option<Vec<Found>> = found.iter().map(Found::of).collect();
        let (Some(now), Some(found)) = (now, found) else { return Err(unreadable()) };
        if flags.len() != self.ops.len() || found.len() != self.keys.len() {
            return Err(unreadable());
        }
        let mut world = Replay { now, places: &self.places, found };
        let mut read = Read { answers: Vec::new(), disagreements: 0, foreign_values: 0, after: Vec::new() };
        for (op, flag) in self.ops.iter().zip(flags) {
            let (answer, agrees) = world.answer(op, *flag);
            read.disagreements += u64::from(!agrees);
            read.foreign_values += u64::from(*flag == b'x');
            read.answers.push(answer);
        }
        read.after = world.found;
        Ok(read)
    }

    fn pack(&mut self, prefix: &str, op: &Op) {
        match op {
            Op::Decide { checks, peek } => {
                self.head(if *peek { 2 } else { 1 }, checks.len());
                for check in checks {
                    self.check(prefix, check);
                }
            }
            Op::Refund(refunds) => {
                self.head(3, refunds.len());
                for refund in refunds {
                    self.refund(prefix, refund);
                }
            }
            Op::Reset(digest) => self.key_alone(prefix, 4, *digest),
            Op::Inspect(digest) => self.key_alone(prefix, 5, *digest),
            // Counters have a script of their own, and never go out together with these.
            Op::Counter(_) => {}
        }
    }

    fn head(&mut self, kind: u8, count: usize) {
        // Longer batches are refused before they are packed.
        self.packed.extend_from_slice(&[kind, u8::try_from(count).unwrap_or(u8::MAX)]);
    }

    fn key_alone(&mut self, prefix: &str, kind: u8, digest: Digest) {
        self.head(kind, 1);
        let key = self.key(prefix, digest);
        self.packed.extend_from_slice(&key.to_be_bytes());
    }

    fn check(&mut self, prefix: &str, check: &OwnCheck) {
        let (key, quota) = (self.key(prefix, check.digest), self.quota(&check.quota));
        // Only a leaky bucket lets anybody wait.
        let waits = matches!(check.quota, Quota::LeakyBucket(_));
        let delay = Some(check.ask.max_delay()).filter(|delay| waits && *delay != Span::MAX);
        self.packed.extend_from_slice(&key.to_be_bytes());
        self.packed.extend_from_slice(&quota.to_be_bytes());
        self.packed.push(u8::from(check.shadow) | if delay.is_none() { 2 } else { 0 });
        self.packed.extend_from_slice(&check.ask.cost().to_be_bytes());
        if let Some(delay) = delay {
            self.instant(delay.as_micros());
        }
    }

    fn refund(&mut self, prefix: &str, refund: &OwnRefund) {
        let (key, quota) = (self.key(prefix, refund.digest), self.quota(&refund.quota));
        let (kind, closing, tail) = match (refund.give, refund.receipt.place()) {
            (Give::All, _) => (5, None, None),
            (Give::Charge, Place::ByInstant) => (0, None, None),
            (Give::Charge, Place::ClockWindow { closes_at }) => (1, Some((closes_at, false)), None),
            (Give::Charge, Place::HitWindow { closes_at, opened }) => (2, Some((closes_at, opened)), None),
            (Give::Charge, Place::Attempt { closes_at, opened }) => (3, Some((closes_at, opened)), None),
            (Give::Charge, Place::Tail(level)) => (4, None, Some(level)),
        };
        self.packed.extend_from_slice(&key.to_be_bytes());
        self.packed.extend_from_slice(&quota.to_be_bytes());
        self.packed.push(kind);
        self.instant(refund.receipt.charged_at().as_micros());
        self.packed.extend_from_slice(&refund.receipt.units().to_be_bytes());
        if let Some((closes_at, opened)) = closing {
            self.instant(closes_at.min(MAX_INSTANT));
            self.packed.push(opened.into());
        }
        if let Some(level) = tail {
            let per = if let Quota::LeakyBucket(bucket) = refund.quota { bucket.rate().units() } else { 1 };
            let (micros, sub) = level.mark().parts(per);
            self.instant(micros.min(MAX_INSTANT));
            self.packed.extend_from_slice(&sub.to_be_bytes());
            self.packed.extend_from_slice(&level.whole().to_be_bytes());
        }
    }

    fn instant(&mut self, micros: u64) {
        let [_, bytes @ ..] = micros.to_be_bytes();
        self.packed.extend_from_slice(&bytes);
    }

    fn key(&mut self, prefix: &str, digest: Digest) -> u16 {
        let next = u16::try_from(self.keys.len() + 1).unwrap_or(u16::MAX);
        *self.places.entry(digest).or_insert_with(|| {
            self.keys.push(digest.redis_key(prefix));
            next
        })
    }

    fn quota(&mut self, quota: &Quota) -> u16 {
        let known = self.quotas.iter().position(|known| known == quota);
        let place = known.unwrap_or_else(|| {
            self.codes.push(quota_code(quota));
            self.quotas.push(*quota);
            self.quotas.len() - 1
        });
        u16::try_from(place + 1).unwrap_or(u16::MAX)
    }
}

/// What seven bytes hold and a double holds exactly: no instant of a receipt lies that late.
const MAX_INSTANT: u64 = (1 << 53) - 1;

//! Writing a store down, one lock after the other.

use std::time::Duration;

use tidegate_algorithms::{Log, State};

use super::super::MemoryStore;
use super::super::clock::boot_micros;
use super::super::pack;
use super::super::quotas::QuotaId;
use super::super::shard::Shard;
use super::super::states::States;
use super::bytes::put_count;
use super::{END, LEAD, MAGIC, NAME, SHARED, Snapshot, TABLE, VERSION, checksum, code};
use crate::check::{Algorithm, LimitId};

impl MemoryStore {
    /// Writes down everything that is held, with the secret of the keys.
    ///
    /// Decisions go on meanwhile: each lock is held for as long as it takes to copy what is behind it. What was charged
    /// before is in it, and each key is right by itself; of what is charged meanwhile some is in it and some is not. It
    /// takes about 32 bytes a key, and 12 for each instant of a log.
    pub fn snapshot(&self) -> Snapshot {
        let taken_at = self.clock.now();
        let mut out = self.header();
        // Twice what is behind each lock on average, so that it hardly ever grows under one.
        let likely = self.ledger.used().1 / self.shards.count() * 2;
        let (mut copy, mut keys, mut longest) = (Vec::with_capacity(likely), 0, 0);
        for index in 0..self.shards.count() {
            copy.clear();
            let Some(shard) = self.shards.lock_one(index) else { continue };
            let began = boot_micros();
            keys += put_shard(&shard, &mut copy);
            let pause = boot_micros().saturating_sub(began);
            drop(shard);
            longest = longest.max(pause);
            out.extend_from_slice(&copy);
        }
        let overflow = self.shards.lock_last();
        for (limit, quota, state) in overflow.all() {
            out.push(SHARED);
            out.extend_from_slice(&limit.index().to_le_bytes());
            out.extend_from_slice(&code(quota));
            out.extend_from_slice(&pack::pack(state, QuotaId(0)).to_le_bytes());
            if let State::Log(log) = state {
                put_log(log, &mut out);
            }
        }
        drop(overflow);
        // Last, so that every limit that was met has its name.
        for name in self.limits.names() {
            out.push(NAME);
            put_count(&mut out, name.len());
            out.extend_from_slice(name.as_bytes());
        }
        out.push(END);
        let bytes = sealed(out);
        Snapshot { bytes, keys, taken_at, longest_pause: Duration::from_micros(longest) }
    }

    fn header(&self) -> Vec<u8> {
        let (max_keys, max_bytes) = self.ledger.bounds();
        let mut out = Vec::with_capacity(self.ledger.used().1);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        // The length, once it is known.
        out.extend_from_slice(&[0; 8]);
        out.extend_from_slice(&self.digester.secret());
        out.extend_from_slice(&self.clock.now().as_micros().to_le_bytes());
        for bound in [max_keys, max_bytes] {
            out.extend_from_slice(&u64::try_from(bound).unwrap_or(u64::MAX).to_le_bytes());
        }
        out
    }
}

/// Fills in the length and adds the checksum.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let length = bytes.len().saturating_add(super::CHECKSUM);
    let length = u64::try_from(length).unwrap_or(u64::MAX).to_le_bytes();
    for (byte, length) in bytes.iter_mut().take(LEAD).skip(LEAD - length.len()).zip(length) {
        *byte = length;
    }
    let sum = checksum(&bytes);
    bytes.extend_from_slice(&sum);
    bytes
}

/// Copies what is behind one lock; returns the number of states.
fn put_shard(shard: &Shard, out: &mut Vec<u8>) -> usize {
    let mut keys = 0;
    for (limit, held) in shard.all() {
        for states in held.states.iter().filter(|states| states.table.len() > 0) {
            put_table(limit, states, out);
            keys += states.table.len();
        }
    }
    keys
}

fn put_table(limit: LimitId, states: &States, out: &mut Vec<u8>) {
    out.push(TABLE);
    out.extend_from_slice(&limit.index().to_le_bytes());
    out.push(states.algorithm() as u8);
    put_count(out, states.quotas().len());
    for quota in states.quotas() {
        out.extend_from_slice(&code(quota));
    }
    put_count(out, states.table.len());
    out.reserve(states.table.len() * super::read::SLOT);
    for (key, word) in states.table.iter() {
        let [first, second] = key.halves();
        out.extend_from_slice(&first.to_le_bytes());
        out.extend_from_slice(&second.to_le_bytes());
        out.extend_from_slice(&word.to_le_bytes());
    }
    if states.algorithm() == Algorithm::Log {
        for (_, word) in states.table.iter() {
            match states.log(word) {
                Some(log) => put_log(log, out),
                None => put_count(out, 0),
            }
        }
    }
}

fn put_log(log: &Log, out: &mut Vec<u8>) {
    put_count(out, log.len());
    for stamp in log.stamps() {
        out.extend_from_slice(&stamp.at.to_le_bytes());
        out.extend_from_slice(&stamp.units.to_le_bytes());
    }
}

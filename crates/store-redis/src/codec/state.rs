//! A state as bytes, beside the quota it was written under: instants in seven bytes, counts in as few as hold them.

use tidegate_algorithms::{Counter, Level, Lock, Log, Mark, Quota, Stamp, State, Window};

/// Returns a state of a quota; one of another quota's algorithm has none.
pub(super) fn write(quota: &Quota, state: &State, out: &mut Vec<u8>) -> Option<()> {
    match (quota, state) {
        (Quota::FixedWindow(_), State::ClockWindow(window)) => {
            instant(out, window.ends_at);
            count(out, window.count);
        }
        (Quota::FixedWindow(_), State::HitWindow(window)) => {
            instant(out, window.ends_at);
            if window.early == 0 {
                count(out, window.count);
            } else {
                out.extend_from_slice(&window.count.to_be_bytes());
                out.extend_from_slice(&window.early.to_be_bytes());
            }
        }
        (Quota::SlidingLog(_), State::Log(log)) => {
            let total: u64 = log.stamps().map(|stamp| u64::from(stamp.units)).sum();
            out.extend_from_slice(&u32::try_from(total).unwrap_or(u32::MAX).to_be_bytes());
            for stamp in log.stamps() {
                instant(out, stamp.at);
                out.extend_from_slice(&stamp.units.to_be_bytes());
            }
        }
        (Quota::SlidingCounter(_), State::Counter(counter)) => {
            instant(out, counter.charged_at);
            let bytes = bytes_for(counter.current.max(counter.previous));
            sized(out, counter.current, bytes);
            sized(out, counter.previous, bytes);
        }
        (Quota::TokenBucket(bucket), State::Credit(level)) => {
            write_level(out, *level, bucket.refill().units());
        }
        (Quota::LeakyBucket(bucket), State::Backlog(level)) => {
            write_level(out, *level, bucket.rate().units());
        }
        (Quota::Lockout(_), State::Lock(lock)) => {
            instant(out, lock.ends_at);
            if lock.early == 0 && lock.locked_until == 0 {
                count(out, lock.count);
            } else {
                out.extend_from_slice(&lock.count.to_be_bytes());
                out.extend_from_slice(&lock.early.to_be_bytes());
                instant(out, lock.locked_until);
            }
        }
        _ => return None,
    }
    Some(())
}

fn write_level(out: &mut Vec<u8>, level: Level, per: u32) {
    let (micros, sub) = level.mark().parts(per);
    instant(out, micros);
    if per != 1 {
        out.extend_from_slice(&sub.to_be_bytes());
    }
    count(out, level.whole());
}

/// Reads the state of a quota; `None` for what is none of ours.
pub(super) fn read(quota: &Quota, bytes: &[u8]) -> Option<State> {
    if let Quota::SlidingLog(_) = quota {
        return read_log(bytes).map(State::Log);
    }
    let (first, rest) = bytes.split_first_chunk::<7>()?;
    let first = from_be(first);
    Some(match quota {
        Quota::FixedWindow(window) if window.anchor() == tidegate_algorithms::Anchor::FirstHit => {
            let (count, early) = if rest.len() == 8 { halves(rest)? } else { (from_count(rest)?, 0) };
            State::HitWindow(Window { ends_at: first, count, early })
        }
        Quota::FixedWindow(_) => {
            State::ClockWindow(Window { ends_at: first, count: from_count(rest)?, early: 0 })
        }
        Quota::SlidingCounter(_) if rest.len().is_multiple_of(2) => {
            let (current, previous) = halves(rest)?;
            State::Counter(Counter { charged_at: first, current, previous })
        }
        Quota::TokenBucket(bucket) => State::Credit(read_level(first, rest, bucket.refill().units())?),
        Quota::LeakyBucket(bucket) => State::Backlog(read_level(first, rest, bucket.rate().units())?),
        Quota::Lockout(_) => State::Lock(read_lock(first, rest)?),
        Quota::SlidingCounter(_) | Quota::SlidingLog(_) => return None,
    })
}

fn read_log(bytes: &[u8]) -> Option<Log> {
    let (total, entries) = bytes.split_first_chunk::<4>()?;
    let (entries, rest) = entries.as_chunks::<11>();
    if entries.is_empty() || !rest.is_empty() {
        return None;
    }
    let stamps: Option<Vec<Stamp>> = entries
        .iter()
        .map(|entry| {
            let (at, units) = entry.split_first_chunk::<7>()?;
            Some(Stamp { at: from_be(at), units: from_count(units)? })
        })
        .collect();
    let stamps = stamps?;
    let sum: u64 = stamps.iter().map(|stamp| u64::from(stamp.units)).sum();
    (sum == u64::from(u32::from_be_bytes(*total))).then(|| Log::from_stamps(stamps))
}

fn read_level(micros: u64, rest: &[u8], per: u32) -> Option<Level> {
    if per == 1 {
        return Some(Level::from_parts(from_count(rest)?, Mark::from_parts(micros, 0, 1)));
    }
    let (sub, rest) = rest.split_first_chunk::<4>()?;
    let sub = u32::from_be_bytes(*sub);
    (sub < per).then_some(())?;
    Some(Level::from_parts(from_count(rest)?, Mark::from_parts(micros, sub, per)))
}

fn read_lock(ends_at: u64, rest: &[u8]) -> Option<Lock> {
    if rest.len() == 15 {
        let (counts, locked) = rest.split_first_chunk::<8>()?;
        let (count, early) = halves(counts)?;
        return Some(Lock { ends_at, count, early, locked_until: from_be(locked) });
    }
    Some(Lock { ends_at, count: from_count(rest)?, early: 0, locked_until: 0 })
}

fn halves(bytes: &[u8]) -> Option<(u32, u32)> {
    let (first, second) = bytes.split_at_checked(bytes.len() / 2)?;
    Some((from_count(first)?, from_count(second)?))
}

fn instant(out: &mut Vec<u8>, micros: u64) {
    let [_, bytes @ ..] = micros.to_be_bytes();
    out.extend_from_slice(&bytes);
}

fn bytes_for(count: u32) -> usize {
    match count {
        0..0x100 => 1,
        0x100..0x1_0000 => 2,
        0x1_0000..0x100_0000 => 3,
        _ => 4,
    }
}

fn count(out: &mut Vec<u8>, count: u32) {
    sized(out, count, bytes_for(count));
}

fn sized(out: &mut Vec<u8>, count: u32, bytes: usize) {
    let all = count.to_be_bytes();
    out.extend_from_slice(all.get(4_usize.saturating_sub(bytes)..).unwrap_or(&all));
}

fn from_count(bytes: &[u8]) -> Option<u32> {
    if bytes.is_empty() || bytes.len() > 4 {
        return None;
    }
    u32::try_from(from_be(bytes)).ok()
}

fn from_be(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| (number << 8) | u64::from(*byte))
}

//! A snapshot's bytes, verified and taken apart.

use tidegate_algorithms::{Log, Quota, Stamp, State, Timestamp};

use super::super::pack;
use super::super::quotas::QuotaId;
use super::bytes::Reader;
use super::code::{CODE, decode};
use super::{CHECKSUM, END, LEAD, MAGIC, NAME, SHARED, SnapshotError, TABLE, VERSION, checksum};
use crate::check::{Algorithm, KeyDigest, LimitId};

/// The bytes of a slot, and of a stamp.
pub(super) const SLOT: usize = 32;
const STAMP: usize = 12;

/// A snapshot that was verified.
#[derive(Debug)]
pub(super) struct Contents<'a> {
    pub(super) secret: [u8; 16],
    pub(super) taken_at: Timestamp,
    pub(super) max_keys: u64,
    pub(super) max_bytes: u64,
    pub(super) tables: Vec<Saved<'a>>,
    pub(super) shared: Vec<(LimitId, Quota, State)>,
    pub(super) names: Vec<&'a str>,
}

/// One table of one shard.
#[derive(Debug)]
pub(super) struct Saved<'a> {
    pub(super) limit: LimitId,
    pub(super) algorithm: Algorithm,
    pub(super) quotas: Vec<Quota>,
    slots: &'a [u8],
    /// The stamps of each slot's log.
    logs: Vec<&'a [u8]>,
}

/// One state of a key.
#[derive(Debug)]
pub(super) struct Slot {
    /// `None` where there was no number left for it.
    pub(super) quota: Option<Quota>,
    pub(super) state: State,
}

/// Verifies a snapshot and takes it apart.
pub(super) fn read(bytes: &[u8]) -> Result<Contents<'_>, SnapshotError> {
    let mut records = Reader(verified(bytes)?);
    let mut contents = Contents {
        secret: *records.array()?,
        taken_at: Timestamp::saturating_from_micros(records.u64()?),
        max_keys: records.u64()?,
        max_bytes: records.u64()?,
        tables: Vec::new(),
        shared: Vec::new(),
        names: Vec::new(),
    };
    loop {
        match records.byte()? {
            END => break,
            TABLE => contents.tables.push(table(&mut records)?),
            SHARED => contents.shared.push(shared(&mut records)?),
            NAME => {
                let length = records.count(1)?;
                let name = std::str::from_utf8(records.take(length)?);
                contents.names.push(name.map_err(|_| SnapshotError::Malformed("a limit's name is no text"))?);
            }
            _ => return Err(SnapshotError::Malformed("a record of it is of no known kind")),
        }
    }
    let limits = contents.tables.iter().map(|table| table.limit);
    let known = |limit: LimitId| usize::try_from(limit.index()).is_ok_and(|it| it < contents.names.len());
    if !limits.chain(contents.shared.iter().map(|(limit, ..)| *limit)).all(known) {
        return Err(SnapshotError::Malformed("a limit of it has no name"));
    }
    Ok(contents)
}

/// Returns what is between the lead and the checksum.
fn verified(bytes: &[u8]) -> Result<&[u8], SnapshotError> {
    let found = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let Some(rest) = bytes.strip_prefix(MAGIC) else {
        // A file that was cut before it says what it is, or an empty one, was one all the same.
        let cut = MAGIC.starts_with(bytes);
        let expected = u64::try_from(LEAD + CHECKSUM).unwrap_or(u64::MAX);
        return Err(if cut { SnapshotError::Length { expected, found } } else { SnapshotError::Foreign });
    };
    let mut lead = Reader(rest);
    let least = u64::try_from(LEAD + CHECKSUM).unwrap_or(u64::MAX);
    let too_short = |_| SnapshotError::Length { expected: least, found };
    let version = lead.u32().map_err(too_short)?;
    if version != VERSION {
        return Err(SnapshotError::Version(version));
    }
    let expected = lead.u64().map_err(too_short)?;
    if expected != found || found < least {
        return Err(SnapshotError::Length { expected: expected.max(least), found });
    }
    let Some((content, sum)) = bytes.split_last_chunk::<CHECKSUM>() else {
        return Err(SnapshotError::Damaged);
    };
    if checksum(content) != *sum {
        return Err(SnapshotError::Damaged);
    }
    content.get(LEAD..).ok_or(SnapshotError::Damaged)
}

fn table<'a>(records: &mut Reader<'a>) -> Result<Saved<'a>, SnapshotError> {
    let limit = LimitId::from_index(records.u32()?);
    let algorithm = algorithm(records.byte()?)?;
    let quotas = (0..records.count(CODE)?).map(|_| quota(records)).collect::<Result<Vec<_>, _>>()?;
    if quotas.is_empty() || quotas.iter().any(|quota| Algorithm::of(quota) != algorithm) {
        return Err(SnapshotError::Malformed(
            "the numbers of a limit are of another algorithm than its states",
        ));
    }
    let count = records.count(SLOT)?;
    let slots = records.take(count.saturating_mul(SLOT))?;
    let logs = if algorithm == Algorithm::Log { count } else { 0 };
    let logs = (0..logs).map(|_| stamps(records)).collect::<Result<Vec<_>, _>>()?;
    let saved = Saved { limit, algorithm, quotas, slots, logs };
    if (0..count).any(|slot| saved.slot(slot).is_none()) {
        return Err(SnapshotError::Malformed("a state of it is of numbers it does not have"));
    }
    Ok(saved)
}

fn shared(records: &mut Reader<'_>) -> Result<(LimitId, Quota, State), SnapshotError> {
    let limit = LimitId::from_index(records.u32()?);
    let quota = quota(records)?;
    let word = records.u128()?;
    let state = match Algorithm::of(&quota) {
        Algorithm::Log => Some(State::Log(log(stamps(records)?))),
        algorithm => pack::unpack(algorithm, word, Some(&quota)),
    };
    let state = state.ok_or(SnapshotError::Malformed("a shared state of it is none"))?;
    Ok((limit, quota, state))
}

fn quota(records: &mut Reader<'_>) -> Result<Quota, SnapshotError> {
    decode(records.array()?).ok_or(SnapshotError::Malformed("numbers of a limit are out of range"))
}

fn stamps<'a>(records: &mut Reader<'a>) -> Result<&'a [u8], SnapshotError> {
    let count = records.count(STAMP)?;
    records.take(count.saturating_mul(STAMP))
}

fn log(stamps: &[u8]) -> Log {
    Log::from_stamps(stamps.chunks_exact(STAMP).filter_map(|stamp| {
        let (at, units) = stamp.split_first_chunk()?;
        let units = u32::from_le_bytes(units.try_into().ok()?);
        Some(Stamp { at: u64::from_le_bytes(*at), units })
    }))
}

fn algorithm(byte: u8) -> Result<Algorithm, SnapshotError> {
    const ALL: [Algorithm; 7] = [
        Algorithm::ClockWindow,
        Algorithm::HitWindow,
        Algorithm::Log,
        Algorithm::Counter,
        Algorithm::Credit,
        Algorithm::Backlog,
        Algorithm::Lock,
    ];
    let found = ALL.into_iter().find(|algorithm| *algorithm as u8 == byte);
    found.ok_or(SnapshotError::Malformed("an algorithm of it is none that is known"))
}

impl Saved<'_> {
    /// Returns the number of states.
    pub(super) fn len(&self) -> usize {
        self.slots.len() / SLOT
    }

    /// Returns the numbers that were known longest.
    pub(super) fn oldest(&self) -> Option<&Quota> {
        self.quotas.first()
    }

    /// Returns the key of a state.
    pub(super) fn key(&self, slot: usize) -> Option<KeyDigest> {
        Some(self.fields(slot)?.0)
    }

    /// Returns a state.
    pub(super) fn slot(&self, slot: usize) -> Option<Slot> {
        let (_, word) = self.fields(slot)?;
        let id = pack::quota_of(word);
        let quota = match id {
            QuotaId::UNKNOWN => None,
            id => Some(*self.quotas.get(usize::from(id.0))?),
        };
        let state = match self.algorithm {
            Algorithm::Log => State::Log(log(self.logs.get(slot)?)),
            algorithm => pack::unpack(algorithm, word, quota.as_ref())?,
        };
        Some(Slot { quota, state })
    }

    /// Returns the number of stamps of a state's log.
    pub(super) fn stamps(&self, slot: usize) -> usize {
        self.logs.get(slot).map_or(0, |stamps| stamps.len() / STAMP)
    }

    fn fields(&self, slot: usize) -> Option<(KeyDigest, u128)> {
        let at = slot.checked_mul(SLOT)?;
        let mut fields = Reader(self.slots.get(at..at.checked_add(SLOT)?)?);
        let key = KeyDigest::from_halves([fields.u64().ok()?, fields.u64().ok()?]);
        Some((key, fields.u128().ok()?))
    }
}

//! Everything a memory store holds, in bytes that a later process reads: a restart then hands out no fresh quotas.
//!
//! ```text
//! header   "tidegate", version u32, length of the whole u64,
//!          secret 16 bytes, taken at u64, most keys u64, most bytes u64
//! records  1: table    limit u32, algorithm u8, quotas (count u32, each 22 bytes),
//!                      slots (count u32, each a key and a word, 32 bytes), and for a log each slot's stamps
//!          2: shared   limit u32, quota 22 bytes, word 16 bytes, and for a log its stamps
//!          3: name     length u32, the name of the limit of the next id
//!          0: end
//! checksum 16 bytes, over all that comes before
//! ```
//!
//! Numbers have their little end first, instants are microseconds since the epoch, and a word is what [`pack`] makes, so
//! another layout there is another version here. Nothing is used before the whole has been verified.
//!
//! **Taking one stops nobody for long.** One shard after the other is copied under its lock, then what newcomers share,
//! then the names. So all that was charged before the snapshot began is in it, and each key is right by itself; of what
//! comes meanwhile some is in it and some is not, also of one batch over several keys.
//!
//! **Restoring refills nothing.** What cannot be told from fresh is left out. With the room that the snapshot's store had,
//! or more, everything has its place again. With less, the keys with the least left have theirs first; the others join
//! the state that newcomers share, which becomes at least as strict as the strictest of them ([`join`]).
//!
//! **Time** is the new process's wall clock. Where that stands before the snapshot's instant, the algorithms date back what
//! lies ahead, with its counts, as for every step of a clock: nothing is refilled, and no wait is longer than a whole one. To
//! go on from the snapshot's instant instead would keep a clock that was once wrong by a year wrong for ever, and with it
//! every day of the calendar.
//!
//! [`pack`]: super::pack

mod bytes;
mod code;
mod error;
mod join;
mod read;
mod restore;
mod take;

use std::fmt;
use std::time::Duration;

use siphasher::sip128::SipHasher13;
use tidegate_algorithms::Timestamp;

pub(super) use code::code;
pub use error::SnapshotError;
pub(super) use join::join;

/// How a snapshot begins.
const MAGIC: &[u8; 8] = b"tidegate";
/// The format that is written, and the only one that is read.
const VERSION: u32 = 1;
/// The bytes of magic, version and length, and of the checksum at the end.
const LEAD: usize = 20;
const CHECKSUM: usize = 16;

/// What a record is.
const END: u8 = 0;
const TABLE: u8 = 1;
const SHARED: u8 = 2;
const NAME: u8 = 3;

/// What a memory store held. Its bytes hold the secret of its keys: whoever reads them can aim keys at each other.
pub struct Snapshot {
    bytes: Vec<u8>,
    keys: usize,
    taken_at: Timestamp,
    longest_pause: Duration,
}

impl Snapshot {
    /// Returns the bytes to keep.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the number of states of keys, those left beside others among them.
    pub fn keys(&self) -> usize {
        self.keys
    }

    /// Returns the instant at which it was begun.
    pub fn taken_at(&self) -> Timestamp {
        self.taken_at
    }

    /// Returns the longest time for which some keys could not be decided on meanwhile.
    pub fn longest_pause(&self) -> Duration {
        self.longest_pause
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bytes, keys, taken_at, longest_pause } = self;
        f.debug_struct("Snapshot")
            .field("bytes", &bytes.len())
            .field("keys", keys)
            .field("taken_at", taken_at)
            .field("longest_pause", longest_pause)
            .finish()
    }
}

/// What became of a snapshot's states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restored {
    /// The instant at which the snapshot was begun, by the clock of the process that took it.
    pub taken_at: Timestamp,
    /// The instant of the restore.
    pub now: Timestamp,
    /// States that have their place again.
    pub kept: usize,
    /// States that joined what newcomers share, for want of room.
    pub joined: usize,
    /// States that mean nothing any more.
    pub forgotten: usize,
}

/// Returns the checksum of bytes: it tells damage, not malice.
fn checksum(bytes: &[u8]) -> [u8; CHECKSUM] {
    SipHasher13::new().hash(bytes).as_bytes()
}

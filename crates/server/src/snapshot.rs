//! The memory store in a file: read at the start, written at intervals and at the end, so that a restart hands out no
//! fresh quotas.
//!
//! The file is whole at every moment: a new one is written beside it, brought to the disk, and renamed over it. It holds
//! the secret of the keys and is its owner's alone from its first byte on. Nothing here stops the serving: a file that
//! cannot be used is kept aside, told of and counted, and the process begins without, since a gateway that refuses to start
//! would be an outage at the worst moment; one that cannot be written is told of, once until it can be.

mod file;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use tidegate::{Limiter, MemoryOptions, MemoryStore, Restored, StoreError};
use tidegate_policy::{Policy, StoreChoice};

/// Keeps a memory store in a file. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Keeper {
    kept: Arc<Kept>,
}

#[derive(Debug)]
struct Kept {
    store: Arc<MemoryStore>,
    file: PathBuf,
    every: Duration,
    status: Status,
    /// Held while the file is written.
    writing: Mutex<()>,
}

#[derive(Debug, Default)]
struct Status {
    written: AtomicU64,
    failures: AtomicU64,
    failing: AtomicBool,
    unusable: AtomicBool,
    /// What could not be used is still in the file's place, where writing would destroy it.
    in_the_way: AtomicBool,
    restored: AtomicU64,
    last: Mutex<Option<Written>>,
}

/// The last snapshot that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// When it was on the disk.
    pub at: SystemTime,
    /// Its length in bytes.
    pub bytes: u64,
    /// The states of keys in it.
    pub keys: u64,
    /// The longest time for which some keys could not be decided on meanwhile.
    pub longest_pause: Duration,
}

/// What became of snapshots, for whoever shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// The last that was written by this process.
    pub last: Option<Written>,
    /// How many were written.
    pub written: u64,
    /// How many could not be.
    pub failures: u64,
    /// Whether the last attempt failed.
    pub failing: bool,
    /// Whether there was a file at the start that could not be used: all keys began with fresh quotas.
    pub unusable: bool,
    /// States of keys that were brought back at the start.
    pub restored: u64,
}

/// Why a snapshot at the start could not be used.
#[derive(Debug, thiserror::Error)]
enum Unusable {
    #[error("{0}")]
    Read(#[from] io::Error),
    #[error("{0}")]
    Content(#[from] tidegate::SnapshotError),
}

impl Keeper {
    /// Builds the memory store that a policy has kept in a file; `None` where it has none.
    ///
    /// # Errors
    /// As [`Keeper::open`].
    pub fn of(policy: &Policy) -> Result<Option<Self>, StoreError> {
        let StoreChoice::Memory(memory) = &policy.store else { return Ok(None) };
        let Some(snapshot) = &memory.snapshot else { return Ok(None) };
        let options = Limiter::memory_options(policy);
        Self::open(&snapshot.file, snapshot.every.as_duration(), options).map(Some)
    }

    /// Builds the memory store that a file holds, or an empty one where there is none, to be written there `every` so often.
    ///
    /// A file that cannot be used is renamed to end in `.damaged`, told of at error, and counted; the store is empty then.
    ///
    /// # Errors
    /// When the system gives no randomness for the secret of an empty store.
    pub fn open(file: &Path, every: Duration, options: MemoryOptions) -> Result<Self, StoreError> {
        let status = Status::default();
        let store = match load(file, options) {
            Ok(Some((store, restored))) => {
                tell(file, restored);
                status.restored.store(count(restored.kept), Ordering::Relaxed);
                store
            }
            Ok(None) => {
                tracing::info!(file = %file.display(), "there is no snapshot yet: every key starts afresh");
                MemoryStore::new(options)?
            }
            Err(error) => {
                status.unusable.store(true, Ordering::Relaxed);
                status.in_the_way.store(!set_aside(file, &error), Ordering::Relaxed);
                MemoryStore::new(options)?
            }
        };
        let (store, file, writing) = (Arc::new(store), file.to_owned(), Mutex::default());
        Ok(Self { kept: Arc::new(Kept { store, file, every, status, writing }) })
    }

    /// Returns the store.
    pub fn store(&self) -> Arc<MemoryStore> {
        Arc::clone(&self.kept.store)
    }

    /// Returns what became of snapshots.
    pub fn seen(&self) -> Seen {
        let status = &self.kept.status;
        let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
        Seen {
            last: *status.last.lock(),
            written: read(&status.written),
            failures: read(&status.failures),
            failing: status.failing.load(Ordering::Relaxed),
            unusable: status.unusable.load(Ordering::Relaxed),
            restored: read(&status.restored),
        }
    }

    /// Writes the file at once and then at intervals, and a last time when `stop` completes.
    pub async fn keep(&self, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop);
        loop {
            // At once: what keeps the file from being written is better told at the start than at the first crash.
            self.write().await;
            tokio::select! {
                () = tokio::time::sleep(self.kept.every) => {}
                () = &mut stop => break,
            }
        }
        self.write().await;
    }

    /// Writes the file; a failure is told once, until one succeeds.
    pub async fn write(&self) {
        let kept = Arc::clone(&self.kept);
        let written = tokio::task::spawn_blocking(move || kept.write()).await;
        self.kept.note(written.unwrap_or_else(|error| Err(io::Error::other(error))));
    }
}

impl Kept {
    fn write(&self) -> io::Result<Written> {
        let _alone = self.writing.lock();
        if self.status.in_the_way.load(Ordering::Relaxed) {
            let said = "what is there could not be read and not be moved: move it away and restart";
            return Err(io::Error::other(said));
        }
        let snapshot = self.store.snapshot();
        file::replace(&self.file, snapshot.as_bytes())?;
        Ok(Written {
            at: SystemTime::now(),
            bytes: count(snapshot.as_bytes().len()),
            keys: count(snapshot.keys()),
            longest_pause: snapshot.longest_pause(),
        })
    }

    fn note(&self, written: io::Result<Written>) {
        let (status, file) = (&self.status, self.file.display());
        match written {
            Ok(written) => {
                status.written.fetch_add(1, Ordering::Relaxed);
                *status.last.lock() = Some(written);
                let Written { bytes, keys, longest_pause, .. } = written;
                tracing::debug!(%file, bytes, keys, ?longest_pause, "the snapshot is written");
                if status.failing.swap(false, Ordering::Relaxed) {
                    tracing::info!(%file, "the snapshot can be written again");
                }
            }
            Err(error) => {
                status.failures.fetch_add(1, Ordering::Relaxed);
                if !status.failing.swap(true, Ordering::Relaxed) {
                    tracing::error!(
                        %file, %error,
                        "the snapshot cannot be written: after a crash keys would have what they had at the last one; \
                         give the process a folder it may write to, with room"
                    );
                }
            }
        }
    }
}

/// Reads the file and builds a store from it; `None` where there is no file.
fn load(path: &Path, options: MemoryOptions) -> Result<Option<(MemoryStore, Restored)>, Unusable> {
    let Some(mut opened) = file::open(path)? else { return Ok(None) };
    // What is no snapshot may be of any size, and is not read whole.
    let lead = opened.lead()?;
    match MemoryStore::restore(options, &lead, None) {
        Err(tidegate::SnapshotError::Length { expected, .. }) if expected == opened.length() => {}
        Err(tidegate::SnapshotError::Length { expected, .. }) => {
            let found = opened.length();
            return Err(tidegate::SnapshotError::Length { expected, found }.into());
        }
        Err(error) => return Err(error.into()),
        Ok(_) => {}
    }
    let bytes = opened.whole(lead)?;
    Ok(Some(MemoryStore::restore(options, &bytes, None)?))
}

fn tell(file: &Path, restored: Restored) {
    let Restored { taken_at, now, kept, joined, forgotten } = restored;
    let age = now.saturating_since(taken_at);
    let seconds_old = age.ceil_secs();
    tracing::info!(file = %file.display(), seconds_old, kept, joined, forgotten, "the snapshot is restored");
    if now < taken_at {
        let seconds_ahead = taken_at.saturating_since(now).ceil_secs();
        tracing::warn!(
            seconds_ahead,
            "the snapshot is of a later time than the clock's: counts stay, and what lies ahead is dated back to now; \
             start after the clock is set"
        );
    }
    if joined > 0 {
        tracing::warn!(
            joined,
            "there is less room than there was: keys without a place share one state, as strict as the strictest; \
             raise store.memory.max_keys or max_bytes"
        );
    }
}

/// Renames a file that cannot be used, and tells; `false` when it is still there.
fn set_aside(path: &Path, error: &Unusable) -> bool {
    let (file, aside) = (path.display(), file::beside(path, "damaged"));
    match std::fs::rename(path, &aside) {
        Ok(()) => {
            tracing::error!(
                %file, %error, kept_as = %aside.display(),
                "THE SNAPSHOT CANNOT BE USED: EVERY KEY STARTS WITH A FRESH QUOTA; it is kept aside"
            );
            true
        }
        Err(why) => {
            tracing::error!(
                %file, %error, %why,
                "THE SNAPSHOT CANNOT BE USED: EVERY KEY STARTS WITH A FRESH QUOTA; it cannot be moved aside, so no \
                 other is written: move it away and restart"
            );
            false
        }
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

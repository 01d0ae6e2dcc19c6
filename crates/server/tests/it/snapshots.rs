//! The memory store in a file: whole at every moment, its owner's alone, never in the way of serving.

use std::fs;
use std::future::pending;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tidegate::{Limit, Limiter, MemoryOptions, Quota, Rate, Span};
use tidegate_server::snapshot::Keeper;

use crate::support::soon;

const HOUR: Duration = Duration::from_hours(1);

/// A folder that is gone with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn open(file: &Path) -> (Keeper, Limiter) {
    let keeper = Keeper::open(file, HOUR, MemoryOptions::default()).unwrap();
    let quota = Quota::token_bucket(2, Rate::new(1, Span::from_secs(86_400)).unwrap()).unwrap();
    let limiter = Limiter::new(keeper.store(), [Limit::new("sends", quota)]).unwrap();
    (keeper, limiter)
}

async fn admitted(limiter: &Limiter) -> usize {
    let mut admitted = 0;
    for _ in 0..4 {
        admitted += usize::from(limiter.check_key("sends", "ada").await.unwrap().is_allowed());
    }
    admitted
}

fn mode(file: &Path) -> u32 {
    fs::metadata(file).unwrap().permissions().mode() & 0o777
}

/// What was used up before the process ended is used up afterwards, and the file is nobody else's.
#[tokio::test]
async fn a_limit_that_was_used_up_is_so_after_a_restart() {
    let folder = Folder::new("used-up");
    let file = folder.file("limits.snapshot");
    let (keeper, limiter) = open(&file);
    assert_eq!(admitted(&limiter).await, 2);
    keeper.write().await;
    assert_eq!(mode(&file), 0o600);
    let seen = keeper.seen();
    let last = seen.last.unwrap();
    assert_eq!((last.keys, seen.written, seen.failures, seen.restored), (1, 1, 0, 0));
    assert_eq!(last.bytes, fs::metadata(&file).unwrap().len());

    let (again, limiter) = open(&file);
    assert_eq!(admitted(&limiter).await, 0);
    assert_eq!((again.seen().restored, again.seen().unusable), (1, false));
}

/// Once at the start, so that what is wrong is known then, and once at the end, with what came meanwhile.
#[tokio::test]
async fn it_is_written_at_the_start_and_when_told_to_stop() {
    let folder = Folder::new("stop");
    let file = folder.file("limits.snapshot");
    let (keeper, limiter) = open(&file);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let task = {
        let keeper = keeper.clone();
        tokio::spawn(async move {
            keeper
                .keep(async {
                    let _ = stopped.await;
                })
                .await;
        })
    };
    soon(async {
        while keeper.seen().written == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(admitted(&limiter).await, 2);
    stop.send(()).unwrap();
    soon(task).await.unwrap();
    assert_eq!(admitted(&open(&file).1).await, 0);
}

#[tokio::test]
async fn it_is_written_again_and_again() {
    let folder = Folder::new("again");
    let file = folder.file("limits.snapshot");
    let keeper = Keeper::open(&file, Duration::from_millis(1), MemoryOptions::default()).unwrap();
    let writing = {
        let keeper = keeper.clone();
        tokio::spawn(async move { keeper.keep(pending()).await })
    };
    soon(async {
        while keeper.seen().written < 5 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    writing.abort();
}

/// A damaged file is a fresh start that is told, not an outage; and nothing of it is lost.
#[tokio::test]
async fn a_file_that_cannot_be_used_is_kept_aside_and_the_process_starts() {
    let folder = Folder::new("damaged");
    let file = folder.file("limits.snapshot");
    let (keeper, limiter) = open(&file);
    assert_eq!(admitted(&limiter).await, 2);
    keeper.write().await;
    let whole = fs::read(&file).unwrap();
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    let longer = [&whole[..], b"."].concat();
    let foreign = b"tidegate: 1\n".repeat(100);
    for content in [&damaged[..], &longer, &whole[..40], &whole[..middle], b"", b"x", &foreign] {
        fs::write(&file, content).unwrap();
        let (keeper, limiter) = open(&file);
        assert!(keeper.seen().unusable);
        assert_eq!(admitted(&limiter).await, 2);
        assert_eq!(fs::read(folder.file("limits.snapshot.damaged")).unwrap(), content);
        keeper.write().await;
        assert!(!keeper.seen().failing);
        assert_eq!(admitted(&open(&file).1).await, 0);
    }
}

/// What could neither be read nor moved must not be written over: it may be all there is of everybody's counts.
#[tokio::test]
async fn what_cannot_be_moved_aside_is_not_written_over() {
    let folder = Folder::new("stuck");
    let file = folder.file("limits.snapshot");
    fs::write(&file, "precious").unwrap();
    fs::create_dir_all(folder.file("limits.snapshot.damaged").join("full")).unwrap();
    let (keeper, limiter) = open(&file);
    keeper.write().await;
    assert_eq!(fs::read(&file).unwrap(), b"precious");
    let seen = keeper.seen();
    assert!(seen.failing && seen.unusable && seen.written == 0);
    assert_eq!(admitted(&limiter).await, 2, "it serves all the same");
}

/// A temporary file of somebody else's making must not lead the secret elsewhere, nor show it to others.
#[tokio::test]
async fn a_leftover_beside_it_is_replaced_and_a_link_not_followed() {
    let folder = Folder::new("leftover");
    let (file, new, other) =
        (folder.file("limits.snapshot"), folder.file("limits.snapshot.new"), folder.file("other"));
    let (keeper, _limiter) = open(&file);
    fs::write(&new, "half of").unwrap();
    fs::set_permissions(&new, fs::Permissions::from_mode(0o666)).unwrap();
    keeper.write().await;
    assert_eq!((mode(&file), keeper.seen().written), (0o600, 1));
    fs::write(&other, "untouched").unwrap();
    symlink(&other, &new).unwrap();
    keeper.write().await;
    assert_eq!((fs::read(&other).unwrap().as_slice(), keeper.seen().written), (&b"untouched"[..], 2));
    assert!(!new.exists() && mode(&file) == 0o600);
}

/// A disk that fails is no reason to fail requests, nor to lose the last good file.
#[tokio::test]
async fn a_folder_that_cannot_be_written_to_is_counted_and_comes_back() {
    let folder = Folder::new("unwritable");
    let place = folder.file("place");
    let file = place.join("limits.snapshot");
    let (keeper, limiter) = open(&file);
    for failures in 1..4 {
        keeper.write().await;
        assert!(keeper.seen().failing);
        assert_eq!((keeper.seen().failures, keeper.seen().written), (failures, 0));
    }
    assert_eq!(admitted(&limiter).await, 2);
    fs::create_dir(&place).unwrap();
    keeper.write().await;
    assert!(!keeper.seen().failing);
    // What stands in the way of the new one leaves the old one whole.
    fs::create_dir(place.join("limits.snapshot.new")).unwrap();
    keeper.write().await;
    assert!(keeper.seen().failing);
    assert_eq!(admitted(&open(&file).1).await, 0);
}

/// Whoever reads the file while it is written, at any moment, as after a crash, reads a whole one.
#[test]
fn the_file_is_whole_at_every_moment() {
    let folder = Folder::new("whole");
    let file = folder.file("limits.snapshot");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let (keeper, limiter) = open(&file);
    runtime.block_on(async {
        for key in 0..20_000_u32 {
            assert!(limiter.check_key("sends", key.to_be_bytes()).await.unwrap().is_allowed());
        }
        keeper.write().await;
    });
    let (writer, done) = (keeper.clone(), Arc::new(std::sync::atomic::AtomicBool::new(false)));
    let stop = Arc::clone(&done);
    let writing = runtime.spawn(async move {
        while !stop.load(std::sync::atomic::Ordering::Relaxed) {
            writer.write().await;
        }
    });
    let mut read = 0;
    while keeper.seen().written < 30 || read < 30 {
        let bytes = fs::read(&file).unwrap();
        let (store, _) = tidegate::MemoryStore::restore(MemoryOptions::default(), &bytes, None).unwrap();
        assert_eq!(store.usage().keys, 20_000);
        read += 1;
    }
    done.store(true, std::sync::atomic::Ordering::Relaxed);
    runtime.block_on(writing).unwrap();
}

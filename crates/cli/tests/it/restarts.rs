//! `tidegate serve` with a snapshot: what was used up stays used up, however the process ended.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tidegate::{Anchor, Limit, Limiter, MemoryOptions, MemoryStore, Quota, Span};
use tokio::runtime::Runtime;

use crate::http::get;
use crate::process::{Folder, Running, tidegate};
use crate::upstream::Upstream;

/// Far longer than anything here takes; only a hang reaches it.
const HANG: Duration = Duration::from_secs(30);

/// A policy whose one limit is used up for a day by two requests.
fn policy(upstream: &Upstream, folder: &Folder) -> PathBuf {
    let snapshot = snapshot(folder);
    let text = format!(
        "tidegate: 1
gateway: {{ listen: 127.0.0.1:0, upstream: \"http://{}\" }}
admin: {{ listen: 127.0.0.1:0 }}
store: {{ memory: {{ snapshot: {{ file: {}, every: 1s }} }} }}
rules:
  - name: everything
    match: {{ path: /** }}
    limits:
      - name: per-client
        says: Two in any day, per client.
        key: client_ip
        sliding_log: {{ limit: 2, window: 24h }}
",
        upstream.address,
        snapshot.display()
    );
    folder.file("policy.yaml", text)
}

fn snapshot(folder: &Folder) -> PathBuf {
    folder.path("limits.snapshot")
}

fn start(file: &Path) -> Running {
    let mut command = tidegate(["serve", "--log", "json", "--log-level", "debug"]);
    command.arg(file);
    Running::start(command)
}

/// Uses the limit up.
fn use_up(gateway: std::net::SocketAddr, upstream: &Upstream) {
    for _ in 0..2 {
        upstream.release();
        assert_eq!(get(gateway, "/").status, 200);
    }
    assert_eq!(get(gateway, "/").status, 429);
}

/// Waits until something is so.
fn until(mut so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !so() {
        assert!(began.elapsed() < HANG, "should have happened by now");
        tidegate_redis_kit::moment();
    }
}

/// Waits until a snapshot that was begun from now on is written: the second from now.
fn written(file: &Path) {
    for _ in 0..2 {
        let which = || fs::metadata(file).map(|it| (it.ino(), it.mtime_nsec())).ok();
        let before = which();
        until(|| which() != before);
    }
}

/// A deploy is a clean stop: nothing of what was charged may be lost.
#[test]
fn a_used_up_limit_is_used_up_after_a_clean_restart() {
    let (folder, upstream) = (Folder::new("clean-restart"), Upstream::start());
    let file = policy(&upstream, &folder);
    let mut served = start(&file);
    served.log("there is no snapshot yet");
    use_up(served.address("gateway"), &upstream);
    for _ in 0..2 {
        served.signal(Signal::TERM);
        assert_eq!(served.end().code(), Some(0), "{:#?}", served.logged);
        served = start(&file);
        served.log("the snapshot is restored");
        assert_eq!(get(served.address("gateway"), "/").status, 429);
    }
}

/// So many keys that a write takes a while.
fn many_keys(file: &Path) {
    let store = Arc::new(MemoryStore::new(MemoryOptions::default()).unwrap());
    let quota = Quota::fixed_window(9, Span::from_secs(400 * 86_400), Anchor::FirstHit).unwrap();
    let limiter = Limiter::new(store.clone(), [Limit::new("everything/per-client", quota)]).unwrap();
    Runtime::new().unwrap().block_on(async {
        for key in 0..60_000_u32 {
            let verdict = limiter.check_key("everything/per-client", key.to_be_bytes()).await.unwrap();
            assert!(verdict.is_allowed());
        }
    });
    fs::write(file, store.snapshot().as_bytes()).unwrap();
}

/// A crash at any moment leaves a whole file, and so does one in the middle of a write: never a fresh quota once one was
/// written.
#[test]
fn a_used_up_limit_is_used_up_however_often_the_process_is_killed() {
    let (folder, upstream) = (Folder::new("killed"), Upstream::start());
    let (file, half) = (policy(&upstream, &folder), folder.path("limits.snapshot.new"));
    many_keys(&snapshot(&folder));
    let mut served = start(&file);
    use_up(served.address("gateway"), &upstream);
    written(&snapshot(&folder));
    let (mut rounds, mut cut_off) = (0, 0);
    // Until some were killed in the middle of a write.
    while cut_off < 3 {
        served.signal(Signal::KILL);
        served.end();
        cut_off += u32::from(half.exists());
        served = start(&file);
        let restored = served.log("the snapshot is restored");
        assert!(restored.contains("\"kept\":60001"), "{restored}");
        assert_eq!(get(served.address("gateway"), "/").status, 429, "round {rounds}");
        // Each process begins with a write.
        let began = Instant::now();
        while !half.exists() && began.elapsed() < Duration::from_secs(2) {
            std::hint::spin_loop();
        }
        rounds += 1;
        assert!(rounds < 60, "a kill in the middle of a write should have come by now");
    }
}

/// The file holds the secret of the keys: no umask may show it to others.
#[test]
fn the_snapshot_is_its_owners_alone_whatever_the_umask() {
    let (folder, upstream) = (Folder::new("umask"), Upstream::start());
    let file = policy(&upstream, &folder);
    let mut command = Command::new("sh");
    command.args(["-c", "umask 000; exec \"$0\" serve --log json \"$1\""]);
    command.arg(env!("CARGO_BIN_EXE_tidegate")).arg(&file).env_remove("RUST_LOG").env_remove("NOTIFY_SOCKET");
    let _served = Running::start(command);
    until(|| snapshot(&folder).exists());
    assert_eq!(fs::metadata(snapshot(&folder)).unwrap().permissions().mode() & 0o777, 0o600);
}

/// A damaged file must neither keep the gateway down nor go unnoticed.
#[test]
fn a_damaged_snapshot_is_kept_aside_and_told() {
    let (folder, upstream) = (Folder::new("damaged-file"), Upstream::start());
    let file = policy(&upstream, &folder);
    fs::write(snapshot(&folder), "tidegate, but not what it was").unwrap();
    let mut served = start(&file);
    let line = served.log("THE SNAPSHOT CANNOT BE USED");
    assert!(line.contains("\"ERROR\"") && line.contains(".damaged") && line.contains("format"), "{line}");
    let (gateway, admin) = (served.address("gateway"), served.address("operator's endpoint"));
    assert_eq!(fs::read(folder.path("limits.snapshot.damaged")).unwrap().len(), 29);
    use_up(gateway, &upstream);
    until(|| get(admin, "/metrics").body.contains("tidegate_snapshots_total{result=\"written\"} 2"));
    let metrics = get(admin, "/metrics").body;
    assert!(metrics.contains("tidegate_snapshot_unusable 1"), "{metrics}");
    let bytes = fs::metadata(snapshot(&folder)).unwrap().len();
    assert!(metrics.contains(&format!("tidegate_snapshot_bytes {bytes}")), "{metrics}");
}

//! Envoy.
//!
//! It is started on a bootstrap of the test's, in YAML, whose own ports are 0: it takes free ones, and tells its admin
//! endpoint's in a file, the others there.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The longest that anything of a proxy is waited for.
const SOON: Duration = Duration::from_mins(1);

/// Where the program lies in an environment of Python.
const PROGRAM: &str = "site-packages/envoy/_bin/envoy";

/// A running Envoy, ended with its handle.
#[derive(Debug)]
pub struct Envoy {
    process: Child,
    folder: PathBuf,
    admin: SocketAddr,
}

/// Asks again and again until there is an answer, and panics when that takes a minute.
pub fn soon<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(began.elapsed() < SOON, "{what} takes longer than a minute");
        crate::moment();
    }
}

impl Envoy {
    /// Starts Envoy, and returns once it serves. Its bootstrap has an `admin` endpoint on port 0 of 127.0.0.1, and listeners
    /// on such ports.
    pub fn start(bootstrap: &str) -> Self {
        let folder = temporary();
        std::fs::create_dir_all(&folder).unwrap();
        let (config, admin_file) = (folder.join("bootstrap.yaml"), folder.join("admin"));
        std::fs::write(&config, bootstrap).unwrap();
        let log = File::create(folder.join("log")).unwrap();
        let mut process = Command::new(program())
            .arg("--config-path")
            .arg(&config)
            .arg("--admin-address-path")
            .arg(&admin_file)
            // Without it two of them would meet in shared memory.
            .arg("--disable-hot-restart")
            .args(["--concurrency", "1", "--log-level", "warning"])
            .current_dir(&folder)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let said = |process: &mut Child| {
            let ended = process.try_wait().unwrap();
            let log = || std::fs::read_to_string(folder.join("log")).unwrap_or_default();
            assert!(ended.is_none(), "Envoy has ended: {}", log());
        };
        let admin = soon("the address of Envoy's admin endpoint", || {
            said(&mut process);
            std::fs::read_to_string(&admin_file).ok()?.trim().parse().ok()
        });
        let mut envoy = Self { process, folder: folder.clone(), admin };
        soon("an Envoy that serves", || {
            said(&mut envoy.process);
            let (status, body) = envoy.try_ask("/ready")?;
            (status == 200 && body.trim() == "LIVE").then_some(())
        });
        envoy
    }

    /// Returns where a listener listens, by its name in the bootstrap.
    pub fn listener(&self, name: &str) -> SocketAddr {
        let listeners = self.ask("/listeners");
        let line = listeners.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix("::"));
        line.unwrap_or_else(|| panic!("no listener {name}: {listeners}")).trim().parse().unwrap()
    }

    /// Returns a counter or a gauge, 0 for one that has counted nothing yet.
    pub fn stat(&self, name: &str) -> u64 {
        let stats = self.ask("/stats");
        let value = stats.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        value.map_or(0, |value| value.trim().parse().unwrap())
    }

    /// Asks the admin endpoint, and returns the body of its answer.
    pub fn ask(&self, path: &str) -> String {
        soon("an answer of Envoy's admin endpoint", || self.try_ask(path)).1
    }

    /// Returns what it has logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    fn try_ask(&self, path: &str) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect(self.admin).ok()?;
        stream.set_read_timeout(Some(SOON)).ok()?;
        // Envoy answers no HTTP/1.0, and HTTP/1.1 in chunks.
        let request = format!("GET {path} HTTP/1.1\r\nHost: admin\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
        Some((status, if chunked { whole(body)? } else { body.to_owned() }))
    }
}

/// Puts the chunks of a body together; `None` when it broke off.
fn whole(mut chunks: &str) -> Option<String> {
    let mut body = String::new();
    loop {
        let (length, rest) = chunks.split_once("\r\n")?;
        let length = usize::from_str_radix(length.trim(), 16).ok()?;
        if length == 0 {
            return Some(body);
        }
        body.push_str(rest.get(..length)?);
        chunks = rest.get(length..)?.strip_prefix("\r\n")?;
    }
}

impl Drop for Envoy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Returns the program, which `./test` installs.
fn program() -> PathBuf {
    let venv = PathBuf::from(std::env::var_os("TIDEGATE_VENV").expect("TIDEGATE_VENV, which cargo sets"));
    let library = venv.join("lib");
    let pythons =
        std::fs::read_dir(&library).unwrap_or_else(|error| panic!("{}: {error}", library.display()));
    let found =
        pythons.filter_map(|python| Some(python.ok()?.path().join(PROGRAM))).find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("no Envoy in {}: ./test installs it", library.display()))
}

/// Returns the path of a folder that no other test has.
fn temporary() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("tidegate-envoy-{}-{number}", std::process::id()))
}

//! A proxy's process: started on a free port, ready when that answers, ended with its handle.

use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::listeners;

/// The longest that a proxy is waited for.
const SOON: Duration = Duration::from_mins(1);
/// How long it may take to end when it is asked to.
const PATIENCE: Duration = Duration::from_secs(10);
/// Ports that are tried: another process may take one between the choice and the bind.
const TRIES: usize = 5;

/// Where a proxy is to listen and what it may write.
#[derive(Debug)]
pub struct Place {
    folder: PathBuf,
    port: u16,
}

impl Place {
    fn new(name: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("tidegate-{name}-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self { folder, port: free_port() }
    }

    /// Returns the port to listen on, of 127.0.0.1 or of any address of the machine.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the folder in which the proxy runs.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes a file into that folder; folders on its way are made.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }
}

/// A running proxy.
#[derive(Debug)]
pub struct Running {
    place: Place,
    process: Child,
}

impl Running {
    /// Starts a program on a free port, and returns once that answers.
    pub(super) fn start(name: &str, command: impl Fn(&Place) -> Command) -> Self {
        let mut said = String::new();
        for _ in 0..TRIES {
            let place = Place::new(name);
            let mut command = command(&place);
            let log = File::create(place.folder.join("log")).unwrap();
            command
                .current_dir(&place.folder)
                .stdin(Stdio::null())
                .stdout(log.try_clone().unwrap())
                .stderr(log);
            let process = command.spawn().unwrap_or_else(|error| panic!("{name} does not start: {error}"));
            let mut running = Self { place, process };
            if running.is_ready() {
                return running;
            }
            said = running.log();
            let taken =
                ["address already in use", "cannot bind"].iter().any(|it| said.to_lowercase().contains(it));
            assert!(taken, "{name} does not start; it says:\n{said}");
        }
        panic!("{name} gets none of {TRIES} ports; it says:\n{said}");
    }

    /// Returns where it listens, on 127.0.0.1.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.place.port))
    }

    /// Returns where it runs.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Returns what it has said so far.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.place.folder.join("log")).unwrap_or_default()).into_owned()
    }

    /// Waits until the program itself listens on the port; false when it ends instead. Whoever else took the port meanwhile would
    /// answer as well, and a program that cannot have it ends.
    fn is_ready(&mut self) -> bool {
        let began = Instant::now();
        loop {
            if self.process.try_wait().is_ok_and(|ended| ended.is_some()) {
                return false;
            }
            if TcpStream::connect(self.address()).is_ok()
                && listeners::holds(self.process.id(), self.place.port)
            {
                return true;
            }
            assert!(began.elapsed() < SOON, "nothing listens after a minute; it says:\n{}", self.log());
            crate::moment();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Asked, it ends what it has started itself (nginx's workers); killed, it would leave them behind.
        if let Some(process) = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(process, Signal::TERM);
        }
        let began = Instant::now();
        while matches!(self.process.try_wait(), Ok(None)) && began.elapsed() < PATIENCE {
            crate::moment();
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
        if std::thread::panicking() {
            show(&self.log());
        }
        let _ = fs::remove_dir_all(&self.place.folder);
    }
}

/// Shows what a proxy said beside what a test that fails says.
#[expect(clippy::print_stderr, reason = "a test that fails is read there")]
fn show(log: &str) {
    eprintln!("the proxy said:\n{log}");
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

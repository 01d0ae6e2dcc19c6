//! The command as a process of a test: started, read from, signalled, and ended with the test.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Lines, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};

/// The command, with nothing of the surroundings that would change it, in the folder of the policies.
pub(crate) fn tidegate<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    command
        .args(args)
        .env_remove("RUST_LOG")
        .env_remove("TIDEGATE_ADMIN")
        .env_remove("NOTIFY_SOCKET")
        .stdin(Stdio::null());
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/policies"));
    command
}

/// Runs the command to its end.
pub(crate) fn run<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Output {
    tidegate(args).output().unwrap()
}

/// Runs the command to its end with a text on its standard input.
pub(crate) fn run_with_input<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>, input: &[u8]) -> Output {
    let mut command = tidegate(args);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// The command while it runs; killed when dropped.
pub(crate) struct Running {
    child: Child,
    out: Lines<BufReader<ChildStdout>>,
    /// Gone once the test has turned away from it.
    err: Option<Lines<BufReader<ChildStderr>>>,
    /// What was read of standard error.
    pub(crate) logged: Vec<String>,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap()).lines();
        let err = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { child, out, err: Some(err), logged: Vec::new() }
    }

    /// Reads standard output up to a line that contains a text, and returns all that was read.
    pub(crate) fn printed(&mut self, needle: &str) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            let Some(line) = self.out.next() else { panic!("no {needle:?} in {lines:#?}") };
            lines.push(line.unwrap());
            if lines.last().unwrap().contains(needle) {
                return lines;
            }
        }
    }

    /// Reads standard error up to a line that contains a text, and returns that line.
    pub(crate) fn log(&mut self, needle: &str) -> String {
        loop {
            let Some(line) = self.err.as_mut().unwrap().next() else {
                panic!("no {needle:?} in {:#?}", self.logged)
            };
            self.logged.push(line.unwrap());
            if self.logged.last().unwrap().contains(needle) {
                return self.logged.last().unwrap().clone();
            }
        }
    }

    /// Reads JSON logs up to a face's and returns the address it listens on.
    pub(crate) fn address(&mut self, face: &str) -> SocketAddr {
        let line: serde_json::Value = serde_json::from_str(&self.log(&format!("{face} listens"))).unwrap();
        line["address"].as_str().unwrap().parse().unwrap()
    }

    /// Closes the reading end of standard error, as a log collector that dies does.
    pub(crate) fn close_logs(&mut self) {
        self.err = None;
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Waits for the end, having read all logs.
    pub(crate) fn end(&mut self) -> ExitStatus {
        self.logged.extend(self.err.take().into_iter().flatten().map(Result::unwrap));
        self.child.wait().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder that is gone with the test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(test: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

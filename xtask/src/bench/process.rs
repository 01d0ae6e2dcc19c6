//! Servers that are measured: each a process on one processor, on a free port of the loopback interface, ended with its handle.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{CpuSet, sched_getaffinity};

use super::computed::told::ticks;
use super::tools::Tool;

/// The processor of what is measured, by its number among those that this program may use.
pub(super) const MEASURED: usize = 0;
/// The processor of those who ask, and of what stands behind what is measured.
pub(super) const ASKING: usize = 1;

/// How long a server may take to start, and to end when it is asked to.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running server.
#[derive(Debug)]
pub(super) struct Process {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts a program on that processor, and waits until somebody listens on `port`. Should this program be killed, the other
    /// ends as well.
    ///
    /// # Errors
    /// When it cannot be started, ends by itself or does not listen in time, with what it said.
    pub(super) fn start(name: &'static str, cpu: usize, command: &Starts, port: u16) -> Result<Self> {
        let folder = folder()?;
        let log = folder.join(format!("{name}-{port}.log"));
        let said = fs::File::create(&log)?;
        let mut pinned = on(cpu, &Tool::Setpriv.path()?)?;
        pinned
            .args(["--pdeathsig", "TERM"])
            .arg(&command.program)
            .args(&command.arguments)
            .envs(command.libraries.iter().cloned());
        pinned.stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said);
        let child = pinned.spawn().with_context(|| format!("starting {name}"))?;
        let mut process = Self { name, child, log };
        let began = Instant::now();
        while TcpStream::connect(loopback(port)).is_err() {
            if let Some(status) = process.child.try_wait()? {
                bail!("{name} ended with {status}: {}", process.said());
            }
            if began.elapsed() > PATIENCE {
                bail!("{name} does not listen on port {port} within {PATIENCE:?}: {}", process.said());
            }
            pause();
        }
        Ok(process)
    }

    /// Returns the processor time that it and its children have taken so far, in microseconds.
    ///
    /// # Errors
    /// When it has ended.
    pub(super) fn cpu_micros(&self) -> Result<f64> {
        let own = self.child.id();
        let ticks = of_process(own).with_context(|| format!("{} has ended: {}", self.name, self.said()))?;
        let children: u64 = children(own).into_iter().filter_map(|child| of_process(child).ok()).sum();
        #[allow(clippy::cast_precision_loss, reason = "ticks of minutes")]
        Ok((ticks + children) as f64 * 1e6 / rustix::param::clock_ticks_per_second() as f64)
    }

    /// Returns the end of what it printed.
    fn said(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(5)..].join(" / ")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Asked first: nginx ends its workers when it is asked, and leaves them when it is killed.
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let began = Instant::now();
        while began.elapsed() < PATIENCE && matches!(self.child.try_wait(), Ok(None)) {
            pause();
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What is started.
#[derive(Debug)]
pub(super) struct Starts {
    program: PathBuf,
    arguments: Vec<String>,
    libraries: Option<(&'static str, String)>,
}

impl Starts {
    /// A program and its arguments.
    ///
    /// # Errors
    /// When the program is not there.
    pub(super) fn new(tool: Tool, arguments: &[&str]) -> Result<Self> {
        let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        Ok(Self { program: tool.path()?, arguments, libraries: tool.libraries() })
    }
}

/// Returns the command that starts a program on that processor.
///
/// # Errors
/// When `taskset` is not there, or the system does not tell the processors.
pub(super) fn on(cpu: usize, program: &Path) -> Result<Command> {
    let mut command = Command::new(Tool::Taskset.path()?);
    command.args(["--cpu-list", &processor(cpu)?.to_string()]).arg(program);
    Ok(command)
}

/// Returns what the system calls the processor of that number among those that this thread may use; where there are fewer, they
/// are counted anew.
///
/// # Errors
/// When the system does not tell.
pub(super) fn processor(number: usize) -> Result<usize> {
    let mine = sched_getaffinity(None)?;
    let all: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| mine.is_set(cpu)).collect();
    all.get(number % all.len().max(1)).copied().context("this program may use no processor")
}

/// Returns the folder for the files of servers.
///
/// # Errors
/// When it cannot be made.
pub(super) fn folder() -> Result<PathBuf> {
    let folder = Path::new("target/bench/servers");
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    Ok(fs::canonicalize(folder)?)
}

/// Writes a file for a server, and returns where it is.
///
/// # Errors
/// When it cannot be written.
pub(super) fn file(name: &str, text: &str) -> Result<String> {
    let path = folder()?.join(name);
    fs::write(&path, text).with_context(|| path.display().to_string())?;
    Ok(path.display().to_string())
}

/// Returns a port of the loopback interface that nobody has.
///
/// # Errors
/// When there is none.
pub(super) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind(loopback(0))?.local_addr()?.port())
}

pub(super) fn loopback(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// Waits a moment before another process is looked at once more: it tells of nothing by itself.
fn pause() {
    std::thread::sleep(Duration::from_millis(10));
}

/// Returns a process's ticks of user and system time, those of threads that have ended included.
fn of_process(pid: u32) -> Result<u64> {
    let told = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    ticks(&told).context("a process's times are not told")
}

fn children(pid: u32) -> Vec<u32> {
    let told = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    told.split_whitespace().filter_map(|child| child.parse().ok()).collect()
}

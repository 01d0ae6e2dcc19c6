//! One server.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use redis::{Client, Connection, ConnectionLike as _, Value};
use rustix::process::{Pid, Signal, kill_process};

/// The longest that anything of a server is waited for.
const SOON: Duration = Duration::from_mins(1);

/// A running server.
#[derive(Debug)]
pub struct Server {
    program: String,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    port: u16,
    folder: PathBuf,
    process: Child,
}

/// Asks again and again until there is an answer, and panics when that takes a minute.
pub fn soon<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(began.elapsed() < SOON, "{what} takes longer than a minute");
        moment();
    }
}

/// Pauses before another process is asked once more: it tells of nothing by itself.
pub fn moment() {
    std::thread::sleep(Duration::from_millis(10));
}

impl Server {
    /// Starts Debian's Redis with some arguments besides.
    pub fn start(arguments: &[&str]) -> Self {
        Self::start_program("redis-server", arguments, &[])
    }

    /// Starts a server of any program that takes Redis's arguments, with variables of its environment.
    pub fn start_program(program: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let folder = temporary("server");
        std::fs::create_dir_all(&folder).unwrap();
        let arguments: Vec<String> = arguments.iter().map(|it| (*it).to_owned()).collect();
        let environment: Vec<_> =
            environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        soon("a server on a free port", || {
            let port = free_port();
            let process = spawn(program, port, &folder, &arguments, &environment);
            let mut server = Self {
                program: program.to_owned(),
                arguments: arguments.clone(),
                environment: environment.clone(),
                port,
                folder: folder.clone(),
                process,
            };
            server.is_ready().then_some(server)
        })
    }

    /// Starts a sentinel on a configuration of its own, which it goes on writing.
    pub(crate) fn start_sentinel(configuration: &std::path::Path) -> Self {
        let path = configuration.to_string_lossy().into_owned();
        Self::start_program("redis-sentinel", &[&path], &[])
    }

    /// Returns the port, on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the folder in which the server runs.
    pub fn folder(&self) -> &PathBuf {
        &self.folder
    }

    /// Opens a connection of the default user.
    pub fn connection(&self) -> Connection {
        soon("a connection", || self.try_connection())
    }

    fn try_connection(&self) -> Option<Connection> {
        let client = Client::open(format!("redis://127.0.0.1:{}", self.port)).ok()?;
        client.get_connection_with_timeout(Duration::from_secs(5)).ok()
    }

    /// Sends a command, its words split at spaces, and returns the answer.
    pub fn ask(&self, words: &str) -> Value {
        self.try_ask(words).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Sends a command to a server that may cut its connections just now, as one that changes its role does.
    ///
    /// # Errors
    /// The server's, or that of a connection that was cut.
    pub fn try_ask(&self, words: &str) -> redis::RedisResult<Value> {
        let mut words = words.split(' ');
        let mut cmd = redis::cmd(words.next().unwrap_or_default());
        words.for_each(|word| {
            cmd.arg(word);
        });
        self.connection().req_command(&cmd)
    }

    /// Returns a number of `INFO`; none where the server has no such line, or cut the connection.
    pub fn info(&self, name: &str) -> Option<u64> {
        let info: redis::RedisResult<String> =
            redis::cmd("INFO").arg("everything").query(&mut self.connection());
        let info = info.ok()?;
        let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().parse().ok()
    }

    /// Ends the server as a machine does that loses its power.
    pub fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Stops the server without ending it: its sockets stay, and nobody answers.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets a server go on that was stopped.
    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    /// Starts the server anew on the same port, after it was killed; it begins empty.
    pub fn restart(&mut self) {
        self.kill();
        soon("a restart", || {
            self.process = spawn(&self.program, self.port, &self.folder, &self.arguments, &self.environment);
            self.is_ready().then_some(())
        });
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.expect("a process has a number"), signal).expect("it is our own");
    }

    /// Waits until the server speaks; false when it ends instead, as when somebody else took the port.
    fn is_ready(&mut self) -> bool {
        let began = Instant::now();
        loop {
            if began.elapsed() > SOON || self.process.try_wait().is_ok_and(|ended| ended.is_some()) {
                return false;
            }
            // One that asks for a password, or speaks TLS alone, is there as well.
            if std::net::TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return true;
            }
            moment();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Returns the path of a file or folder that no other test has.
pub(crate) fn temporary(what: &str) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("tidegate-redis-{}-{what}-{number}", std::process::id()))
}

pub(crate) fn free_port() -> u16 {
    // A cluster's bus listens 10,000 above its port.
    loop {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        if port < 55_000 && TcpListener::bind(("127.0.0.1", port + 10_000)).is_ok() {
            return port;
        }
        let low = 20_000 + port % 10_000;
        if TcpListener::bind(("127.0.0.1", low)).is_ok()
            && TcpListener::bind(("127.0.0.1", low + 10_000)).is_ok()
        {
            return low;
        }
    }
}

fn spawn(
    program: &str,
    port: u16,
    folder: &PathBuf,
    arguments: &[String],
    environment: &[(String, String)],
) -> Child {
    let mut command = Command::new(program);
    if program == "redis-sentinel" {
        // Its configuration comes first, and it saves nothing else.
        command
            .args(arguments)
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
            .arg("--dir")
            .arg(folder);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        return command.spawn().expect("redis-sentinel has to be installed: run ./test, which does that");
    }
    // TLS has the port for itself when it is spoken.
    let is_tls = arguments.iter().any(|argument| argument.starts_with("--tls-cert-file"));
    let listening = if is_tls { ["--port", "0", "--tls-port"].as_slice() } else { ["--port"].as_slice() };
    command
        .args(listening)
        .arg(port.to_string())
        .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--daemonize", "no"])
        .arg("--dir")
        .arg(folder)
        .args(arguments)
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().unwrap_or_else(|error| {
        panic!("{program} has to be installed ({error}): run ./test, which does that")
    })
}

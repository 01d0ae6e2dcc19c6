//! The server that is measured: a real one of its own, on a free port, ended with this.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use redis::{Client, Connection};

/// How long a server may take to start.
const PATIENCE: Duration = Duration::from_secs(10);

/// A running server.
pub(in super::super) struct Server {
    process: Child,
    port: u16,
}

impl Server {
    /// Starts `redis-server` and waits until it answers.
    pub(super) fn start() -> Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut command = Command::new("redis-server");
        command.args(["--port", &port.to_string(), "--bind", "127.0.0.1"]);
        command.args(["--save", "", "--appendonly", "no", "--daemonize", "no", "--dir"]);
        command.arg(std::env::temp_dir());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().context("starting redis-server; ./test installs it")?;
        let mut server = Self { process, port };
        let began = Instant::now();
        while server.connection().is_err() {
            if let Some(status) = server.process.try_wait()? {
                bail!("redis-server ended with {status}: run it by hand to see why");
            }
            if began.elapsed() > PATIENCE {
                bail!("redis-server does not answer on port {port} within {PATIENCE:?}");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(server)
    }

    /// Returns its port, on 127.0.0.1.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Opens a connection.
    pub(super) fn connection(&self) -> Result<Connection> {
        Ok(Client::open(("127.0.0.1", self.port))?.get_connection()?)
    }

    pub(super) fn version(&self) -> Result<String> {
        self.info("server", "redis_version")
    }

    /// Returns the CPU time that the server has used so far, in microseconds.
    pub(in super::super) fn cpu_micros(&self) -> Result<f64> {
        let seconds = |name| -> Result<f64> { Ok(self.info("cpu", name)?.parse()?) };
        Ok((seconds("used_cpu_user")? + seconds("used_cpu_sys")?) * 1e6)
    }

    /// Returns how many bytes the server has allocated.
    pub(super) fn used_memory(&self) -> Result<u64> {
        Ok(self.info("memory", "used_memory")?.parse()?)
    }

    /// Forgets all keys; scripts stay.
    pub(super) fn flush(&self) -> Result<()> {
        Ok(redis::cmd("FLUSHALL").arg("SYNC").query(&mut self.connection()?)?)
    }

    /// Returns how many keys there are.
    pub(super) fn keys(&self) -> Result<usize> {
        Ok(redis::cmd("DBSIZE").query(&mut self.connection()?)?)
    }

    fn info(&self, section: &str, name: &str) -> Result<String> {
        let info: String = redis::cmd("INFO").arg(section).query(&mut self.connection()?)?;
        let found = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        found.map(|it| it.trim().to_owned()).with_context(|| format!("{name} is not in INFO {section}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

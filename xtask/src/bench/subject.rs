//! What is measured of a server under a load, turn by turn, and the rows it makes.

use anyhow::Result;

use super::computed::figures::{median, ratio};
use super::computed::page::{Page, short};
use super::process::Process;

/// A server's figures under one load.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Microseconds of processor time for a request.
    cpu: Vec<f64>,
    /// Requests a second.
    rate: Vec<f64>,
    /// In microseconds.
    p99: Vec<f64>,
    /// Microseconds that what stands behind took of its processor for a request, where that is looked at.
    behind: Vec<f64>,
}

/// One turn of load: how many requests were answered, and how fast.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    pub(super) requests: u64,
    pub(super) rate: f64,
    pub(super) p99: f64,
}

impl Seen {
    /// Returns the microseconds of processor time for a request, by turn.
    pub(super) fn cpus(&self) -> &[f64] {
        &self.cpu
    }

    /// Returns the requests a second, by turn.
    pub(super) fn rates(&self) -> &[f64] {
        &self.rate
    }

    /// Puts a load on a server and notes what it took.
    ///
    /// # Errors
    /// When the load fails.
    pub(super) fn turn(
        &mut self,
        server: &Process,
        behind: Option<&Process>,
        load: impl FnOnce() -> Result<Turn>,
    ) -> Result<()> {
        let before = (server.cpu_micros()?, behind.map(Process::cpu_micros).transpose()?);
        let turn = load()?;
        #[allow(clippy::cast_precision_loss, reason = "requests of seconds")]
        let requests = turn.requests as f64;
        self.cpu.push((server.cpu_micros()? - before.0) / requests);
        if let (Some(behind), Some(before)) = (behind, before.1) {
            self.behind.push((behind.cpu_micros()? - before) / requests);
        }
        self.rate.push(turn.rate);
        self.p99.push(turn.p99);
        Ok(())
    }
}

/// Adds a table of servers, each held against the one of that name, and notes the ratios as `part/load/id/…`.
pub(super) fn show(page: &mut Page, load: &str, servers: &[(&str, &str, &Seen)], against: &str) {
    let base = servers.iter().find(|(id, ..)| *id == against).map(|(.., seen)| *seen);
    let unmeasured = Seen::default();
    let base = base.unwrap_or(&unmeasured);
    let mut rows = Vec::new();
    for (id, name, seen) in servers {
        let ratios =
            [ratio(&seen.cpu, &base.cpu), ratio(&seen.p99, &base.p99), ratio(&seen.rate, &base.rate)];
        page.figure(format!("{load}/{id}/cpu-us"), median(&seen.cpu));
        page.figure(format!("{load}/{id}/p99-us"), median(&seen.p99));
        page.figure(format!("{load}/{id}/requests-per-s"), median(&seen.rate));
        for (kind, ratio) in ["cpu", "p99", "rate"].iter().zip(ratios) {
            page.figure(format!("{load}/{id}/{kind}"), ratio);
        }
        let [cpu, p99, rate] = ratios.map(short);
        let [micros, wait, requests] = [&seen.cpu, &seen.p99, &seen.rate].map(|it| short(median(it)));
        rows.push([(*name).to_owned(), micros, cpu, wait, p99, requests, rate, short(median(&seen.behind))]);
    }
    let headings = ["server", "CPU µs", "ratio", "p99 µs", "ratio", "a second", "ratio", "CPU µs behind it"];
    page.table(headings, &rows);
}

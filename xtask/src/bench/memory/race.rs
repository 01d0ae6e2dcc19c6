//! Sides that take turns, in rounds so short that what else the machine does falls on all alike.

use std::hint::black_box;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use rustix::thread::CpuSet;
use rustix::time::{ClockId, clock_gettime};

use super::super::process::processor;

/// Decisions in one round: some milliseconds.
pub(in super::super) const ROUND: u32 = 50_000;

/// One of those who race: its name, and what makes a round of decisions on the keys of that round's number, on the thread
/// of that number, and returns how many of them were admitted.
pub(in super::super) struct Runner<'a> {
    name: &'static str,
    /// Decisions in one of its rounds.
    decisions: u32,
    round: Box<dyn Fn(u32, u32) -> u32 + Sync + 'a>,
    /// Nanoseconds of a decision, by round.
    times: Vec<f64>,
}

impl<'a> Runner<'a> {
    pub(in super::super) fn new(name: &'static str, round: impl Fn(u32, u32) -> u32 + Sync + 'a) -> Self {
        Self::of(name, ROUND, round)
    }

    /// One whose rounds have another number of decisions.
    pub(in super::super) fn of(
        name: &'static str,
        decisions: u32,
        round: impl Fn(u32, u32) -> u32 + Sync + 'a,
    ) -> Self {
        Self { name, decisions, round: Box::new(round), times: Vec::new() }
    }

    /// Returns the nanoseconds of a decision, round by round.
    pub(in super::super) fn times(&self) -> &[f64] {
        &self.times
    }

    fn note(&mut self, took: Duration) {
        self.times.push(took.as_secs_f64() * 1e9 / f64::from(self.decisions));
    }

    fn judge(&self, admitted: u32, admits: bool) -> Result<()> {
        let (name, decisions) = (self.name, self.decisions);
        let expected = if admits { decisions } else { 0 };
        ensure!(admitted == expected, "{name} admitted {admitted} of {decisions}, and {expected} is right");
        Ok(())
    }
}

/// Has each side make a round in turn, `rounds` times, on one thread. The time is that which the thread had the processor.
///
/// # Errors
/// When a side decides otherwise than it has to: all of its decisions admit, or none does.
pub(in super::super) fn alone(rounds: u32, runners: &mut [Runner<'_>], admits: bool) -> Result<()> {
    for round in 0..rounds {
        for runner in &mut *runners {
            let began = thread_time();
            let admitted = (runner.round)(round, 0);
            let took = thread_time().saturating_sub(began);
            runner.judge(admitted, admits)?;
            runner.note(took);
        }
    }
    Ok(())
}

/// The same on two threads at once, each on a processor of its own. The time is the slower one's, by the clock: waiting for
/// the other counts.
///
/// # Errors
/// As [`alone`], or when a thread cannot be given its processor.
pub(in super::super) fn together(rounds: u32, runners: &mut [Runner<'_>], admits: bool) -> Result<()> {
    for round in 0..rounds {
        for runner in &mut *runners {
            let start = Barrier::new(2);
            let one = |thread: usize| -> Result<(u32, Duration)> {
                // Both come to the barrier, whatever happens to one of them.
                let pinned = pin(thread);
                start.wait();
                let began = Instant::now();
                let admitted = (runner.round)(round, u32::try_from(thread)?);
                let took = began.elapsed();
                pinned?;
                Ok((admitted, took))
            };
            let both = std::thread::scope(|scope| {
                [0, 1].map(|thread| scope.spawn(move || one(thread))).map(std::thread::ScopedJoinHandle::join)
            });
            let mut slowest = Duration::ZERO;
            for one in both {
                let (admitted, took) = one.map_err(|_| anyhow::anyhow!("a thread panicked"))??;
                runner.judge(admitted, admits)?;
                slowest = slowest.max(took);
            }
            runner.note(slowest);
        }
    }
    Ok(())
}

/// Makes a round: calls `ask` with so many numbers and returns how many times it admitted.
pub(in super::super) fn each(ask: impl FnMut(u32) -> bool) -> u32 {
    each_of(ROUND, ask)
}

/// The same of a round with another number of decisions.
pub(in super::super) fn each_of(decisions: u32, mut ask: impl FnMut(u32) -> bool) -> u32 {
    (0..decisions).map(|at| u32::from(black_box(ask(at)))).sum()
}

/// Keeps this thread on one processor, by its number among those the process may use.
pub(in super::super) fn pin(number: usize) -> Result<()> {
    let mut one = CpuSet::new();
    one.set(processor(number)?);
    Ok(rustix::thread::sched_setaffinity(None, &one)?)
}

/// Returns how long this thread has had a processor.
fn thread_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

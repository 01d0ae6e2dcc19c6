//! One phase: threads that send and count, and what else is read meanwhile.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use super::streams::Traffic;
use super::{PATIENCE, RunError};
use crate::machine;
use crate::plan::Plan;
use crate::report::{Beside, Phase};
use crate::scrape::{self, Scraped};
use crate::target::Target;
use crate::worker::{Gate, Job, Stream, Worked, work, work_in_memory};

/// How often is told how far a phase is.
const TOLD: Duration = Duration::from_millis(200);

/// A phase that is to be played.
pub(super) struct Played<'a> {
    pub(super) plan: &'a Plan,
    pub(super) traffic: &'a Traffic,
    pub(super) length: Duration,
    pub(super) number: u64,
}

impl Played<'_> {
    /// Plays it, and measures beside it what the plan says.
    pub(super) fn measure(
        &self,
        name: &str,
        stop: &Arc<AtomicBool>,
        told: &dyn Fn((f64, f64)),
    ) -> Result<Phase, RunError> {
        let cpu = || self.plan.pid.map(machine::of_process).transpose().map_err(RunError::Unusable);
        let metrics = || {
            self.plan
                .admin
                .as_ref()
                .map(|admin| scrape::scrape(admin, PATIENCE))
                .transpose()
                .map_err(RunError::Unreachable)
        };
        // The metrics first: to tell them takes the processor, too.
        let metrics_before = metrics()?;
        let cpu_before = cpu()?;
        let worked = self.play(stop, told)?;
        // A process that was ended meanwhile has nothing more to tell; what was measured is reported all the same.
        let (cpu_after, metrics_after) = (cpu().unwrap_or(None), metrics().unwrap_or(None));
        let beside = Beside {
            cpu: cpu_before.zip(cpu_after).map(|(before, after)| after.saturating_sub(before)),
            scraped: metrics_before.zip(metrics_after).map(|(before, after)| Scraped::since(&after, &before)),
        };
        Phase::new(name, self.plan, self.traffic, &worked, &beside)
            .map_err(|error| RunError::Unusable(error.to_string()))
    }

    /// Plays it.
    pub(super) fn play(
        &self,
        stop: &Arc<AtomicBool>,
        told: &dyn Fn((f64, f64)),
    ) -> Result<Vec<Worked>, RunError> {
        let jobs = self.jobs();
        let gate = Arc::new(Gate::new(jobs.len(), stop));
        let done = thread::scope(|scope| {
            let threads: Vec<_> = jobs
                .into_iter()
                .map(|job| {
                    let gate = &gate;
                    scope.spawn(move || match job.target {
                        Target::Memory(store, quota) => work_in_memory(job, gate, (store, quota)),
                        _ => work(job, gate),
                    })
                })
                .collect();
            let began = Instant::now();
            let mut last = (began, 0);
            while threads.iter().any(|thread| !thread.is_finished()) {
                thread::sleep(TOLD.min(self.length));
                let (now, answered) = (Instant::now(), gate.so_far());
                let share = (began.elapsed().as_secs_f64() / self.length.as_secs_f64()).min(1.0);
                #[expect(clippy::cast_precision_loss, reason = "it is only shown")]
                let rate = (answered - last.1) as f64 / now.duration_since(last.0).as_secs_f64().max(1e-9);
                last = (now, answered);
                told((share, rate));
            }
            threads.into_iter().map(thread::ScopedJoinHandle::join).collect::<Vec<_>>()
        });
        let target = &self.plan.target;
        let mut worked = Vec::new();
        let mut fault = None;
        for one in done {
            match one {
                Ok(Ok(one)) => worked.push(one),
                // A thread that only waited for another says nothing.
                Ok(Err(why)) if why.is_empty() => {}
                Ok(Err(why)) => fault = Some(why),
                Err(_) => fault = Some("a thread ended early".to_owned()),
            }
        }
        match fault {
            Some(why) => Err(RunError::Unreachable(format!("{target}: {why}; {}", super::remedy(target)))),
            None => Ok(worked),
        }
    }

    fn jobs(&self) -> Vec<Job<'_>> {
        let plan = self.plan;
        let job = |streams: Vec<Stream>| Job {
            target: &plan.target,
            users: if plan.target.by_address() { plan.connections } else { plan.users },
            streams,
            length: self.length,
            timeout: plan.timeout,
        };
        let streams = |thread| self.traffic.of_thread(plan, (thread, plan.threads), self.number);
        let is_apart = matches!(plan.target, Target::Memory(..)) && self.traffic.rate.is_none();
        let threads = 0..plan.threads;
        if is_apart {
            // A thread that asks a store itself and never waits can be but one of the streams.
            threads.flat_map(streams).map(|stream| job(vec![stream])).collect()
        } else {
            threads.map(|thread| job(streams(thread))).collect()
        }
    }
}

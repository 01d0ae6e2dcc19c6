//! `tidegate loadtest`: how fast a limiter decides, and what a flood does to everybody else.

mod ask;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::SystemTime;

use tidegate_loadtest::machine;
use tidegate_loadtest::plan::{Admin, Expected, Plan, Schedule, Shape};
use tidegate_loadtest::report::{Expectation, Report, about, lines, page};
use tidegate_loadtest::run::{Control, RunError, run as test};
use tidegate_loadtest::target::Target;
use tidegate_trials::Place;
use tokio::signal::unix::{SignalKind, signal};

use super::attack::{Progress, write};
use crate::args::{LoadArgs, LoadSchedule, LoadShape};
use crate::descriptors;
use crate::exit::{Exit, Failure};
use crate::output::{Output, to_stderr};
use crate::table::Table;

/// How many users there are, unless each has an address of his own.
const USERS: u32 = 1_000;
/// How many times the rate of users a flood has unless said.
const FLOOD: f64 = 4.0;
/// What files, threads and timers take of the file descriptors.
const SPARE: u64 = 64;
/// The status of a process that was interrupted.
const INTERRUPTED: i32 = 130;

/// Runs a load test and tells what came of it.
///
/// # Errors
/// When it cannot be run as asked, the target does not answer, or what was seen cannot be written.
pub(crate) fn run(args: &LoadArgs) -> Result<Exit, Failure> {
    let plan = plan(args)?;
    let stop = interrupted()?;
    let progress = (!args.quiet).then(Progress::new);
    let told = |told: &tidegate_loadtest::run::Told<'_>| {
        if let Some(progress) = &progress {
            let says = format!("({}: {} a second)", told.phase, about(told.rate));
            progress.reached_with(told.share, &says);
        }
    };
    let report = test(&plan, Control { told: &told, stop: &stop });
    if let Some(progress) = &progress {
        progress.finish();
    }
    let report = report.map_err(|error| match error {
        RunError::Unusable(_) => Failure::unusable(error),
        RunError::Unreachable(_) => Failure::unreachable(error),
    })?;
    tell(&report, args)?;
    Ok(if report.is_as_expected() { Exit::Fine } else { Exit::Problems })
}

fn plan(args: &LoadArgs) -> Result<Plan, Failure> {
    let target = ask::target(args)?;
    let by_address = matches!(&target, Target::Gateway(requests) if requests.by_address);
    if by_address && args.users.is_some() {
        let about = "--users: where users differ by the address they send from, each connection is one";
        return Err(Failure::unusable(about)
            .advise("say how many by --connections, or tell them apart by --key-header"));
    }
    if args.max_slowdown.is_some() && !shape(args).floods() {
        return Err(Failure::unusable(
            "--max-slowdown compares with and without a flood; choose a --shape with one",
        ));
    }
    if args.flood_rate.is_some() && !shape(args).floods() {
        return Err(Failure::unusable("--flood-rate is that of a flood; choose a --shape with one"));
    }
    fits(args, &target)?;
    if let Some(pid) = args.pid {
        machine::of_process(pid).map_err(Failure::unusable)?;
    }
    let duration = |span: tidegate::Span| span.as_duration();
    Ok(Plan {
        shape: shape(args),
        rate: args.rate,
        flood_rate: args.flood_rate.unwrap_or(args.rate.unwrap_or_default() * FLOOD),
        schedule: match args.schedule {
            LoadSchedule::Poisson => Schedule::Poisson,
            LoadSchedule::Constant => Schedule::Constant,
        },
        connections: args.connections,
        users: args.users.unwrap_or(USERS),
        skew: args.skew,
        duration: duration(args.duration),
        warm_up: duration(args.warm_up),
        timeout: duration(args.timeout),
        threads: args.threads.unwrap_or_else(|| (machine::processors() / 2).max(1)).min(args.connections),
        ramp_p99: duration(args.ramp_p99),
        expected: Expected {
            max_p99: args.max_p99.map(duration),
            min_rate: args.min_rate,
            max_slowdown: args.max_slowdown,
            max_errors: args.max_errors,
        },
        seed: args.seed,
        run: since_the_epoch(),
        pid: args.pid,
        admin: admin(args)?,
        target,
    })
}

/// Refuses more connections than the system gives this process: those that could not be opened would be blamed on the target.
fn fits(args: &LoadArgs, target: &Target) -> Result<(), Failure> {
    if !matches!(target, Target::Gateway(_) | Target::Api(_)) {
        return Ok(());
    }
    let classes = if shape(args).floods() { 2 } else { 1 };
    let needed = u64::from(args.connections) * classes + SPARE;
    match descriptors::raise() {
        Some(limit) if limit < needed => Err(Failure::unusable(format!(
            "--connections {}: that takes {needed} file descriptors, and this process may have {limit}",
            args.connections
        ))
        .advise("raise the limit (ulimit -n), or give fewer connections")),
        _ => Ok(()),
    }
}

fn shape(args: &LoadArgs) -> Shape {
    match args.shape {
        LoadShape::Normal => Shape::Normal,
        LoadShape::OneKeyFlood => Shape::OneKeyFlood,
        LoadShape::ManyKeyFlood => Shape::ManyKeyFlood,
        LoadShape::Mix => Shape::Mix,
        LoadShape::Ramp => Shape::Ramp,
    }
}

/// Returns a number that no run before had.
fn since_the_epoch() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_micros()).unwrap_or_default()
}

fn admin(args: &LoadArgs) -> Result<Option<Admin>, Failure> {
    let Some(url) = &args.admin else { return Ok(None) };
    let place = Place::of(url, args.i_own_this.as_deref())
        .map_err(|error| Failure::unusable(format!("--admin {error}")))?;
    let token = args.admin_token_file.as_deref().map(ask::token).transpose()?;
    Ok(Some(Admin { place, token }))
}

/// Returns what becomes true at the first signal that asks for an end; the second ends the process.
fn interrupted() -> Result<Arc<AtomicBool>, Failure> {
    let failed = |error: std::io::Error| Failure::failed(format!("cannot catch signals: {error}"));
    let stop = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&stop);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let (mut interrupt, mut terminate) = {
        let _inside = runtime.enter();
        (signal(SignalKind::interrupt()).map_err(failed)?, signal(SignalKind::terminate()).map_err(failed)?)
    };
    thread::spawn(move || {
        runtime.block_on(async {
            loop {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                if set.swap(true, Ordering::Relaxed) {
                    std::process::exit(INTERRUPTED);
                }
            }
        });
    });
    Ok(stop)
}

fn tell(report: &Report, args: &LoadArgs) -> Result<(), Failure> {
    let is_out = |path: &Path| path == Path::new("-");
    let mut out = Output::stdout();
    let json_out = args.json.as_deref().is_some_and(is_out);
    if json_out {
        out.json(report)?;
    } else if !args.quiet {
        text(report, &mut out);
    }
    if json_out || args.quiet {
        // Whoever finds the exit code in a log finds the reason beside it.
        report.expectations.iter().filter(|one| !one.held).for_each(|one| to_stderr(&told(one)));
    }
    // First, and each file after it: what was measured must not be lost with one that cannot be written.
    let told = out.finish();
    let json = args.json.as_deref().filter(|path| !is_out(path)).map_or(Ok(()), |path| {
        let text = serde_json::to_string_pretty(report);
        let text = text.map_err(|error| Failure::failed(format!("cannot write JSON: {error}")))?;
        write(path, &format!("{text}\n"))
    });
    let html = args.html.as_deref().map_or(Ok(()), |path| write(path, &page(report)));
    told.and(json).and(html)
}

fn text(report: &Report, out: &mut Output) {
    let mut rows = lines(report).into_iter();
    if let Some(header) = rows.next() {
        let mut table = Table::new(header.each_ref().map(String::as_str));
        rows.for_each(|row| table.push(row));
        table.lines().for_each(|line| out.line(&line));
    }
    out.line("");
    report.verdict.iter().for_each(|line| out.line(line));
    report.expectations.iter().for_each(|one| out.line(&told(one)));
}

fn told(expectation: &Expectation) -> String {
    let held = if expectation.held { "as expected" } else { "NOT AS EXPECTED" };
    format!("{held}: {} ({})", expectation.says, expectation.option)
}

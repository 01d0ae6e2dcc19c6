//! The server's CPU time for a decision: bare counting, the hand-written script and the store, in interleaved rounds.

use std::time::Instant;

use anyhow::Result;
use tidegate_store::algorithms::{Anchor, Quota, Rate, Span};

use super::super::Scale;
use super::super::computed::figures::{median, ratio};
use super::super::computed::page::{Page, short};
use super::callers::{self, Asking};
use super::scripts::{GATHERED, Gathered, Gcra, PIPELINE, Piped};
use super::{Bench, KEYS};

const ROUNDS: u32 = 5;
/// How many decisions a round makes of each kind.
const DECISIONS: usize = 64_000;
/// Who waits for each answer makes fewer.
const DECISIONS_ALONE: usize = 16_000;
/// How many callers the aim speaks of.
const CALLERS: usize = 64;

/// Names, and what their figures are called.
const INCR: [(&str, &str); 2] = [("INCR, P=1", "incr-1"), ("INCR, P=16", "incr-16")];
const SCRIPT: [(&str, &str); 2] =
    [("GCRA script by hand, P=1", "script-1"), ("GCRA script by hand, P=16", "script-16")];
const GATHERED_NAME: (&str, &str) = ("token bucket, the store's script alone", "gathered");
const BUCKET: (&str, &str) = ("token bucket, 64 callers", "token-bucket");

/// Something that is measured.
struct Subject {
    name: &'static str,
    /// What its figures are called.
    id: &'static str,
    kind: Kind,
    decisions: usize,
    /// Questions that the store has asked, and the calls they went in.
    gathered: (u64, u64),
    cpu: Vec<f64>,
    rate: Vec<f64>,
}

/// What is asked, and how.
enum Kind {
    Incr(Piped),
    ByHand(Piped, Gcra),
    Gathered(Box<Gathered>),
    /// The store, by so many callers; whether it has to admit.
    Asked {
        asking: Asking,
        callers: usize,
        admits: bool,
    },
}

/// Measures, and adds the tables of what is admitted and of what is refused.
pub(super) fn measure(bench: &Bench, scale: Scale, page: &mut Page) -> Result<()> {
    let rounds = scale.of(ROUNDS, 1);
    admitted(bench, rounds, page)?;
    refused(bench, rounds, page)?;
    bench.server.flush()
}

fn admitted(bench: &Bench, turns: u32, page: &mut Page) -> Result<()> {
    let month = Span::from_secs(30 * 86_400);
    let bucket = Quota::token_bucket(1_000_000, Rate::new(1, Span::from_secs(60))?)?;
    let window = Quota::fixed_window(1_000_000, month, Anchor::Clock)?;
    let counter = Quota::sliding_counter(1_000_000, month)?;
    let store = bench.store()?;
    let asked = |quota, keys, callers| {
        let asking = Asking { store: store.clone(), limit: "bench/allowed", quota, admits: true, keys };
        Kind::Asked { asking, callers, admits: true }
    };
    let by_hand = Gcra { per_micros: 60_000_000, most: 1_000_000, admits: true };
    let mut subjects = [
        Subject::new(INCR[0], Kind::Incr(Piped::new(bench, 'i', 1)?)),
        Subject::new(SCRIPT[0], Kind::ByHand(Piped::new(bench, 'g', 1)?, by_hand)),
        Subject::new(INCR[1], Kind::Incr(Piped::new(bench, 'i', PIPELINE)?)),
        Subject::new(SCRIPT[1], Kind::ByHand(Piped::new(bench, 'g', PIPELINE)?, by_hand)),
        Subject::new(GATHERED_NAME, Kind::Gathered(Box::new(Gathered::new(bench, "tg", bucket, true)?))),
        Subject::new(BUCKET, asked(bucket, KEYS, CALLERS)),
        Subject::new(("fixed window, 64 callers", "fixed-window"), asked(window, KEYS, CALLERS)),
        Subject::new(("sliding counter, 64 callers", "sliding-counter"), asked(counter, KEYS, CALLERS)),
        Subject::new(("token bucket, 64 callers, one key", "one-key"), asked(bucket, 1, CALLERS)),
        Subject::new(("token bucket, 1 caller", "one-caller"), asked(bucket, KEYS, 1)),
    ];
    rounds(bench, turns, &mut subjects)?;
    page.line("### CPU time of the server for a decision that admits");
    page.line(&format!(
        "Over {KEYS} random keys unless said, which are there already and are all there is; medians of {turns} interleaved \
         rounds of {DECISIONS} decisions ({DECISIONS_ALONE} where each is waited for). P is the pipeline: how many commands are \
         on their way at once. Callers ask the store, which gathers what they ask at the same time into one call."
    ));
    show(page, "admitted", &subjects);
    Ok(())
}

fn refused(bench: &Bench, turns: u32, page: &mut Page) -> Result<()> {
    let strict = Quota::token_bucket(1, Rate::new(1, Span::from_secs(86_400))?)?;
    let store = bench.store()?;
    let asking = Asking { store, limit: "bench/refused", quota: strict, admits: true, keys: KEYS };
    let by_hand = Gcra { per_micros: 86_400_000_000, most: 1, admits: false };
    let mut subjects = [
        Subject::new(INCR[0], Kind::Incr(Piped::new(bench, 'i', 1)?)),
        Subject::new(SCRIPT[0], Kind::ByHand(Piped::new(bench, 'g', 1)?, by_hand)),
        Subject::new(INCR[1], Kind::Incr(Piped::new(bench, 'i', PIPELINE)?)),
        Subject::new(SCRIPT[1], Kind::ByHand(Piped::new(bench, 'g', PIPELINE)?, by_hand)),
        Subject::new(GATHERED_NAME, Kind::Gathered(Box::new(Gathered::new(bench, "tg", strict, false)?))),
        Subject::new(BUCKET, Kind::Asked { asking, callers: CALLERS, admits: false }),
    ];
    rounds(bench, turns, &mut subjects)?;
    page.line("### CPU time of the server for a decision that refuses");
    page.line(
        "The same, of keys that have used up their one unit a day; the store is asked every time, without the memory of \
         refusals that a limiter has.",
    );
    show(page, "refused", &subjects);
    Ok(())
}

impl Kind {
    /// Puts every key there, each charged once.
    fn warm(&mut self, bench: &Bench) -> Result<()> {
        match self {
            Self::Incr(piped) => piped.incr_each(),
            Self::ByHand(piped, numbers) => piped.gcra_each(Gcra { admits: true, ..*numbers }),
            Self::Gathered(gathered) => gathered.each_once(bench),
            Self::Asked { asking, .. } if asking.keys == 1 => callers::decide(bench, asking, 1, 1),
            Self::Asked { asking, .. } => callers::each_once(bench, asking),
        }
    }

    /// Makes so many decisions on random keys.
    fn decide(&mut self, bench: &Bench, count: usize) -> Result<()> {
        match self {
            Self::Incr(piped) => piped.incr(count),
            Self::ByHand(piped, numbers) => piped.gcra(*numbers, count),
            Self::Gathered(gathered) => gathered.decide(bench, count),
            Self::Asked { asking, callers, admits } => {
                let asking = Asking { admits: *admits, ..asking.clone() };
                callers::decide(bench, &asking, *callers, count)
            }
        }
    }

    fn counted(&self) -> (u64, u64) {
        if let Self::Asked { asking, .. } = self { asking.questions_and_calls() } else { (0, 0) }
    }
}

impl Subject {
    fn new((name, id): (&'static str, &'static str), kind: Kind) -> Self {
        let alone = match &kind {
            Kind::Asked { callers, .. } => *callers == 1,
            Kind::Incr(piped) | Kind::ByHand(piped, _) => piped.waits(),
            Kind::Gathered(_) => false,
        };
        let decisions = if alone { DECISIONS_ALONE } else { DECISIONS };
        Self { name, id, kind, decisions, gathered: (0, 0), cpu: Vec::new(), rate: Vec::new() }
    }

    /// Makes a round's decisions and notes what they took.
    #[allow(clippy::cast_precision_loss, reason = "counts of decisions are small")]
    fn round(&mut self, bench: &Bench) -> Result<()> {
        bench.server.flush()?;
        self.kind.warm(bench)?;
        let before = self.kind.counted();
        let (cpu, began) = (bench.server.cpu_micros()?, Instant::now());
        self.kind.decide(bench, self.decisions)?;
        let took = began.elapsed();
        let decisions = self.decisions as f64;
        self.cpu.push((bench.server.cpu_micros()? - cpu) / decisions);
        self.rate.push(decisions / took.as_secs_f64());
        let after = self.kind.counted();
        self.gathered.0 += after.0 - before.0;
        self.gathered.1 += after.1 - before.1;
        Ok(())
    }

    #[allow(clippy::cast_precision_loss, reason = "counts of calls are small")]
    fn gathered(&self) -> String {
        match (&self.kind, self.gathered) {
            (Kind::Asked { .. }, (questions, calls)) => format!("{:.1}", questions as f64 / calls as f64),
            (Kind::Gathered(_), _) => GATHERED.to_string(),
            _ => "1".to_owned(),
        }
    }
}

/// Measures everything in turn, again and again, so that what disturbs the machine disturbs all alike.
fn rounds(bench: &Bench, turns: u32, subjects: &mut [Subject]) -> Result<()> {
    for _ in 0..turns {
        subjects.iter_mut().try_for_each(|subject| subject.round(bench))?;
    }
    Ok(())
}

/// Adds the table; the first four of the subjects are bare counting and the script by hand, by their pipelines.
fn show(page: &mut Page, load: &str, subjects: &[Subject]) {
    let mut rows = Vec::new();
    for subject in subjects {
        let of = |base: usize| ratio(&subject.cpu, &subjects[base].cpu);
        page.figure(format!("redis/{load}/{}/cpu-us", subject.id), median(&subject.cpu));
        page.figure(format!("redis/{load}/{}/of-script-1", subject.id), of(1));
        page.figure(format!("redis/{load}/{}/of-incr-16", subject.id), of(2));
        page.figure(format!("redis/{load}/{}/of-script-16", subject.id), of(3));
        rows.push([
            subject.name.to_owned(),
            subject.gathered(),
            short(median(&subject.cpu)),
            short(of(0)),
            short(of(1)),
            short(of(2)),
            short(of(3)),
            short(median(&subject.rate)),
        ]);
    }
    let headings = [
        "asked",
        "decisions a call",
        "µs",
        "of INCR, P=1",
        "of the script, P=1",
        "of INCR, P=16",
        "of the script, P=16",
        "decisions a second",
    ];
    page.table(headings, &rows);
}

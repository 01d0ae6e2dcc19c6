//! The server's CPU time for a decision: bare counting, the hand-written script and the store, in interleaved rounds.

use std::time::Instant;

use anyhow::Result;
use tidegate_store::algorithms::{Anchor, Quota, Rate, Span};

use super::callers::{self, Asking};
use super::scripts::{GATHERED, Gathered, Gcra, Piped};
use super::show::{Page, median};
use super::{Bench, KEYS};

const ROUNDS: usize = 5;
/// How many decisions a round makes of each kind.
const DECISIONS: usize = 64_000;
/// One caller waits for each answer.
const DECISIONS_ALONE: usize = 6_400;
/// How many callers the aim speaks of.
const CALLERS: usize = 64;
/// The most that a decision of 64 callers may take of the hand-written script's time.
const AIM: f64 = 0.6;
const GATHERED_NAME: &str = "token bucket, the store's script alone";

/// Something that is measured.
struct Subject {
    name: &'static str,
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
pub(super) fn measure(bench: &Bench, page: &mut Page) -> Result<()> {
    admitted(bench, page)?;
    refused(bench, page)?;
    bench.server.flush()
}

fn admitted(bench: &Bench, page: &mut Page) -> Result<()> {
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
        Subject::new("INCR, pipeline 16", Kind::Incr(Piped::new(bench, 'i')?)),
        Subject::new("GCRA script by hand, pipeline 16", Kind::ByHand(Piped::new(bench, 'g')?, by_hand)),
        Subject::new(GATHERED_NAME, Kind::Gathered(Box::new(Gathered::new(bench, "tg", bucket, true)?))),
        Subject::new("token bucket, 64 callers", asked(bucket, KEYS, CALLERS)),
        Subject::new("fixed window, 64 callers", asked(window, KEYS, CALLERS)),
        Subject::new("sliding counter, 64 callers", asked(counter, KEYS, CALLERS)),
        Subject::new("token bucket, 64 callers, one key", asked(bucket, 1, CALLERS)),
        Subject::new("token bucket, 1 caller", asked(bucket, KEYS, 1)),
    ];
    rounds(bench, &mut subjects)?;
    page.line("### CPU time of the server for a decision that admits");
    page.line(&format!(
        "Over {KEYS} random keys unless said, which are there already and are all there is; medians of {ROUNDS} interleaved \
         rounds of {DECISIONS} decisions ({DECISIONS_ALONE} of one caller)."
    ));
    show(page, &subjects);
    for (algorithm, place) in [("token bucket", 3), ("fixed window", 4)] {
        let what = format!(
            "the store's CPU time for a decision of a {algorithm} with {CALLERS} callers, as a share of the script's \
             by hand"
        );
        page.aim(&what, subjects[place].micros() / subjects[1].micros(), AIM);
    }
    Ok(())
}

fn refused(bench: &Bench, page: &mut Page) -> Result<()> {
    let strict = Quota::token_bucket(1, Rate::new(1, Span::from_secs(86_400))?)?;
    let store = bench.store()?;
    let asking = Asking { store, limit: "bench/refused", quota: strict, admits: true, keys: KEYS };
    let by_hand = Gcra { per_micros: 86_400_000_000, most: 1, admits: false };
    let mut subjects = [
        Subject::new("INCR, pipeline 16", Kind::Incr(Piped::new(bench, 'i')?)),
        Subject::new("GCRA script by hand, pipeline 16", Kind::ByHand(Piped::new(bench, 'g')?, by_hand)),
        Subject::new(GATHERED_NAME, Kind::Gathered(Box::new(Gathered::new(bench, "tg", strict, false)?))),
        Subject::new("token bucket, 64 callers", Kind::Asked { asking, callers: CALLERS, admits: false }),
    ];
    rounds(bench, &mut subjects)?;
    page.line("### CPU time of the server for a decision that refuses");
    page.line(
        "The same, of keys that have used up their one unit a day; the store is asked every time, without the memory of \
         refusals that a limiter has.",
    );
    show(page, &subjects);
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
    fn new(name: &'static str, kind: Kind) -> Self {
        let alone = matches!(kind, Kind::Asked { callers: 1, .. });
        let decisions = if alone { DECISIONS_ALONE } else { DECISIONS };
        Self { name, kind, decisions, gathered: (0, 0), cpu: Vec::new(), rate: Vec::new() }
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

    /// Returns the CPU time of a decision, in microseconds.
    fn micros(&self) -> f64 {
        median(&self.cpu)
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
fn rounds(bench: &Bench, subjects: &mut [Subject]) -> Result<()> {
    for _ in 0..ROUNDS {
        subjects.iter_mut().try_for_each(|subject| subject.round(bench))?;
    }
    Ok(())
}

/// Adds the table; the first of the subjects is bare counting, the second the script by hand.
fn show(page: &mut Page, subjects: &[Subject]) {
    let row = |subject: &Subject| {
        let of = |base: usize| format!("{:.2}", subject.micros() / subjects[base].micros());
        let rate = format!("{:.0}", median(&subject.rate));
        let micros = format!("{:.2}", subject.micros());
        [subject.name.to_owned(), subject.gathered(), micros, of(0), of(1), rate]
    };
    let rows: Vec<[String; 6]> = subjects.iter().map(row).collect();
    let headings =
        ["asked", "decisions a call", "µs", "of INCR", "of the script by hand", "decisions a second"];
    page.table(headings, &rows);
}

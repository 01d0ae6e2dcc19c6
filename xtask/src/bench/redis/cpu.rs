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

/// Something that is measured.
struct Subject<'b> {
    name: String,
    decisions: usize,
    run: Box<dyn FnMut(usize) -> Result<()> + 'b>,
    gathered: Counted,
    cpu: Vec<f64>,
    rate: Vec<f64>,
}

/// How many decisions go to the server in one call.
enum Counted {
    Always(usize),
    /// The store counts its questions and calls.
    By(Asking, u64, u64),
}

/// Measures, and adds the tables of what is admitted and of what is refused.
pub(super) fn measure(bench: &Bench, page: &mut Page) -> Result<()> {
    admitted(bench, page)?;
    bench.server.flush()?;
    refused(bench, page)?;
    bench.server.flush()
}

fn admitted(bench: &Bench, page: &mut Page) -> Result<()> {
    let month = Span::from_secs(30 * 86_400);
    let bucket = Quota::token_bucket(1_000_000, Rate::new(1, Span::from_secs(60))?)?;
    let window = Quota::fixed_window(1_000_000, month, Anchor::Clock)?;
    let counter = Quota::sliding_counter(1_000_000, month)?;
    let asked = |limit, quota, keys| -> Result<Asking> {
        let asking = Asking { store: bench.store()?, limit, quota, admits: true, keys };
        if keys == KEYS {
            callers::each_once(bench, &asking)?;
        }
        Ok(asking)
    };
    let by_hand = Gcra { per_micros: 60_000_000, most: 1_000_000, admits: true };
    let mut subjects = vec![
        Subject::incr(bench)?,
        Subject::by_hand(bench, by_hand)?,
        Subject::gathered(bench, bucket, true)?,
        Subject::asked(bench, "token bucket, 64 callers", asked("bench/bucket", bucket, KEYS)?, CALLERS),
        Subject::asked(bench, "fixed window, 64 callers", asked("bench/window", window, KEYS)?, CALLERS),
        Subject::asked(bench, "sliding counter, 64 callers", asked("bench/counter", counter, KEYS)?, CALLERS),
        Subject::asked(bench, "token bucket, 64 callers, one key", asked("bench/hot", bucket, 1)?, CALLERS),
        Subject::asked(bench, "token bucket, 1 caller", asked("bench/alone", bucket, KEYS)?, 1),
    ];
    rounds(bench, &mut subjects)?;
    page.line("### CPU time of the server for a decision that admits");
    page.line(&format!(
        "Over {KEYS} random keys unless said; medians of {ROUNDS} interleaved rounds of {DECISIONS} decisions \
         ({DECISIONS_ALONE} of one caller)."
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
    callers::each_once(bench, &asking)?;
    let asking = Asking { admits: false, ..asking };
    let by_hand = Gcra { per_micros: 86_400_000_000, most: 1, admits: false };
    let mut subjects = vec![
        Subject::incr(bench)?,
        Subject::by_hand(bench, by_hand)?,
        Subject::gathered(bench, strict, false)?,
        Subject::asked(bench, "token bucket, 64 callers", asking, CALLERS),
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

impl<'b> Subject<'b> {
    fn new(name: &str, gathered: Counted, run: impl FnMut(usize) -> Result<()> + 'b) -> Self {
        let run = Box::new(run);
        Self { name: name.to_owned(), decisions: DECISIONS, run, gathered, cpu: Vec::new(), rate: Vec::new() }
    }

    fn incr(bench: &'b Bench) -> Result<Self> {
        let mut piped = Piped::new(bench, 'i')?;
        Ok(Self::new("INCR, pipeline 16", Counted::Always(1), move |count| piped.incr(count)))
    }

    fn by_hand(bench: &'b Bench, numbers: Gcra) -> Result<Self> {
        let mut piped = Piped::new(bench, 'g')?;
        piped.gcra_each(Gcra { admits: true, ..numbers })?;
        let run = move |count| piped.gcra(numbers, count);
        Ok(Self::new("GCRA script by hand, pipeline 16", Counted::Always(1), run))
    }

    fn gathered(bench: &'b Bench, quota: Quota, admits: bool) -> Result<Self> {
        let mut gathered = Gathered::new(bench, "gathered", quota, admits)?;
        gathered.each_once(bench)?;
        let run = move |count| gathered.decide(bench, count);
        Ok(Self::new("token bucket, the store's script alone", Counted::Always(GATHERED), run))
    }

    /// The store, asked by so many callers.
    fn asked(bench: &'b Bench, name: &str, asking: Asking, callers: usize) -> Self {
        let own = asking.clone();
        let run = move |count| callers::decide(bench, &asking, callers, count);
        let decisions = if callers == 1 { DECISIONS_ALONE } else { DECISIONS };
        Self { decisions, ..Self::new(name, Counted::By(own, 0, 0), run) }
    }

    /// Makes a round's decisions and notes what they took.
    #[allow(clippy::cast_precision_loss, reason = "counts of decisions are small")]
    fn round(&mut self, bench: &Bench) -> Result<()> {
        let before = self.gathered.seen();
        let (cpu, began) = (bench.server.cpu_micros()?, Instant::now());
        (self.run)(self.decisions)?;
        let took = began.elapsed();
        let decisions = self.decisions as f64;
        self.cpu.push((bench.server.cpu_micros()? - cpu) / decisions);
        self.rate.push(decisions / took.as_secs_f64());
        let after = self.gathered.seen();
        if let Counted::By(_, questions, calls) = &mut self.gathered {
            *questions += after.0 - before.0;
            *calls += after.1 - before.1;
        }
        Ok(())
    }

    /// Returns the CPU time of a decision, in microseconds.
    fn micros(&self) -> f64 {
        median(&self.cpu)
    }
}

impl Counted {
    fn seen(&self) -> (u64, u64) {
        if let Self::By(asking, ..) = self { asking.questions_and_calls() } else { (0, 0) }
    }

    #[allow(clippy::cast_precision_loss, reason = "counts of calls are small")]
    fn shown(&self) -> String {
        match self {
            Self::Always(count) => count.to_string(),
            Self::By(_, questions, calls) => format!("{:.1}", *questions as f64 / *calls as f64),
        }
    }
}

/// Measures everything in turn, again and again, so that what disturbs the machine disturbs all alike.
fn rounds(bench: &Bench, subjects: &mut [Subject<'_>]) -> Result<()> {
    for _ in 0..ROUNDS {
        subjects.iter_mut().try_for_each(|subject| subject.round(bench))?;
    }
    Ok(())
}

/// Adds the table; the first of the subjects is bare counting, the second the script by hand.
fn show(page: &mut Page, subjects: &[Subject<'_>]) {
    let row = |subject: &Subject<'_>| {
        let of = |base: usize| format!("{:.2}", subject.micros() / subjects[base].micros());
        let rate = format!("{:.0}", median(&subject.rate));
        let micros = format!("{:.2}", subject.micros());
        [subject.name.clone(), subject.gathered.shown(), micros, of(0), of(1), rate]
    };
    let rows: Vec<[String; 6]> = subjects.iter().map(row).collect();
    let headings =
        ["asked", "decisions a call", "µs", "of INCR", "of the script by hand", "decisions a second"];
    page.table(headings, &rows);
}

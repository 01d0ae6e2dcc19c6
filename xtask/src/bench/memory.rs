//! In process: a decision of the memory store beside the crates that limit in memory, what a key takes, and a whole check.

pub(super) mod check;
pub(super) mod grow;
pub(super) mod keys;
pub(super) mod race;
pub(super) mod sides;

use anyhow::Result;

use super::Scale;
use super::computed::figures::{median, ratio};
use super::computed::page::{Page, short};
use keys::{Keys, MILLION, compose};
use race::{ROUND, Runner, each};
use sides::{Governor, Limit, Ratelimit, Side, Throttlecrab, Tidegate};

/// How many rounds each side makes of a load, in all its set-ups.
const ROUNDS: u32 = 60;
/// How many times everything is set up anew: where a table happens to lie in memory must not decide.
const SETUPS: u32 = 3;

/// A row of the table.
struct Load {
    name: &'static str,
    /// What its figures are called.
    id: &'static str,
    keys: Keys,
    limit: Limit,
    threads: u32,
}

const LOADS: [Load; 9] = [
    Load::new("one hot key", "hot", Keys::Hot, Limit::Admits, 1),
    Load::new("a thousand random keys", "thousand", Keys::Random(1_000), Limit::Admits, 1),
    Load::new("a million random keys", "million", Keys::Random(MILLION), Limit::Admits, 1),
    Load::new("new keys, up to a million", "new", Keys::New, Limit::Admits, 1),
    Load::new("one hot key, refused", "hot-refused", Keys::Hot, Limit::Refuses, 1),
    Load::new("a million random keys, refused", "million-refused", Keys::Random(MILLION), Limit::Refuses, 1),
    Load::new("one hot key, two threads", "hot-2", Keys::Hot, Limit::Admits, 2),
    Load::new("a thousand random keys, two threads", "thousand-2", Keys::Random(1_000), Limit::Admits, 2),
    Load::new("a million random keys, two threads", "million-2", Keys::Random(MILLION), Limit::Admits, 2),
];

impl Load {
    const fn new(name: &'static str, id: &'static str, keys: Keys, limit: Limit, threads: u32) -> Self {
        Self { name, id, keys, limit, threads }
    }

    /// Returns the nanoseconds of a decision by side, round by round.
    fn race(&self, scale: Scale) -> Result<Vec<Vec<f64>>> {
        let mut times = vec![Vec::new(); 4];
        for _ in 0..scale.of(SETUPS, 1) {
            let ours = Tidegate::new(self.limit)?;
            let (governor, throttlecrab) = (Governor::new(self.limit)?, Throttlecrab::new(self.limit));
            let single = Ratelimit::new(self.limit)?;
            let mut runners = vec![
                self.runner("tidegate", &ours),
                self.runner("governor", &governor),
                self.runner("throttlecrab", &throttlecrab),
            ];
            if matches!(self.keys, Keys::Hot) {
                runners.push(self.runner("ratelimit", &single));
            }
            let rounds = scale.of(ROUNDS / SETUPS, 4);
            let admits = self.limit == Limit::Admits;
            if self.threads == 1 {
                race::alone(rounds, &mut runners, admits)?;
            } else {
                race::together(rounds, &mut runners, admits)?;
            }
            for (times, runner) in times.iter_mut().zip(&runners) {
                times.extend_from_slice(runner.times());
            }
        }
        Ok(times)
    }

    /// Brings a side to where the load begins: its keys are known, and used up where it is to refuse.
    fn runner<'a, S: Side>(&self, name: &'static str, side: &'a S) -> Runner<'a> {
        let mut key = String::new();
        let known = match self.keys {
            Keys::Hot => 1..2,
            Keys::Random(count) => 0..count,
            Keys::New => 0..0,
        };
        for number in known {
            compose(&mut key, number);
            side.ask(&key);
            side.ask(&key);
        }
        let keys = self.keys;
        Runner::new(name, move |round, thread| {
            let mut key = String::with_capacity(64);
            each(|at| {
                compose(&mut key, keys.number(round, thread, at));
                side.ask(&key)
            })
        })
    }
}

/// Measures, and adds the tables.
pub(super) fn measure(scale: Scale, page: &mut Page) -> Result<()> {
    page.line("### Time of a decision, in nanoseconds");
    let mut rows = Vec::new();
    for load in &LOADS {
        let times = load.race(scale)?;
        let [ours, governor, throttlecrab, single] = [0, 1, 2, 3].map(|side| median(&times[side]));
        let to = |side: usize| ratio(&times[0], &times[side]);
        for (side, nanos) in
            ["tidegate", "governor", "throttlecrab"].iter().zip([ours, governor, throttlecrab])
        {
            page.figure(format!("memory/{}/{side}-ns", load.id), nanos);
        }
        page.figure(format!("memory/{}/of-governor", load.id), to(1));
        page.figure(format!("memory/{}/of-throttlecrab", load.id), to(2));
        let name = load.name.to_owned();
        rows.push([
            name,
            short(ours),
            short(governor),
            short(throttlecrab),
            short(single),
            short(to(1)),
            short(to(2)),
        ]);
    }
    let headings = [
        "asked",
        "tidegate",
        "governor",
        "throttlecrab",
        "ratelimit",
        "tidegate / governor",
        "tidegate / throttlecrab",
    ];
    page.table(headings, &rows);
    page.line(&of_which(scale)?);
    grow::measure(scale, page)?;
    check::measure(scale, page)
}

/// Tells what composing a key and reading the clock take of the figures above.
fn of_which(scale: Scale) -> Result<String> {
    let ours = Tidegate::new(Limit::Admits)?;
    let mut runners = [
        Runner::new("compose", |_, _| {
            let mut key = String::with_capacity(64);
            each(|at| {
                compose(&mut key, at);
                !std::hint::black_box(&key).is_empty()
            })
        }),
        Runner::new("clock", |_, _| each(|_| ours.read_clock())),
    ];
    race::alone(scale.of(ROUNDS, 4), &mut runners, true)?;
    let [compose, clock] = [0, 1].map(|place: usize| short(median(runners[place].times())));
    Ok(format!(
        "Each figure is the median of {} rounds of {ROUND} decisions that take turns, in {} set-ups; a ratio is the median of \
         the rounds' ratios. Keys are text of 29 bytes, composed on each call, which is {compose} ns of every figure. The memory \
         store's clock, which goes on while the machine sleeps, is {clock} ns of ours; governor's default reads the processor's \
         counter. On one thread the time is the processor's, on two it is the clock's, of the slower thread. `throttlecrab` \
         needs `&mut` and stands under a mutex; `ratelimit` is one bucket without keys.",
        scale.of(ROUNDS / SETUPS, 4) * scale.of(SETUPS, 1),
        scale.of(SETUPS, 1),
    ))
}

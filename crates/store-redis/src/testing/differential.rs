//! Random calls of the script, held against the naive store: every decision, and every state that is written.
//!
//! The naive store decides each call on what the script's last one left in Redis, so that a run does not end where the two
//! may differ: in when they drop what cannot be told from a fresh state. What both wrote is compared as of the call's
//! instant, without such states.

use tidegate_algorithms::{Answer as Verdict, keep_until};
use tidegate_store::conformance::Naive;
use tidegate_store::plans::Plans;
use tidegate_store::{Check, Decided, LimitId, Refund, Reply, Store as _};

use super::Scripted;
use super::clock::Clock;
use super::numbers::{KINDS, Numbers, kind};
use super::questions::{Charge, KEYS, Question, Questions, Subject};
use crate::codec::{decode, encode};
use crate::op::{Answer, Op, OwnCheck};

/// What a run has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Calls of the script.
    pub calls: u64,
    /// Checks that were decided or peeked at.
    pub decisions: u64,
    /// Of these, those that were refused.
    pub refused: u64,
    /// Those at an instant before that of a call before.
    pub after_a_step_back: u64,
    /// Those within a microsecond of when a wait, or what is remembered, was to end.
    pub aimed: u64,
    /// Those by kind: windows of the clock, logs, counters, token buckets, leaky buckets, windows of a first hit, lockouts.
    pub kinds: [u64; KINDS],
    /// Charges given back.
    pub refunds: u64,
    /// Keys reset.
    pub resets: u64,
    /// Keys that held several states after a call.
    pub several: u64,
    /// Keys that held a log after a call that is not handed over whole.
    pub long_logs: u64,
}

/// Runs random calls until so many decisions are made, and returns what was seen.
///
/// # Errors
/// On the first difference, with the seed and what was asked and told.
pub fn differential(scripted: &Scripted, seed: u64, decisions: u64) -> Result<Tally, String> {
    let (mut tally, mut seeds, mut number) = (Tally::default(), Numbers::new(seed), 0);
    while tally.decisions < decisions {
        let subject = match number % 8 {
            1 => Subject::Singles,
            5 => Subject::Logs,
            _ => Subject::Anything,
        };
        // A log gets long where many calls ask little of it.
        let (calls, most) = if subject == Subject::Logs { (600, 4) } else { (60, 32) };
        let mut run = Run::new(scripted, Numbers::new(seeds.below(u64::MAX)), subject)?;
        for call in 0..calls {
            run.call(most, &mut tally).map_err(|fault| {
                format!("seed {seed}, run {number}, call {call}, at {}: {fault}", run.clock.now.as_micros())
            })?;
        }
        number += 1;
    }
    Ok(tally)
}

struct Run<'s> {
    scripted: &'s Scripted,
    naive: Naive,
    limit: LimitId,
    questions: Questions,
    clock: Clock,
    held: [Plans; KEYS],
}

impl<'s> Run<'s> {
    fn new(scripted: &'s Scripted, mut numbers: Numbers, subject: Subject) -> Result<Self, String> {
        let naive = Naive::default();
        let limit = naive.limit("one");
        let clock = Clock::start(&mut numbers, subject == Subject::Logs);
        let questions = Questions::new(numbers, subject, limit)?;
        Ok(Self { scripted, naive, limit, questions, clock, held: Default::default() })
    }

    fn call(&mut self, most: u64, tally: &mut Tally) -> Result<(), String> {
        let quota = self.questions.timely_quota();
        self.clock.pass(&mut self.questions.numbers, &quota);
        let count = 1 + self.questions.numbers.below(most);
        let asked: Vec<Question> = (0..count).map(|_| self.questions.ask()).collect();
        for (key, plans) in self.held.iter().enumerate() {
            self.naive.put(self.limit, &name(key), plans.clone());
        }
        let ops: Vec<Op> = asked.iter().map(|question| question.op.clone()).collect();
        let told = self.scripted.ask(&ops, Some(self.clock.now)).map_err(|error| error.to_string())?;
        tally.calls += 1;
        for (question, told) in asked.iter().zip(told) {
            let told = told.map_err(|error| format!("{error}: {:?}", question.op))?;
            self.compare(question, &told, tally)?;
        }
        self.compare_states(&asked, tally)
    }

    fn compare(&mut self, question: &Question, told: &Answer, tally: &mut Tally) -> Result<(), String> {
        let now = Some(self.clock.now);
        match (&question.op, told) {
            (Op::Decide { checks, peek }, Answer::Decided(got)) => {
                let names: Vec<_> = question.keys.iter().map(|key| name(*key)).collect();
                let theirs: Vec<Check<'_>> =
                    checks.iter().zip(&names).map(|(check, name)| self.theirs(check, name)).collect();
                let want = wait(if *peek {
                    self.naive.peek(&theirs, now)
                } else {
                    self.naive.decide(&theirs, now)
                })?;
                if numbers_of(got) != numbers_of(&want) {
                    return Err(format!("the script: {got:?}\nthe naive store: {want:?}\nasked: {checks:?}"));
                }
                self.remember(question, checks, got, &want);
                self.count(checks, got, tally);
            }
            (Op::Refund(_), Answer::Done) => {
                let Some((receipt, quota, give)) = question.refund else { return Ok(()) };
                wait(self.naive.refund(&[Refund { receipt, quota: &quota, give }], now))?;
                tally.refunds += 1;
            }
            (Op::Reset(_), Answer::Done) => {
                for key in &question.keys {
                    wait(self.naive.reset(self.limit, &name(*key)))?;
                }
                tally.resets += 1;
            }
            // What it shows of a long log is not all of it; what is written is compared after the call.
            (Op::Inspect(_), Answer::State(_)) => {}
            (asked, told) => return Err(format!("{told:?} is no answer to {asked:?}")),
        }
        Ok(())
    }

    fn theirs<'c>(&self, check: &'c OwnCheck, name: &'c [u8; 1]) -> Check<'c> {
        Check { limit: self.limit, key: name, quota: &check.quota, ask: check.ask, shadow: check.shadow }
    }

    /// Keeps receipts, and the instants at which waits end.
    fn remember(&mut self, question: &Question, checks: &[OwnCheck], got: &Decided, want: &Decided) {
        let outcomes = got.outcomes.iter().zip(&want.outcomes);
        for ((key, check), (ours, theirs)) in question.keys.iter().zip(checks).zip(outcomes) {
            if let (Some(ours), Some(theirs)) = (ours.receipt, theirs.receipt) {
                self.questions.charges.push(Charge {
                    key: *key,
                    quota: check.quota,
                    receipts: [ours, theirs],
                });
            }
            if let Verdict::Refuse(retry) = ours.decision.answer
                && let Some(wait) = retry.wait()
            {
                self.clock.ends_in(wait);
            }
        }
        let most = 64;
        let many = self.questions.charges.len().saturating_sub(most);
        self.questions.charges.drain(..many);
    }

    fn count(&self, checks: &[OwnCheck], got: &Decided, tally: &mut Tally) {
        for (check, outcome) in checks.iter().zip(&got.outcomes) {
            tally.decisions += 1;
            tally.refused += u64::from(!outcome.decision.is_admitted());
            tally.after_a_step_back += u64::from(self.clock.stepped_back);
            tally.aimed += u64::from(self.clock.aimed);
            if let Some(count) = tally.kinds.get_mut(kind(&check.quota)) {
                *count += 1;
            }
        }
    }

    /// Compares what is written with what the naive store holds, and takes it over.
    fn compare_states(&mut self, asked: &[Question], tally: &mut Tally) -> Result<(), String> {
        let now = self.clock.now;
        let values = self.scripted.values(&self.questions.digests)?;
        for (key, (value, held)) in values.iter().zip(&mut self.held).enumerate() {
            let plans = match value {
                Some(bytes) => decode(bytes).ok_or_else(|| format!("{bytes:?} is no value"))?,
                None => Plans::default(),
            };
            let (mut ours, mut theirs) = (plans.clone(), self.naive.plans(self.limit, &name(key)));
            ours.forget(now);
            theirs.forget(now);
            if encode(&ours) != encode(&theirs) {
                let ops: Vec<&Op> = asked.iter().map(|question| &question.op).collect();
                return Err(format!(
                    "key {key}\nholds {ours:?}\nand not {theirs:?}\nafter {ops:?}\non {held:?}"
                ));
            }
            tally.several += u64::from(!plans.left.is_empty());
            tally.long_logs +=
                u64::from(plans.left.is_empty() && value.as_ref().is_some_and(|it| it.len() > 1_024));
            if let Some((state, quota)) = &plans.current {
                self.clock.ends.push(keep_until(quota, state, now));
            }
            *held = plans;
        }
        Ok(())
    }
}

/// The naive store's name of a key.
fn name(key: usize) -> [u8; 1] {
    [u8::try_from(key).unwrap_or(u8::MAX)]
}

/// Returns what both stores tell alike of a batch: all but the names that receipts carry.
fn numbers_of(decided: &Decided) -> impl PartialEq + use<> {
    let told = decided.outcomes.iter().map(|it| (it.decision, it.receipt.map(|receipt| *receipt.receipt())));
    (decided.admitted, decided.at, told.collect::<Vec<_>>())
}

/// Takes a reply of the naive store, which is there at once.
fn wait<T>(reply: Reply<'_, T>) -> Result<T, String> {
    let answer = reply.now().ok_or("the naive store does not answer")?;
    answer.map_err(|error| error.to_string())
}

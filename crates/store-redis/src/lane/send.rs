//! Sending a call, and what becomes of those who asked when it fails.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use redis::{Cmd, Value};
use tidegate_store::StoreError;

use super::waiting::Waiting;
use super::{LaneOptions, Together};
use crate::counter::CounterCall;
use crate::error::{Failure, Kind};
use crate::link::{Link, Live};
use crate::measures::{Called, Counters, Event};
use crate::op::{Answer, Op};
use crate::script::{Call, Script};

/// A connection on which an answer stays away for so many deadlines, and this long, is taken for dead: the server hangs, or
/// its machine is gone without a word.
const DEADLINES_TO_HANG: u32 = 3;
const LEAST_TO_HANG: Duration = Duration::from_millis(250);

/// So long nothing more is said of shared counters that hold no number.
const BETWEEN_COMPLAINTS: Duration = Duration::from_secs(1);

/// Somebody may flush scripts again and again.
const MOST_LOADS: usize = 8;

/// What sends calls.
#[derive(Debug)]
pub(super) struct Sender {
    pub(super) link: Link,
    pub(super) options: LaneOptions,
    pub(super) counters: Arc<Counters>,
    /// When a shared counter was last complained of.
    pub(super) complained: Mutex<Option<Instant>>,
}

impl Sender {
    /// Complains of a shared counter: every request on it fails alike, and one of them in a while is enough to read.
    fn complain(&self, error: &StoreError) {
        let mut last = self.complained.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_none_or(|last| last.elapsed() >= BETWEEN_COMPLAINTS) {
            *last = Some(Instant::now());
            tracing::error!(%error, "a shared counter cannot be counted on");
        }
    }

    /// Sends a call and answers everybody.
    pub(super) async fn send(&self, batch: Vec<Waiting>) {
        let (Some(first), Some(last)) = (batch.first(), last_deadline(&batch)) else { return };
        let together = first.together;
        // Only the very first connection is waited for.
        let live = match tokio::time::timeout_at(last, self.link.live()).await {
            Ok(Ok(live)) => live,
            Ok(Err(failure)) => return answer_all(batch, &failure),
            Err(_) => return answer_all(batch, &Failure::timeout(false)),
        };
        // Whoever has given up meanwhile is not sent: its caller was told so.
        let batch: Vec<Waiting> = batch.into_iter().filter(|waiting| waiting.asker.take()).collect();
        if !batch.is_empty() {
            self.call(batch, together, &live).await;
        }
    }

    async fn call(&self, batch: Vec<Waiting>, together: Together, live: &Live) {
        match self.answers(&batch, together, live).await {
            Ok(()) => {}
            Err(failure) if failure.kind == Kind::NotPermitted && batch.len() > 1 => {
                if failure.error.may_have_counted() {
                    return answer_all(batch, &failure);
                }
                // One key that this user may not touch is no reason to refuse the others.
                for one in batch {
                    if one.deadline <= tokio::time::Instant::now() {
                        one.asker.answer(Err(Failure::timeout(false)));
                        continue;
                    }
                    let alone = [one];
                    if let Err(failure) = self.answers(&alone, together, live).await {
                        answer_all(alone, &failure);
                    }
                }
            }
            Err(failure) => answer_all(batch, &failure),
        }
    }

    /// Asks in one call and answers each.
    async fn answers(&self, batch: &[Waiting], together: Together, live: &Live) -> Result<(), Failure> {
        if together.counters {
            return self.tallies(batch, together, live).await;
        }
        let ops = batch.iter().map(|waiting| &waiting.op);
        let call = Call::new(&self.options.prefix, ops, together.at);
        self.counters.happened(Event::Question, u64::try_from(batch.len()).unwrap_or(u64::MAX));
        let script = &self.options.script;
        let evalsha = call.evalsha(script.sha1());
        let reply = self.reply((&evalsha, script), (together, last_deadline(batch)), live).await?;
        let read = call.read(&reply).map_err(Failure::unreadable)?;
        self.counters.happened(Event::ForeignValue, read.foreign_values);
        if read.disagreements > 0 {
            self.counters.happened(Event::Disagreement, read.disagreements);
            tracing::error!(
                count = read.disagreements,
                "the script decided otherwise than this program does on what it found; report this with the versions \
                 of both"
            );
        }
        for (waiting, answer) in batch.iter().zip(read.answers) {
            waiting.asker.answer(answer.map_err(Failure::unreadable));
        }
        Ok(())
    }

    /// Asks counters in one call and answers each.
    async fn tallies(&self, batch: &[Waiting], together: Together, live: &Live) -> Result<(), Failure> {
        let tallies = batch.iter().filter_map(|waiting| match &waiting.op {
            Op::Counter(tally) => Some(tally),
            _ => None,
        });
        let call = CounterCall::new(tallies.collect());
        self.counters.happened(Event::Question, u64::try_from(batch.len()).unwrap_or(u64::MAX));
        let script = &self.options.counters;
        let evalsha = call.evalsha(script.sha1());
        let reply = self.reply((&evalsha, script), (together, last_deadline(batch)), live).await?;
        for (waiting, told) in batch.iter().zip(call.read(&reply).map_err(Failure::unreadable)?) {
            if let Err(error) = &told {
                self.counters.happened(Event::ForeignValue, 1);
                self.complain(error);
            }
            waiting.asker.answer(told.map(Answer::Told).map_err(Failure::unreadable));
        }
        Ok(())
    }

    /// Sends a call, and again after the server has forgotten the script, until `last` at the latest.
    async fn reply(
        &self,
        (evalsha, script): (&Cmd, &Script),
        (together, last): (Together, Option<tokio::time::Instant>),
        live: &Live,
    ) -> Result<Value, Failure> {
        let asking = redis::cmd("ASKING");
        let commands: &[&Cmd] = if together.asking { &[&asking, evalsha] } else { &[evalsha] };
        let mut reply = self.sent(commands, live).await;
        // Somebody may flush scripts again and again; what is sent together is hardly ever parted by that.
        for _ in 1..MOST_LOADS {
            let Err(failure) = &reply else { break };
            // Nothing ran, and nothing is to run that nobody waits for.
            if failure.kind != Kind::NoScript || last.is_some_and(|last| last <= tokio::time::Instant::now())
            {
                break;
            }
            tracing::debug!(%failure.error, "the server has forgotten the script");
            self.counters.happened(Event::ScriptLoaded, 1);
            let mut load = redis::cmd("SCRIPT");
            load.arg("LOAD").arg(script.source());
            reply = self.sent(&[&[&load], commands].concat(), live).await;
        }
        reply
    }

    /// Sends commands and waits for the reply to the last, though not on a connection that hangs. Where the server knows no
    /// such script, that it could not be loaded before says more.
    async fn sent(&self, commands: &[&Cmd], live: &Live) -> Result<Value, Failure> {
        self.counters.called(Called::Script);
        let began = Instant::now();
        let mut connection = live.connection.clone();
        // The library hands a server's error over as a value.
        let reply = async {
            if let [alone] = commands {
                return connection.send_packed_command(alone).await.and_then(Value::extract_error);
            }
            let mut all = redis::pipe();
            for command in commands {
                all.add_command((*command).clone());
            }
            let replies = connection.send_packed_commands(&all, 0, commands.len()).await?;
            let mut replies = replies.into_iter().map(Value::extract_error);
            let first = replies.next().unwrap_or(Ok(Value::Nil));
            match (first, replies.next_back().unwrap_or(Ok(Value::Nil))) {
                (Err(why), Err(error)) if Failure::of(&error).kind == Kind::NoScript => Err(why),
                (_, last) => last,
            }
        };
        let patience = (self.options.timeout * DEADLINES_TO_HANG).max(LEAST_TO_HANG);
        let replied = tokio::time::timeout(patience, reply).await;
        self.counters.durations.record(began.elapsed());
        match replied {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(error)) => {
                let failure = Failure::of(&error);
                if failure.kind.ends_connection() {
                    self.link.lost(live);
                }
                Err(failure)
            }
            Err(_) => {
                self.link.lost(live);
                Err(Failure::timeout(true))
            }
        }
    }
}

/// Returns until when somebody waits.
fn last_deadline(batch: &[Waiting]) -> Option<tokio::time::Instant> {
    batch.iter().map(|waiting| waiting.deadline).max()
}

fn answer_all(batch: impl IntoIterator<Item = Waiting>, failure: &Failure) {
    for waiting in batch {
        waiting.asker.answer(Err(failure.clone()));
    }
}

impl Op {
    /// Returns how many keys a question names, at most.
    pub(super) fn keys(&self) -> usize {
        match self {
            Self::Decide { checks, .. } => checks.len(),
            Self::Refund(refunds) => refunds.len(),
            Self::Reset(_) | Self::Inspect(_) | Self::Counter(_) => 1,
        }
    }
}

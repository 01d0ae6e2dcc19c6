//! Asking the store.
//!
//! A refusal of a moment ago is remembered; a breaker keeps requests from waiting for a store that is gone; what the store
//! does not decide, the limits' choices for that case do.

use smallvec::SmallVec;
use tidegate_store::{Check, Decided, Store as _, StoreError};

use crate::combine;
use crate::decisions::Decisions;
use crate::denial::{Asked, Found, Inquiry, Name, Outcome, Turn, Word};
use crate::inner::Inner;
use crate::options::CheckOptions;
use crate::outage::{Pass, is_loss};
use crate::plan::Plan;
use crate::verdict::{LimitDecision, Verdict};

pub(crate) type Checks<'c> = SmallVec<[Check<'c>; 4]>;
type Names = SmallVec<[Name; 4]>;
type Inquiries<'d> = SmallVec<[Inquiry<'d>; 1]>;

/// What the memory of refusals says of a request.
enum Memory<'d> {
    /// It is refused.
    Refused(Verdict),
    /// Whoever asked the store about as much got no answer.
    Failed(StoreError),
    /// The store is to be asked, and these wait for the answer.
    Ask(Inquiries<'d>),
}

impl Inner {
    /// Asks for a plan's decisions and combines them.
    pub(crate) async fn ask(&self, plan: &Plan, options: CheckOptions, verdict: &mut Verdict) {
        if !plan.is_empty() && !self.ask_here(plan, options, verdict) {
            // In a box, since its room is large: a check that is decided here would carry it about.
            *verdict = Box::pin(self.ask_away(plan, options)).await;
        }
    }

    /// Asks a store of this process, which answers at once and has no outages; returns whether there is one.
    fn ask_here(&self, plan: &Plan, options: CheckOptions, verdict: &mut Verdict) -> bool {
        if self.lasting.own_store.is_none() {
            return false;
        }
        let checks = plan.checks(&self.limits, options.max_delay);
        let reply = if options.peek {
            self.store.peek(&checks, options.at)
        } else {
            self.store.decide(&checks, options.at)
        };
        match reply.as_ready() {
            Some(Ok(answer)) => combine::decided(plan, &self.limits, answer, verdict),
            Some(Err(error)) => *verdict = self.unanswered(plan, &checks, options, error),
            None => return false,
        }
        true
    }

    /// Asks a store that others share.
    async fn ask_away(&self, plan: &Plan, options: CheckOptions) -> Verdict {
        let checks = plan.checks(&self.limits, options.max_delay);
        // Who only looks, or says what time it is, asks the store itself.
        let remembers = !options.peek && options.at.is_none() && self.denial_cap().is_some();
        let name = |check| self.lasting.denials.name(check);
        let names: Names = if remembers { checks.iter().map(name).collect() } else { Names::new() };
        let answer = if remembers {
            match self.recollect(plan, &checks, &names).await {
                Memory::Refused(verdict) => return verdict,
                Memory::Failed(error) => {
                    self.lasting.outage.breaker.count_without();
                    Err(error)
                }
                Memory::Ask(inquiries) => {
                    let answer = self.store_answer(&checks, &names, options).await;
                    inquiries.into_iter().for_each(|inquiry| inquiry.end(Outcome::of(&answer)));
                    answer
                }
            }
        } else {
            self.store_answer(&checks, &names, options).await
        };
        match answer {
            Ok(answer) => {
                let mut verdict = Verdict::passing();
                combine::decided(plan, &self.limits, &answer, &mut verdict);
                for (decision, name) in verdict.decisions.iter_mut().zip(names) {
                    decision.name = Some(name);
                }
                verdict
            }
            Err(error) => self.unanswered(plan, &checks, options, &error),
        }
    }

    fn unanswered(
        &self,
        plan: &Plan,
        checks: &Checks<'_>,
        options: CheckOptions,
        error: &StoreError,
    ) -> Verdict {
        self.lasting.observer.store_error();
        tracing::debug!(%error, "decided without the store");
        self.without_store(plan, checks, options)
    }

    /// Asks the store, unless it is known to be gone.
    async fn store_answer(
        &self,
        checks: &Checks<'_>,
        names: &Names,
        options: CheckOptions,
    ) -> Result<Decided, StoreError> {
        let (breaker, clock) = (&self.lasting.outage.breaker, &self.lasting.outage.clock);
        let count = || (!options.peek).then(|| breaker.count_without());
        let sent = clock.now();
        let pass = breaker.pass(sent);
        if let Pass::Without(why) = &pass {
            count();
            return Err(lost(why));
        }
        let answer = if options.peek {
            self.store.peek(checks, options.at).await
        } else {
            self.store.decide(checks, options.at).await
        };
        let known = clock.now();
        self.lasting.observer.durations.record(known.saturating_duration_since(sent));
        match &answer {
            Ok(decided) => {
                breaker.answered(known);
                if let Some(cap) = self.denial_cap() {
                    self.remember(checks, names, decided, Asked { sent, known, cap });
                }
            }
            Err(error) => {
                if is_loss(error) {
                    count();
                }
                self.failed(error, known);
            }
        }
        drop(pass);
        answer
    }

    /// Looks into the memory of refusals, and waits for whoever asks the store whether one still holds.
    async fn recollect(&self, plan: &Plan, checks: &Checks<'_>, names: &Names) -> Memory<'_> {
        loop {
            let (refused, asking) = self.remembered(plan, checks, names);
            if let Some(verdict) = refused {
                return Memory::Refused(verdict);
            }
            // Between two looks somebody may have begun to ask.
            let mut word = match asking.map_or_else(|| self.inquire(checks, names), Err) {
                Ok(inquiries) => return Memory::Ask(inquiries),
                Err(word) => word,
            };
            let outcome = word.wait_for(|outcome| !matches!(outcome, Outcome::Open)).await;
            match outcome.as_deref() {
                Ok(Outcome::Failed(error)) => return Memory::Failed(error.clone()),
                Ok(_) => {}
                // Whoever asked has gone away: it is another's turn.
                Err(_) => continue,
            }
            drop(outcome);
            let (refused, _) = self.remembered(plan, checks, names);
            return refused.map_or_else(|| Memory::Ask(Inquiries::new()), Memory::Refused);
        }
    }

    /// Takes the turn to ask about every refusal whose turn is free; the word of somebody else when it is his turn first. One
    /// holds no inquiry while it waits for another's: two that did might wait for each other.
    fn inquire(&self, checks: &Checks<'_>, names: &Names) -> Result<Inquiries<'_>, Word> {
        let now = self.lasting.outage.clock.now();
        let mut inquiries = Inquiries::new();
        for (check, name) in checks.iter().zip(names).filter(|(check, _)| !check.shadow) {
            match self.lasting.denials.inquire(*name, check, now) {
                Turn::Ours(inquiry) => inquiries.push(inquiry),
                Turn::Anothers(word) if inquiries.is_empty() => return Err(word),
                Turn::Anothers(_) | Turn::Nobodys => {}
            }
        }
        Ok(inquiries)
    }

    /// Returns the verdict on a request one of whose limits has just refused as much, when the others are not asked; and what
    /// tells of somebody who asks whether one of them still refuses.
    fn remembered(&self, plan: &Plan, checks: &Checks<'_>, names: &Names) -> (Option<Verdict>, Option<Word>) {
        let now = self.lasting.outage.clock.now();
        let mut decisions = Decisions::default();
        let (mut at, mut asking) = (None, None);
        let all = checks.iter().zip(names).zip(plan.limits(&self.limits)).enumerate();
        for (place, ((check, name), limit)) in all.filter(|(_, ((check, _), _))| !check.shadow) {
            match self.lasting.denials.find(*name, check, now) {
                Found::Refused(decision, when) => {
                    at = at.max(Some(when));
                    decisions.push(LimitDecision::new(limit.clone(), decision, None, place));
                }
                Found::Asking(word) => asking = asking.or(Some(word)),
                Found::Nothing => {}
            }
        }
        if decisions.is_empty() {
            return (None, asking);
        }
        self.lasting.denials.count_hit();
        let ruling = combine::ruling(&decisions);
        (Some(Verdict { decisions, at, ..Verdict::without_decisions(ruling) }), asking)
    }

    fn remember(&self, checks: &Checks<'_>, names: &Names, decided: &Decided, asked: Asked) {
        for ((check, name), outcome) in checks.iter().zip(names).zip(&decided.outcomes) {
            // Of two on one key the second was decided behind the first: as much alone might pass.
            let is_alone = names.iter().filter(|other| *other == name).count() == 1;
            let refuses = !check.shadow && !outcome.decision.is_admitted();
            if refuses && is_alone && self.may_remember(check.limit) {
                let what = (outcome.decision, decided.at);
                self.lasting.denials.remember((*name, check), what, asked);
            }
        }
    }
}

/// Returns the error of a call that is not made, since the store did not answer lately.
pub(crate) fn lost(why: &str) -> StoreError {
    StoreError::unavailable(format!("it did not answer lately: {why}"))
}

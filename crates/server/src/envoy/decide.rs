//! Deciding a question within its time.
//!
//! Envoy waits 20 ms unless it is told otherwise, and lets pass what comes later. What the store has not decided within a
//! shorter time is therefore decided without it, as the limits choose for that case. The call to the store goes on: what it
//! charges stays charged, and an outage is noticed by whoever watches the store.

use std::sync::Arc;
use std::time::Duration;

use smallvec::SmallVec;
use tidegate::policy_file::{self, Counting, Policy};
use tidegate::{
    CheckOptions, DescriptorAnswer, DescriptorAsk, DescriptorStatus, DescriptorsVerdict, Snapshot, Span,
};

use super::question::{Descriptor, Question};

type Asks<'a> = SmallVec<[DescriptorAsk<'a>; 2]>;
type Entries<'a> = SmallVec<[(&'a str, &'a str); 4]>;

/// How a question is decided.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    counting: Counting,
    timeout: Duration,
}

/// Nobody holds a request here: what would have to wait for a leaky bucket is refused.
const OPTIONS: CheckOptions = CheckOptions { at: None, max_delay: Span::ZERO, cost: None, peek: false };

impl Terms {
    /// Returns the policy's, or what a policy without this face would have.
    pub(super) fn of(policy: &Policy) -> Self {
        let face = policy.envoy.as_ref();
        Self {
            counting: face.map_or(Counting::AllOrNothing, |face| face.counting),
            timeout: face.map_or(Duration::from_millis(12), |face| face.timeout.as_duration()),
        }
    }
}

/// Decides a question; by a store that answers at once without a timer, a task and all they need.
pub(super) async fn decide(
    snapshot: &Snapshot,
    question: &Arc<Question>,
    terms: Terms,
) -> DescriptorsVerdict {
    if snapshot.answers_at_once() {
        return ask(snapshot, question, terms.counting).await;
    }
    let (asked, of, counting) = (snapshot.clone(), Arc::clone(question), terms.counting);
    let mut asking = Box::pin(async move { ask(&asked, &of, counting).await });
    if let Ok(verdict) = tokio::time::timeout(terms.timeout, &mut asking).await {
        return verdict;
    }
    tokio::spawn(asking);
    tracing::debug!(timeout = ?terms.timeout, "no decision in time for Envoy: decided without the store");
    let entries = entries(question);
    snapshot.descriptors_without_store(&asks(question, &entries), counting, OPTIONS)
}

/// Gives back what is to be given back, looks where only a look is wanted, then asks about the whole.
async fn ask(snapshot: &Snapshot, question: &Question, counting: Counting) -> DescriptorsVerdict {
    let entries = entries(question);
    let all = asks(question, &entries);
    give_back(snapshot, question, &all).await;
    if !question.descriptors.iter().any(Descriptor::is_look) {
        return snapshot.check_descriptors(&all, counting, OPTIONS).await;
    }
    let looked = look(snapshot, (question, &all), counting).await;
    let nothing_left = |place: usize| {
        let is_look = question.descriptors.get(place).is_some_and(Descriptor::is_look);
        is_look && looked.answers.get(place).is_some_and(is_over)
    };
    if !looked.verdict.is_allowed() && (0..all.len()).any(nothing_left) {
        if counting == Counting::Each {
            // What a look finds keeps the others from nothing: each is charged by itself.
            let _ = snapshot.check_descriptors(&all, counting, OPTIONS).await;
        }
        return looked;
    }
    let mut decided = snapshot.check_descriptors(&all, counting, OPTIONS).await;
    for (place, answer) in decided.answers.iter_mut().enumerate() {
        // Where a rule's quota alone is used up, the call passes, and is told whose.
        if let DescriptorStatus::Decided { over, .. } = &mut answer.status {
            *over |= nothing_left(place);
        }
    }
    decided
}

/// Asks whether one unit would be admitted where only a look is wanted, and takes nothing.
///
/// By the limits alone a look never is refused. But what is charged once an answer is done (`apply_on_stream_done`) is refused
/// to nobody either, and such a pair would limit nothing: so a look is refused where nothing is left.
async fn look(
    snapshot: &Snapshot,
    (question, all): (&Question, &[DescriptorAsk<'_>]),
    counting: Counting,
) -> DescriptorsVerdict {
    let ones = all.iter().zip(&question.descriptors).map(|(ask, descriptor)| DescriptorAsk {
        hits: if descriptor.is_look() { Some(1) } else { ask.hits },
        ..ask.clone()
    });
    let ones: Vec<_> = ones.collect();
    snapshot.check_descriptors(&ones, counting, CheckOptions { peek: true, ..OPTIONS }).await
}

fn is_over(answer: &DescriptorAnswer) -> bool {
    matches!(answer.status, DescriptorStatus::Decided { over: true, .. })
}

async fn give_back(snapshot: &Snapshot, question: &Question, asks: &[DescriptorAsk<'_>]) {
    let asked = asks.iter().zip(&question.descriptors).filter(|(_, descriptor)| descriptor.gives_back);
    let given: Vec<_> =
        asked.map(|(ask, descriptor)| DescriptorAsk { hits: descriptor.hits, ..ask.clone() }).collect();
    if given.is_empty() {
        return;
    }
    if let Err(error) = snapshot.give_back_descriptors(&given, None).await {
        // That the store is lost is told by whoever watches it.
        tracing::debug!(%error, domain = question.domain.as_str(), "hits were not given back; they stay charged");
    }
}

/// What is given back is looked at besides, so that its status tells where it stands.
fn asks<'a>(question: &'a Question, entries: &'a [(&'a str, &'a str)]) -> Asks<'a> {
    let mut rest = entries;
    let asks = question.descriptors.iter().map(|descriptor| {
        let (entries, others) = rest.split_at_checked(descriptor.entries.len()).unwrap_or_default();
        rest = others;
        DescriptorAsk {
            descriptor: policy_file::Descriptor { domain: question.domain.as_str(), entries },
            hits: if descriptor.gives_back { Some(0) } else { descriptor.hits },
            limit: descriptor.limit.clone(),
        }
    });
    asks.collect()
}

/// Returns the entries of all descriptors, one after the other.
fn entries(question: &Question) -> Entries<'_> {
    question.descriptors.iter().flat_map(Descriptor::entries).collect()
}

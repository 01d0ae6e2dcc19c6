//! Envoy's descriptors: one call about several, decided in one call of the store.
//!
//! Each descriptor is read like a request of its own; what they ask is one plan. Counted all or nothing, a call that is
//! refused takes nothing of any of its limits. Counted each by itself, every limit is charged that admits, whatever the
//! others say, and what one that refuses had left is used up: so envoyproxy/ratelimit counts.

mod ask;
mod give_back;
mod judge;
mod without;

use tidegate_policy as file;

use crate::inner::Inner;
use crate::limit::Limit;
use crate::limiter::Snapshot;
use crate::options::CheckOptions;
use crate::policy::tell;
use crate::verdict::{Ruling, Verdict};

pub(crate) use ask::Call;

/// One descriptor, and what is asked about it.
#[derive(Debug, Clone)]
pub struct DescriptorAsk<'a> {
    /// The descriptor.
    pub descriptor: file::Descriptor<'a>,
    /// The units it takes of every limit that applies; each limit's own cost when `None`, and nothing when zero: then every
    /// limit that can be asked at all admits it, also one of which nothing is left.
    pub hits: Option<u32>,
    /// A limit that stands in for what the policy says of the descriptor. It is counted on the domain and all entries, under
    /// one name for all such limits, which no limit of a policy bears.
    pub limit: Option<Limit>,
}

/// The answer for a call about several descriptors.
#[derive(Debug)]
#[must_use = "a verdict that nobody looks at limits nothing"]
pub struct DescriptorsVerdict {
    /// What becomes of the request the call is about. A refusal of a rule's quota terms alone counts among its decisions as
    /// a shadow limit's, while not all of them refuse.
    pub verdict: Verdict,
    /// What is to be said of each descriptor, in the order of the call.
    pub answers: Vec<DescriptorAnswer>,
}

/// What is to be said of one descriptor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescriptorAnswer {
    /// The rules that apply to it and that no other replaces, by their indices in the policy's rules.
    pub rules: Vec<usize>,
    /// What they say.
    pub status: DescriptorStatus,
}

/// What the limits of one descriptor say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DescriptorStatus {
    /// No limit has decided anything of it: none applies, none was asked since another refused from memory, the store did
    /// not answer, or the call was turned away as it came.
    Unmatched,
    /// A rule that applies says it is unlimited, and no limit applies.
    Unlimited,
    /// Limits have.
    Decided {
        /// The index of the decision to tell, in the verdict's: the tightest, and of a refusal the one with the longest
        /// wait. A shadow limit's only where no other has decided.
        by: usize,
        /// Whether one of them refuses that is no shadow.
        over: bool,
    },
}

impl DescriptorsVerdict {
    /// Returns the answer for a call that no limit was asked about.
    fn turned_away(ruling: Ruling, asks: usize) -> Self {
        let unmatched = DescriptorAnswer { rules: Vec::new(), status: DescriptorStatus::Unmatched };
        Self { verdict: Verdict::without_decisions(ruling), answers: vec![unmatched; asks] }
    }
}

impl Snapshot {
    /// Decides a call about descriptors by the policy, in one call of the store.
    ///
    /// - A rule that [replaces] others drops them everywhere in the call, if it applies to any of its descriptors.
    /// - The limits of [quota] rules refuse the call only when every descriptor of it that has such limits is refused.
    /// - The fallback applies when no enforced limit looked at any descriptor: to each that is not unlimited and has the
    ///   fallback's keys, once where several have the same.
    /// - A rule that refuses, and a key that is missing where it is required or cannot be read in one way only, turn the
    ///   whole call away. So does a key in a shadow limit not.
    ///
    /// A call that is refused all or nothing has taken nothing, but where quota rules alone refuse it: then what was
    /// charged is given back, and others may have met the charge meanwhile. Whoever may be cancelled spawns it, so that it is
    /// not stopped half way.
    ///
    /// [replaces]: file::EnvoyTerms::replaces
    /// [quota]: file::EnvoyTerms::quota
    pub async fn check_descriptors(
        &self,
        asks: &[DescriptorAsk<'_>],
        counting: file::Counting,
        options: CheckOptions,
    ) -> DescriptorsVerdict {
        let call = match self.inner.call(asks, counting, options) {
            Ok(call) => call,
            Err(stop) => {
                if !options.peek {
                    self.inner.lasting.observer.request(&stop);
                }
                if let Ruling::BadRequest(bad) = &stop {
                    tracing::debug!(why = %bad, "refused as a bad request");
                }
                return DescriptorsVerdict::turned_away(stop, asks.len());
            }
        };
        let decided = self.inner.decide(&call, counting, options).await;
        tell(&decided.verdict);
        decided
    }
}

impl Inner {
    /// Decides a call that has been planned.
    pub(crate) async fn decide(
        &self,
        call: &Call,
        counting: file::Counting,
        options: CheckOptions,
    ) -> DescriptorsVerdict {
        let mut verdict = Verdict::passing();
        self.ask(&call.plan, options, &mut verdict).await;
        let answers = call.answers(&verdict);
        call.judge(&mut verdict);
        if !options.peek {
            self.settle_call(call, &answers, counting, (&mut verdict, options)).await;
        }
        self.finish(&call.plan, options, &mut verdict);
        DescriptorsVerdict { verdict, answers }
    }

    /// Gives back and uses up what the outcome of a call asks for.
    async fn settle_call(
        &self,
        call: &Call,
        answers: &[DescriptorAnswer],
        counting: file::Counting,
        (verdict, options): (&mut Verdict, CheckOptions),
    ) {
        match counting {
            file::Counting::AllOrNothing if call.has_quota() => {
                self.give_back_refused(call, answers, verdict, options.at).await;
            }
            file::Counting::AllOrNothing => {}
            file::Counting::Each => self.use_up(call, verdict, options).await,
        }
    }
}

//! Why a request gets the verdict it gets: every rule, every key that is read, every state, in order.
//!
//! What applies, what is read and what is skipped is asked of the code that decides; here it is only written down.

mod call;
mod telling;

use tidegate_policy::{Client, Identities, KeyPart, ReadyKeys, Request};

use crate::limiter::Snapshot;
use crate::options::CheckOptions;
use crate::policy::bad;
use crate::verdict::{BadKey, LimitDecision, Verdict};

pub use call::{CallWhy, DescriptorWhy};

use telling::Telling;

/// What is behind a verdict.
#[derive(Debug, Clone)]
pub struct Why {
    /// The path as rules compare it; what cannot be read of it otherwise.
    pub path: Result<String, BadKey>,
    /// Whom the request comes from, unless the peer is unknown.
    pub client: Option<Client>,
    /// Every key that the file declares, as it was read, whether a limit counts on it or not; of those that a rule's path
    /// has, by the first that applies. Not those that cannot be read in one way only, and none when no rule applies.
    pub keys: Vec<KeyWhy>,
    /// Every rule, in the order of the file, the fallback last.
    pub rules: Vec<RuleWhy>,
    /// The verdict.
    pub verdict: Verdict,
}

/// A rule, and whether it applies.
#[derive(Debug, Clone)]
pub struct RuleWhy {
    /// Its name.
    pub name: String,
    /// Whether it applies.
    pub applies: bool,
    /// Why, as the end of a sentence that begins with the rule: `is for POST, and this is GET`.
    pub because: String,
    /// Its limits, if it applies.
    pub limits: Vec<LimitWhy>,
}

/// A limit of a rule that applies.
#[derive(Debug, Clone)]
pub struct LimitWhy {
    /// Its name, `rule/limit`.
    pub name: String,
    /// What was read for each part of its key; nothing when a part cannot be read in one way only.
    pub key: Vec<KeyWhy>,
    /// What it did.
    pub looked: Looked,
    /// What it did not heed, each in a sentence: terms that have ended, a plan or a cost named by nobody it believes. And
    /// the exceptions that an operator has made at run time for everybody or for the request's key.
    pub notes: Vec<String>,
    /// The name under which its counts are kept, and the key as it is counted, if it is.
    counted: Option<(String, Vec<u8>)>,
}

/// A part of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyWhy {
    /// Its name in the file.
    pub name: String,
    /// Where it is read, in words.
    pub source: String,
    /// What was found, normalised; `None` when nothing is there. An identity: whoever shows it elsewhere than on the
    /// operator's own terminal shows a keyed hash.
    pub value: Option<String>,
}

/// What a limit did with a request.
#[derive(Debug, Clone)]
pub enum Looked {
    /// It was asked, unless the request was turned away before any limit was.
    Asked {
        /// For so many units.
        units: u32,
        /// Under these terms, where others have others.
        terms: Option<ChosenTerms>,
        /// What it said; `None` when the request was turned away without asking.
        decision: Option<Box<LimitDecision>>,
    },
    /// It did not look, since the request lacks its key.
    Skipped,
    /// Its key, cost or plan cannot be read in one way only, or its key is missing and required.
    Unreadable(BadKey),
}

/// Terms that were chosen for a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenTerms {
    /// The plan's name, or the value that an override is for, as the file writes it.
    pub name: String,
    /// Why, as the end of a sentence that begins with the name: `is the default plan`.
    pub because: String,
}

impl Why {
    /// Returns the names of the rules that apply, in order.
    pub fn applying(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().filter(|rule| rule.applies).map(|rule| rule.name.as_str())
    }

    /// Returns the limits of the rules that apply, in order.
    pub fn limits(&self) -> impl Iterator<Item = &LimitWhy> {
        self.rules.iter().flat_map(|rule| &rule.limits)
    }
}

impl KeyWhy {
    fn of(part: KeyPart<'_>) -> Self {
        Self { name: part.name.to_owned(), source: part.source, value: part.value }
    }
}

impl LimitWhy {
    /// Returns what the limit said, if it was asked.
    pub fn decision(&self) -> Option<&LimitDecision> {
        match &self.looked {
            Looked::Asked { decision, .. } => decision.as_deref(),
            _ => None,
        }
    }

    /// Returns the name under which its key leaves the process; `None` when it counts on none.
    pub fn identity(&self, identities: &Identities) -> Option<String> {
        self.counted.as_ref().map(|(limit, key)| identities.identity(limit, key))
    }
}

impl Snapshot {
    /// Says why a request would get the verdict it would get at this moment. It is a look: nothing is charged.
    ///
    /// Without a policy there is no rule to speak of.
    pub async fn why(&self, request: &Request<'_>, ready: Option<&ReadyKeys>, options: CheckOptions) -> Why {
        let verdict = self.check_with(request, ready, CheckOptions { peek: true, ..options }).await;
        self.why_of(request, ready, options, &verdict)
    }

    /// Says why a request got a verdict, which has to come from this snapshot, by the same request and options.
    pub fn why_of(
        &self,
        request: &Request<'_>,
        ready: Option<&ReadyKeys>,
        options: CheckOptions,
        verdict: &Verdict,
    ) -> Why {
        let none =
            |path| Why { path, client: None, keys: Vec::new(), rules: Vec::new(), verdict: verdict.clone() };
        let Some(compiled) = &self.inner.policy else { return none(Ok(request.path.to_owned())) };
        let policy = &*compiled.policy;
        let seen = match policy.see_at(request, ready, compiled.dates.at(options)) {
            Ok(seen) => seen,
            Err(ambiguous) => return none(Err(bad(&ambiguous))),
        };
        let telling = Telling { compiled, seen: &seen, cost: options.cost, verdict, part: None };
        Why {
            path: Ok(seen.path().to_owned()),
            client: seen.client(),
            keys: telling.keys(),
            rules: telling.rules(),
            verdict: verdict.clone(),
        }
    }
}

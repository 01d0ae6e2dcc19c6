//! Why a request gets the verdict it gets: every rule, every key that is read, every state, in order.
//!
//! What applies, what is read and what is skipped is asked of the code that decides; here it is only written down.

use tidegate_policy as file;
use tidegate_policy::{Client, Fit, Identities, KeyPart, Matched, ReadyKeys, Request, Seen, Whose};

use crate::compile::Compiled;
use crate::limiter::Snapshot;
use crate::options::CheckOptions;
use crate::plan::Terms;
use crate::policy::bad;
use crate::verdict::{BadKey, LimitDecision, Ruling, Verdict};

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
        let telling = Telling { compiled, seen: &seen, cost: options.cost, verdict };
        Why {
            path: Ok(seen.path().to_owned()),
            client: seen.client(),
            keys: telling.keys(),
            rules: telling.rules(),
            verdict: verdict.clone(),
        }
    }
}

/// What is told of one request.
struct Telling<'a> {
    compiled: &'a Compiled,
    seen: &'a Seen<'a>,
    cost: Option<u32>,
    verdict: &'a Verdict,
}

impl Telling<'_> {
    fn rules(&self) -> Vec<RuleWhy> {
        let policy = &self.compiled.policy;
        let mut rules: Vec<_> = policy
            .trace(self.seen)
            .iter()
            .map(|trace| RuleWhy {
                name: trace.rule.name.clone(),
                applies: trace.fit.matched().is_some(),
                because: because(&trace.fit),
                limits: trace.fit.matched().map(|matched| self.limits(matched)).unwrap_or_default(),
            })
            .collect();
        if let Some(fallback) = policy.fallback_for(self.seen) {
            let applies = self.reaches_fallback();
            let because = if applies {
                "applies, since no enforced limit looked"
            } else {
                "is for what no enforced limit looks at"
            };
            rules.push(RuleWhy {
                name: fallback.rule.name.clone(),
                applies,
                because: because.to_owned(),
                limits: if applies { self.limits(&fallback) } else { Vec::new() },
            });
        }
        rules
    }

    /// Reads the keys that are declared under every rule that applies, since a path may have its own parts for each.
    fn keys(&self) -> Vec<KeyWhy> {
        let policy = &self.compiled.policy;
        let mut keys: Vec<KeyWhy> = Vec::new();
        for matched in policy.matching(self.seen).chain(policy.fallback_for(self.seen)) {
            for part in policy.show_keys(&matched.facts).flatten() {
                match keys.iter_mut().find(|known| known.name == part.name) {
                    None => keys.push(KeyWhy::of(part)),
                    Some(known) if known.value.is_none() && part.value.is_some() => *known = KeyWhy::of(part),
                    Some(_) => {}
                }
            }
        }
        keys
    }

    /// Returns whether every enforced limit of the rules that apply leaves the request alone.
    fn reaches_fallback(&self) -> bool {
        let looks = |matched: &Matched<'_>, limit: &file::Limit| {
            let mode = match self.read(limit, matched, &mut Vec::new()) {
                Ok(None) => return false,
                Ok(Some(terms)) => limit.mode_of(terms.variant),
                Err(_) => limit.mode,
            };
            mode == file::Mode::Enforce
        };
        let policy = &self.compiled.policy;
        let looked = policy
            .matching(self.seen)
            .any(|matched| matched.rule.limits.iter().any(|limit| looks(&matched, limit)));
        !looked && !matches!(self.verdict.ruling(), Ruling::Denied(_))
    }

    fn limits(&self, matched: &Matched<'_>) -> Vec<LimitWhy> {
        matched.rule.limits.iter().map(|limit| self.limit(limit, matched)).collect()
    }

    fn limit(&self, limit: &file::Limit, matched: &Matched<'_>) -> LimitWhy {
        let shown = limit.key.show(&matched.facts).unwrap_or_default();
        let key = shown.into_iter().map(KeyWhy::of);
        let mut bytes = Vec::new();
        let looked = match self.read(limit, matched, &mut bytes) {
            Err(bad) => Looked::Unreadable(bad),
            Ok(None) => Looked::Skipped,
            Ok(Some(terms)) => Looked::Asked {
                units: terms.cost,
                terms: chosen(limit, terms.variant),
                decision: self.decision(&limit.name).cloned().map(Box::new),
            },
        };
        let is_counted = matches!(looked, Looked::Asked { .. }) && !limit.key.is_global();
        let counted = is_counted.then(|| (limit.storage_name().to_owned(), bytes));
        let mut notes =
            if matches!(looked, Looked::Asked { .. }) { limit.unheeded(&matched.facts) } else { Vec::new() };
        notes.extend(limit.exceptions(&matched.facts).into_iter().map(exception));
        LimitWhy { name: limit.name.clone(), key: key.collect(), looked, notes, counted }
    }

    fn read(
        &self,
        limit: &file::Limit,
        matched: &Matched<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<Terms>, BadKey> {
        self.compiled.read(limit, (matched, None), self.cost, out)
    }

    fn decision(&self, limit: &str) -> Option<&LimitDecision> {
        self.verdict.decisions().iter().find(|decision| decision.limit.name() == limit)
    }
}

/// Says why a rule applies or does not, and what that means for a rule that refuses.
fn because(fit: &Fit<'_>) -> String {
    match fit.matched().and_then(|matched| Some((matched.rule.refuse.as_ref()?, matched.rule.mode))) {
        Some((refuse, file::Mode::Enforce)) => format!("{fit} and lets nothing through: {}", refuse.because),
        Some((refuse, file::Mode::Shadow)) => {
            format!("{fit} and would let nothing through, were it no shadow: {}", refuse.because)
        }
        None => fit.to_string(),
    }
}

/// Says what an operator's exception does with a request, until when, and why.
fn exception(overlay: &file::overlay::Overlay) -> String {
    let whose = if overlay.key.is_some() { "this key" } else { "everybody" };
    let because: String = overlay.because.chars().flat_map(char::escape_debug).collect();
    let until = file::overlay::instant(overlay.until);
    format!("overridden for {whose} until {until}: {}, because \"{because}\"", overlay.set)
}

/// Says which terms a limit was asked under, if it has several.
fn chosen(limit: &file::Limit, variant: usize) -> Option<ChosenTerms> {
    let (whose, _) = limit.variants().nth(variant)?;
    Some(match whose {
        Whose::Everybody => return None,
        Whose::Plan(name) => {
            let plans = limit.plans.as_ref()?;
            let because = if plans.default == variant {
                format!("is the default plan; others are named by {}", plans.by())
            } else {
                format!("is the plan that {} names", plans.by())
            };
            ChosenTerms { name: name.to_owned(), because }
        }
        Whose::Key(value) => {
            let found = limit.overrides.iter().find(|one| one.value == value).map(|one| one.because.as_str());
            let made = || limit.overlays.list().iter().find(|one| one.key.as_deref() == Some(value));
            let because = found.or_else(|| made().map(|one| one.because.as_str())).unwrap_or_default();
            ChosenTerms { name: value.to_owned(), because: format!("has its own terms: {because}") }
        }
    })
}

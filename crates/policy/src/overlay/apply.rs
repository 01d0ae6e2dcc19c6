//! Laying exceptions over a policy, each held against the limit it is for.

use std::fmt;

use tidegate_algorithms::Quota;

use super::keyed::{KeyTerms, Keyed, is_identity};
use super::scale::{nothing, numbers, scaled};
use super::{Overlay, Set, SetMode};
use crate::diff::{Strictness, strictness};
use crate::file::nearest;
use crate::limit::{Limit, Terms};
use crate::policy::{Mode, Policy};
use crate::secret::Identities;
use crate::validate;
use crate::written::parse_quota;

/// What an exception came to: the words and the numbers that are in force while it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Became {
    /// The plan they are of, where a limit has plans and each has its own.
    pub plan: Option<String>,
    /// The sentence that Tidegate writes for them.
    pub says: String,
    /// The algorithm with its numbers.
    pub numbers: String,
    /// The algorithm with its numbers by the file.
    pub was: String,
    /// What it admits at once, by the file and now.
    pub at_once: (u32, u32),
    /// Whether it admits more or less than by the file.
    pub strictness: Strictness,
}

/// Why an exception cannot be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfit {
    /// Whether no limit of the policy has the name.
    pub is_unknown_limit: bool,
    /// Why, and what to do.
    pub why: String,
}

impl Unfit {
    fn new(why: impl Into<String>) -> Self {
        Self { is_unknown_limit: false, why: why.into() }
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for Unfit {}

/// Lays exceptions over a policy, and returns the policy that is so, with what each exception came to in the order they
/// are given. One that does not fit changes nothing. `identities` names the keys that exceptions are for.
///
/// Numbers are made from those of the policy that is given: it has to be the file's, without exceptions. Of two for the
/// same limit and key the later holds.
pub fn overlaid(
    policy: &Policy,
    overlays: &[Overlay],
    identities: Option<&Identities>,
) -> (Policy, Vec<Result<Vec<Became>, Unfit>>) {
    let mut over = policy.clone();
    let limits: Vec<&Limit> = policy.limits().collect();
    let outcome = overlays.iter().map(|overlay| {
        let own = limits.iter().find(|limit| limit.name == overlay.limit);
        let own = own.ok_or_else(|| unknown(&overlay.limit, policy))?;
        let left_over = over.fallback.iter_mut().flat_map(|rule| &mut rule.limits);
        let limit = over.rules.limits_mut().chain(left_over).find(|limit| limit.name == overlay.limit);
        let limit = limit.ok_or_else(|| unknown(&overlay.limit, policy))?;
        // One of several plans may be what it does not fit.
        let mut with = limit.clone();
        let became = lay(overlay, own, &mut with, identities)?;
        *limit = with;
        Ok(became)
    });
    let outcome = outcome.collect();
    (over, outcome)
}

fn unknown(name: &str, policy: &Policy) -> Unfit {
    let shown: String = name.chars().take(200).flat_map(char::escape_debug).collect();
    let known: Vec<&str> = policy.limits().map(|limit| limit.name.as_str()).collect();
    let labelled = labelled(name, policy);
    let why = match nearest(name, known.iter().copied()) {
        _ if !labelled.is_empty() => {
            let names = some_of(&labelled);
            format!("no limit is called \"{shown}\", which is what Envoy is told; here it is {names}")
        }
        Some(near) => format!("no limit is called \"{shown}\"; did you mean \"{near}\"?"),
        None if known.is_empty() => format!("no limit is called \"{shown}\"; the policy has none"),
        None => format!("no limit is called \"{shown}\"; there are {}", some_of(&known)),
    };
    Unfit { is_unknown_limit: true, why }
}

/// Returns the limits of the rules that Envoy is told under a name, as it stands in its headers and metrics.
fn labelled<'p>(name: &str, policy: &'p Policy) -> Vec<&'p str> {
    let label = name.rsplit_once('/').map_or(name, |(rule, _)| rule);
    let is = |told: &String| !told.is_empty() && (told == name || told == label);
    let rules = policy.rules.iter().filter(|rule| rule.envoy.label.as_ref().is_some_and(is));
    rules.flat_map(|rule| &rule.limits).map(|limit| limit.name.as_str()).collect()
}

/// Lists names, not all where they are many.
fn some_of(names: &[&str]) -> String {
    const MOST: usize = 20;
    let listed: Vec<&str> = names.iter().take(MOST).copied().collect();
    let more = if names.len() > MOST { ", …" } else { "" };
    format!("{}{more}", listed.join(", "))
}

/// Lays an exception over a limit, whose terms by the file are `own`'s.
fn lay(
    overlay: &Overlay,
    own: &Limit,
    limit: &mut Limit,
    identities: Option<&Identities>,
) -> Result<Vec<Became>, Unfit> {
    let became = match &overlay.key {
        None => lay_on_all(&overlay.set, own, limit)?,
        Some(identity) => {
            let identities = identities.filter(|_| is_identity(identity) && !own.key.is_global());
            let Some(identities) = identities else {
                return Err(Unfit::new(format!("{} has no such key", own.name)));
            };
            limit.overlays.identities = Some(identities.clone());
            lay_on_key(&overlay.set, identity, own, limit)?
        }
    };
    let list = &mut limit.overlays.list;
    list.retain(|one| one.key != overlay.key);
    match overlay.key {
        None => list.insert(0, overlay.clone()),
        Some(_) => list.push(overlay.clone()),
    }
    Ok(became)
}

fn lay_on_all(set: &Set, own: &Limit, limit: &mut Limit) -> Result<Vec<Became>, Unfit> {
    match set {
        Set::Mode(SetMode::Shadow) => limit.mode = Mode::Shadow,
        Set::Mode(SetMode::Off) => limit.overlays.off = true,
        Set::Mode(SetMode::Refuse) => {
            limit.mode = Mode::Enforce;
            let all = own.clone();
            replace(limit, true, |terms| Ok(refusing(&all, terms)))?;
        }
        Set::Number(_) | Set::Terms(_) => {
            let with = |terms: &Terms| changed(set, own, terms);
            replace(limit, false, with)?;
        }
    }
    if matches!(set, Set::Mode(SetMode::Off)) {
        return Ok(Vec::new());
    }
    let plans = |limit: &'_ Limit| limit.plans.clone().map_or_else(Vec::new, |plans| plans.list);
    let both = plans(own).into_iter().zip(plans(limit));
    let mut became: Vec<Became> =
        both.map(|(own, plan)| became(set, Some(&plan.name), (&own.terms, &plan.terms))).collect();
    if became.is_empty() {
        became.push(self::became(set, None, (&own.terms, &limit.terms)));
    }
    Ok(became)
}

/// Replaces the terms of a limit, of all its plans, and of the keys that the file has terms for if these are meant too.
fn replace(
    limit: &mut Limit,
    keys_too: bool,
    with: impl Fn(&Terms) -> Result<Terms, Unfit>,
) -> Result<(), Unfit> {
    let own = with(&limit.terms)?;
    for plan in limit.plans.iter_mut().flat_map(|plans| &mut plans.list) {
        plan.terms = with(&plan.terms)?;
    }
    for one in limit.overrides.iter_mut().filter(|_| keys_too) {
        one.terms = with(&one.terms)?;
    }
    limit.terms = own;
    Ok(())
}

fn lay_on_key(set: &Set, identity: &str, own: &Limit, limit: &mut Limit) -> Result<Vec<Became>, Unfit> {
    let (terms, mode): (Vec<Terms>, Mode) = match set {
        Set::Mode(SetMode::Off) => (Vec::new(), own.mode),
        Set::Mode(SetMode::Shadow) => {
            // Whatever plan the key is on, it stays on.
            let plans = own.plans.iter().flat_map(|plans| &plans.list).map(|plan| plan.terms.clone());
            let plans: Vec<Terms> = plans.collect();
            (if plans.is_empty() { vec![own.terms.clone()] } else { plans }, Mode::Shadow)
        }
        Set::Mode(SetMode::Refuse) => (vec![refusing(own, &own.terms)], Mode::Enforce),
        Set::Number(_) | Set::Terms(_) => (vec![changed(set, own, &own.terms)?], own.mode),
    };
    let became = match (terms.as_slice(), &own.plans) {
        ([one], _) => vec![became(set, None, (&own.terms, one))],
        (several, Some(plans)) => {
            let both = several.iter().zip(&plans.list);
            both.map(|(terms, plan)| became(set, Some(&plan.name), (&plan.terms, terms))).collect()
        }
        _ => Vec::new(),
    };
    let overlays = &mut limit.overlays;
    overlays.keys.retain(|one| one.identity != identity);
    let first = overlays.terms.len();
    overlays.keys.push(Keyed { identity: identity.to_owned(), first, count: terms.len() });
    let terms = terms.into_iter();
    overlays.terms.extend(terms.map(|terms| KeyTerms { identity: identity.to_owned(), terms, mode }));
    Ok(became)
}

fn became(set: &Set, plan: Option<&str>, (own, terms): (&Terms, &Terms)) -> Became {
    let numbers = |terms: &Terms| format!("{}: {}", terms.quota.algorithm(), terms.numbers);
    Became {
        plan: plan.map(str::to_owned),
        says: terms.says.clone(),
        numbers: numbers(terms),
        was: numbers(own),
        at_once: (own.quota.nominal(), terms.quota.nominal()),
        strictness: match set {
            Set::Mode(SetMode::Shadow | SetMode::Off) => Strictness::Looser,
            _ => strictness(own, terms),
        },
    }
}

/// Returns terms under which nothing is let through.
fn refusing(limit: &Limit, terms: &Terms) -> Terms {
    let quota = nothing(&terms.quota).unwrap_or(terms.quota);
    let refusing = worded(limit, terms, quota);
    Terms { says: crate::words::refusing(&limit.key), ..refusing }
}

/// Returns the terms that an exception makes of a limit's.
fn changed(set: &Set, limit: &Limit, terms: &Terms) -> Result<Terms, Unfit> {
    let quota = match set {
        Set::Number(_) if limit.plans.is_some() => {
            return Err(Unfit::new(format!(
                "{} has plans, each with its own number, so that one number is not enough; write whole new `terms`, \
                 which hold for all plans, or a `mode`, which leaves the numbers",
                limit.name
            )));
        }
        Set::Number(number) => scaled(&terms.quota, *number).map_err(Unfit::new)?,
        Set::Terms(text) => parse_quota("terms", text).map_err(|wrong| Unfit::new(wrong.to_string()))?.0,
        Set::Mode(_) => terms.quota,
    };
    suits(limit, terms, &quota)?;
    Ok(worded(limit, terms, quota))
}

/// Holds a quota against what else the file says of the limit, as reading a file does.
fn suits(limit: &Limit, terms: &Terms, quota: &Quota) -> Result<(), Unfit> {
    let is_queue = |quota: &Quota| matches!(quota, Quota::LeakyBucket(_));
    if is_queue(quota) && !is_queue(&terms.quota) {
        return Err(Unfit::new(format!(
            "{} is no queue, and becomes none at run time: requests would have to wait where none did; take another \
             algorithm",
            limit.name
        )));
    }
    if limit.shared_counter.is_some() && !is_counter_alike(quota, &terms.quota) {
        return Err(Unfit::new(format!(
            "{} is counted by others as well, who know one window of one kind; write a fixed_window of the same anchor",
            limit.name
        )));
    }
    let most = quota.nominal();
    let costs = validate::too_much(&limit.cost, most);
    if let Some(costs) = costs.first().filter(|_| most > 0) {
        return Err(Unfit::new(format!(
            "{costs}, and these terms never admit more than {most} at once; take a larger number, or `refuse` as the mode"
        )));
    }
    Ok(())
}

/// Returns whether two quotas are windows that begin alike.
fn is_counter_alike(quota: &Quota, own: &Quota) -> bool {
    matches!((quota, own), (Quota::FixedWindow(quota), Quota::FixedWindow(own)) if quota.anchor() == own.anchor())
}

fn worded(limit: &Limit, terms: &Terms, quota: Quota) -> Terms {
    let numbers = numbers(&quota);
    let terms = Terms { quota, numbers, note: terms.note.clone(), says: String::new(), at: terms.at };
    let says = crate::words::canonical(&limit.meaning(&terms));
    Terms { says, ..terms }
}

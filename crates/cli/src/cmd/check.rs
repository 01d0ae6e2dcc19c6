//! `tidegate check`: everything that is wrong with policy files, or what they say when nothing is.

use std::time::SystemTime;

use tidegate::files::Loaded;
use tidegate::{Quota, Span, Timestamp};
use tidegate_policy::{Cost, Count, Limit, Mode, Policy, Refuse, Terms, Whose};
use tidegate_review::review;

use crate::args::{CheckArgs, Format};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::report::{self, Item};
use crate::table::Table;

/// Checks each file and returns the worst that was found.
///
/// # Errors
/// When the findings cannot be written.
pub(crate) fn run(args: &CheckArgs) -> Result<Exit, Failure> {
    let mut out = Output::stdout();
    let mut worst = Exit::Fine;
    let mut all = Vec::new();
    for source in &args.policies {
        let (exit, items) = match source.load() {
            Ok(Loaded { policy, .. }) => {
                let items = found(&policy);
                if args.format == Format::Text {
                    let name = (args.policies.len() > 1).then(|| source.name());
                    tell(name.as_deref(), &policy, &items, (args.quiet, &mut out));
                }
                (if items.iter().any(Item::fails) { Exit::Problems } else { Exit::Fine }, items)
            }
            Err(error) => {
                // A file that is no YAML has a place all the same, which a code host can show.
                let items = error.problems().map(Item::of_problems).unwrap_or_default();
                if error.is_unreadable() {
                    (Failure::unusable(error).tell(), items)
                } else {
                    if args.format == Format::Text {
                        out.line(&error.to_string());
                    }
                    (Exit::Problems, items)
                }
            }
        };
        all.extend(items);
        worst = worst.max(exit);
    }
    report::write(args.format, &all, &mut out);
    out.finish()?;
    Ok(worst)
}

/// Returns the sentences that cannot be read; where all can be, what the review finds.
pub(super) fn found(policy: &Policy) -> Vec<Item> {
    if !policy.unread.is_empty() {
        return Item::of_unread(policy);
    }
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let today = u64::try_from(since.as_micros()).ok().and_then(Timestamp::from_micros);
    let findings = review(policy, today).into_iter();
    findings.map(|finding| Item::of_finding(policy, finding)).collect()
}

/// Tells people of a policy: its sentences that cannot be read, else its limits and what the review finds. Quiet, only what
/// fails the check is told.
fn tell(name: Option<&str>, policy: &Policy, items: &[Item], (quiet, out): (bool, &mut Output)) {
    if !policy.unread.is_empty() {
        for problem in &policy.unread {
            out.line(&format!("{}:{}: {problem}", policy.file_of(problem.place), problem.place));
        }
        return;
    }
    if quiet {
        items.iter().filter(|item| item.fails()).for_each(|item| out.line(&item.line()));
        return;
    }
    describe(name, policy, out);
    if let Some(summary) = report::summary(items) {
        out.line(&format!("\nthe review finds {summary}:"));
        for item in items {
            out.line(&format!("  {}", item.line()));
        }
    }
}

/// Writes what a sound policy says; the file's name, when there are several.
fn describe(name: Option<&str>, policy: &Policy, out: &mut Output) {
    let limits = policy.rules.iter().chain(&policy.fallback).map(|rule| rule.limits.len()).sum();
    let name = name.map(|name| format!("{name}: ")).unwrap_or_default();
    let fallback = if policy.fallback.is_some() { " and a fallback" } else { "" };
    let rules = count(policy.rules.len(), "rule");
    out.line(&format!("{name}OK: {rules}{fallback}, {}", count(limits, "limit")));
    if policy.mode == Mode::Shadow {
        out.line("shadow mode: nothing is refused, refusals are only counted");
    }
    let mut table = Table::new(["LIMIT", "KEY", "NUMBERS", "WORDS"]);
    for rule in policy.rules.iter().chain(&policy.fallback) {
        if let Some(refuse) = &rule.refuse {
            table.push([
                rule.name.clone(),
                "-".to_owned(),
                refuses(refuse, rule.mode),
                refuse.because.clone(),
            ]);
        }
        let terms = rule.limits.iter().flat_map(|limit| {
            limit.variants().map(move |(whose, terms)| {
                [called(limit, whose), limit.key.to_string(), numbers(limit, terms), terms.says.clone()]
            })
        });
        terms.for_each(|row| table.push(row));
    }
    out.line("");
    for line in table.lines() {
        out.line(&format!("  {line}"));
    }
    let weapons = weapons(policy);
    if !weapons.is_empty() {
        out.line("");
    }
    for line in &weapons {
        out.line(line);
    }
}

/// Returns what the numbers of limits on failures and of lockouts do not say, a line each: who stays just under a
/// lockout is never locked, and whoever can name a key can keep its owner out.
fn weapons(policy: &Policy) -> Vec<String> {
    // Any 24 hours: up to the microsecond before the next begin.
    let day = Span::from_micros(Span::from_secs(86_400).as_micros().saturating_sub(1));
    let limits = policy.rules.iter().chain(&policy.fallback).flat_map(|rule| &rule.limits);
    let terms = limits.flat_map(|limit| limit.variants().map(move |(whose, terms)| (limit, whose, terms)));
    let told = terms.filter_map(|(limit, whose, Terms { quota, .. })| {
        let mut told = Vec::new();
        if let Quota::Lockout(lockout) = quota {
            let (within, careful) = (lockout.within(), lockout.most_without_locking_in_closed(day));
            told.push(format!("at most {} in any {within}", quota.most_in_half_open(within)));
            told.push(format!(
                "who stays just under it gets up to {careful} in any 24 hours and is never locked"
            ));
        } else if limit.count == Count::Every {
            return None;
        }
        if let Some(requests) = quota.requests_to_deny(day).filter(|_| limit.key.can_be_named()) {
            told.push(format!("{requests} requests keep a key refused for 24 hours, by whoever can name it"));
        }
        (!told.is_empty()).then(|| format!("  {}: {}", called(limit, whose), told.join("; ")))
    });
    told.collect()
}

fn count(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Returns a limit's name, with the plan or the key whose terms are told.
fn called(limit: &Limit, whose: Whose<'_>) -> String {
    match whose {
        Whose::Everybody => limit.name.clone(),
        Whose::Plan(plan) => format!("{}, {plan}", limit.name),
        // A digest is told apart by its beginning.
        Whose::Key(value) if value.starts_with("sha256:") => {
            format!("{}, for {}…", limit.name, value.get(..15).unwrap_or(value))
        }
        Whose::Key(value) => format!("{}, for {value}", limit.name),
    }
}

fn refuses(refuse: &Refuse, mode: Mode) -> String {
    format!("refuses all with {}{}", refuse.status.as_u16(), shadow(mode))
}

fn shadow(mode: Mode) -> &'static str {
    if mode == Mode::Shadow { " (shadow)" } else { "" }
}

/// Returns a limit's algorithm and its numbers, as the policy file writes them.
fn numbers(limit: &Limit, terms: &Terms) -> String {
    let algorithm = terms.quota.algorithm();
    let counted = if limit.count == Count::Every { "" } else { ", failures only" };
    let cost = match &limit.cost {
        Cost::Units(1) => String::new(),
        cost => format!(", cost {cost}"),
    };
    let unit = limit.unit.as_ref().map(|unit| format!(", in {unit}")).unwrap_or_default();
    let shadow = shadow(limit.mode);
    format!("{algorithm}: {}{cost}{unit}{counted}{shadow}", terms.numbers)
}

//! `tidegate diff`: what changes from one policy to another.

use tidegate_policy::{Change, Diff, LimitDiff, Policy, Strictness};

use crate::args::{Denied, DiffArgs};
use crate::exit::{Exit, Failure};
use crate::input::Source;
use crate::output::Output;

/// Compares two policies, and fails when something changes that was to be denied.
///
/// # Errors
/// When one of them cannot be used.
pub(crate) fn run(args: &DiffArgs) -> Result<Exit, Failure> {
    let (old, new) = (read(&args.old)?, read(&args.new)?);
    let diff = Diff::between(&old, &new);
    let mut out = Output::stdout();
    for line in lines(&diff) {
        out.line(&line);
    }
    let denied: Vec<String> = args.deny.iter().flat_map(|kind| denied(&diff, *kind)).collect();
    for line in &denied {
        out.line(&format!("denied: {line}"));
    }
    out.finish()?;
    Ok(if denied.is_empty() { Exit::Fine } else { Exit::Problems })
}

/// Returns what is to be denied, a line each.
fn denied(diff: &Diff, kind: Denied) -> Vec<String> {
    let is = |strictness: Strictness| match kind {
        Denied::Looser => strictness.is_looser(),
        Denied::Tighter => strictness.is_tighter(),
        Denied::Fresh => false,
    };
    let word = match kind {
        Denied::Looser => "may let more through",
        Denied::Tighter => "may let less through",
        Denied::Fresh => "starts fresh",
    };
    let fresh = |limit: &&LimitDiff| kind == Denied::Fresh && limit.starts_fresh();
    let limits = diff.limits.iter().filter(|limit| is(limit.strictness) || fresh(limit)).map(name);
    let rules =
        diff.rules.iter().filter(|rule| is(rule.strictness)).map(|rule| format!("rule {}", rule.name));
    let settings = diff.settings.iter().filter(|change| is(Strictness::of(std::slice::from_ref(change))));
    let settings = settings.map(|change| change.what.clone());
    limits.chain(rules).chain(settings).map(|what| format!("{what} {word}")).collect()
}

fn read(source: &Source) -> Result<Policy, Failure> {
    source.load_as_written().map(|loaded| loaded.policy).map_err(Failure::unusable)
}

fn lines(diff: &Diff) -> Vec<String> {
    if diff.is_empty() {
        return vec!["nothing changes".to_owned()];
    }
    let mut lines = Vec::new();
    for limit in &diff.limits {
        lines.push(title(limit));
        lines.extend(changes(&limit.changes));
        lines.extend(hint(&limit.hint));
    }
    for rule in &diff.rules {
        let was = rule.renamed_from.as_ref().map(|was| format!(" (was {was})")).unwrap_or_default();
        lines.push(format!("rule {}{was}: {}", rule.name, rule.strictness.word()));
        lines.extend(changes(&rule.changes));
        lines.extend(hint(&rule.hint));
    }
    if !diff.settings.is_empty() {
        lines.push("settings:".to_owned());
        lines.extend(changes(&diff.settings));
    }
    lines
}

fn name(limit: &LimitDiff) -> String {
    let whose = limit.whose.as_ref().map(|whose| format!(" [{whose}]")).unwrap_or_default();
    format!("{}{whose}", limit.name)
}

fn title(limit: &LimitDiff) -> String {
    let was = limit.renamed_from.as_ref().map(|was| format!(" (was {was})")).unwrap_or_default();
    format!("{}{was}: {}, {}", name(limit), limit.strictness.word(), limit.fate.words())
}

fn changes(changes: &[Change]) -> impl Iterator<Item = String> {
    changes.iter().map(|change| format!("    {change}"))
}

fn hint(hint: &str) -> Option<String> {
    (!hint.is_empty()).then(|| format!("    hint: {hint}"))
}

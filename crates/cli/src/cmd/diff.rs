//! `tidegate diff`: what changes from one policy to another.

use tidegate_policy::{Change, Diff, LimitDiff, Policy};

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
    out.finish()?;
    let denied = args.deny.iter().any(|kind| match kind {
        Denied::Looser => diff.is_looser(),
        Denied::Tighter => diff.is_tighter(),
        Denied::Fresh => diff.starts_fresh(),
    });
    Ok(if denied { Exit::Problems } else { Exit::Fine })
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

fn title(limit: &LimitDiff) -> String {
    let whose = limit.whose.as_ref().map(|whose| format!(" [{whose}]")).unwrap_or_default();
    let was = limit.renamed_from.as_ref().map(|was| format!(" (was {was})")).unwrap_or_default();
    format!("{}{whose}{was}: {}, {}", limit.name, limit.strictness.word(), limit.fate.words())
}

fn changes(changes: &[Change]) -> impl Iterator<Item = String> {
    changes.iter().map(|change| format!("    {change}"))
}

fn hint(hint: &str) -> Option<String> {
    (!hint.is_empty()).then(|| format!("    hint: {hint}"))
}

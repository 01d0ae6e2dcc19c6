//! What a reload changes, in lines for the log and for whoever asked for it.

use std::fmt::{self, Write as _};

use tidegate::Reloaded;
use tidegate_policy::{Change, Diff, LimitDiff, RuleDiff};

/// The most changes that a reload tells one by one.
const MOST_LINES: usize = 40;
/// The most characters of a line: lists may be long.
const MOST_CHARS: usize = 1_000;

/// What a reload changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Changes {
    /// The limits by what became of them.
    pub limits: Reloaded,
    /// How many rules changed, apart from their limits.
    pub rules: usize,
    /// How many settings changed outside of rules.
    pub settings: usize,
    /// Everything that changed, a line each as `tidegate diff` tells it; not all where it is a great deal.
    pub lines: Vec<String>,
}

impl Changes {
    /// Adds to what the limiter found to have changed what two policies differ in besides.
    pub(crate) fn of(mut limits: Reloaded, diff: &Diff) -> Self {
        for LimitDiff { name, .. } in &diff.limits {
            let Reloaded { added, changed, dropped, kept } = &mut limits;
            // The limiter compares neither keys nor what a limit costs.
            if !added.contains(name) && !changed.contains(name) && !dropped.contains(name) {
                changed.push(name.clone());
                *kept = kept.saturating_sub(1);
            }
        }
        Self { limits, rules: diff.rules.len(), settings: diff.settings.len(), lines: lines(diff) }
    }
}

impl fmt::Display for Changes {
    /// Writes `1 changed (d/e), 4 limits as before; 1 rule and 2 settings changed`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = |count: usize, what: &str| match count {
            0 => None,
            1 => Some(format!("1 {what}")),
            _ => Some(format!("{count} {what}s")),
        };
        let besides: Vec<_> =
            [counted(self.rules, "rule"), counted(self.settings, "setting")].into_iter().flatten().collect();
        write!(f, "{}", self.limits)?;
        if besides.is_empty() { Ok(()) } else { write!(f, "; {} changed", besides.join(" and ")) }
    }
}

fn lines(diff: &Diff) -> Vec<String> {
    let limits = diff.limits.iter().map(of_limit);
    let rules = diff.rules.iter().map(of_rule);
    let settings = diff.settings.iter().map(|change| format!("setting {change}"));
    // What is changed outside of limits lets most through or keeps most out, and is least expected.
    let all = settings.chain(rules).chain(limits);
    let mut lines: Vec<_> = all.take(MOST_LINES).map(shortened).collect();
    let count = diff.limits.len().saturating_add(diff.rules.len()).saturating_add(diff.settings.len());
    if let Some(more @ 1..) = count.checked_sub(MOST_LINES) {
        lines.push(format!("{more} more; `tidegate diff` tells them all"));
    }
    lines
}

/// Says what becomes of a limit: `verify/per-account [gold]: looser, counts kept; at most in any 1m: 10 -> 20`.
fn of_limit(limit: &LimitDiff) -> String {
    let whose = limit.whose.as_ref().map(|whose| format!(" [{whose}]")).unwrap_or_default();
    let word = format!("{}, {}", limit.strictness.word(), limit.fate.words());
    line(
        &format!("{}{whose}", limit.name),
        limit.renamed_from.as_deref(),
        &word,
        (&limit.changes, &limit.hint),
    )
}

/// Says what becomes of a rule: `rule ops: changed; applies to: …`.
fn of_rule(rule: &RuleDiff) -> String {
    let name = format!("rule {}", rule.name);
    line(&name, rule.renamed_from.as_deref(), rule.strictness.word(), (&rule.changes, &rule.hint))
}

fn line(name: &str, was: Option<&str>, word: &str, (changes, hint): (&[Change], &str)) -> String {
    let was = was.map(|was| format!(" (was {was})")).unwrap_or_default();
    let mut line = format!("{name}{was}: {word}");
    for change in changes {
        // Writing to a string cannot fail.
        let _ = write!(line, "; {change}");
    }
    if !hint.is_empty() {
        let _ = write!(line, "; hint: {hint}");
    }
    line
}

fn shortened(line: String) -> String {
    match line.char_indices().nth(MOST_CHARS) {
        None => line,
        Some((end, _)) => format!("{}\u{2026}", line.get(..end).unwrap_or_default()),
    }
}

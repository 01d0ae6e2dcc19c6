//! Keys in words, as two policies define them.

use crate::key::{DerivedKind, Key, Origin, Part};
use crate::matcher::joined;

/// Writes what each part of a key reads: `client (client address, /32 and /64)`.
pub(super) fn words(key: &Key) -> String {
    key.parts.iter().map(part).collect::<Vec<_>>().join(" and ")
}

fn part(part: &Part) -> String {
    format!("{} ({})", part.name, origin(&part.from))
}

fn origin(from: &Origin) -> String {
    let source = match from {
        Origin::Global => return "everyone together".to_owned(),
        Origin::FirstOf(parts) => return parts.iter().map(part).collect::<Vec<_>>().join(", else "),
        Origin::Derived(derived) => {
            let what = match derived.kind {
                DerivedKind::Country => "region of",
                DerivedKind::Prefix => "beginning of",
            };
            return format!("{what} {}", part(&derived.of));
        }
        Origin::One(source) => source,
    };
    let steps = joined(&source.normalize);
    if steps.is_empty() { source.kind.to_string() } else { format!("{}; {steps}", source.kind) }
}

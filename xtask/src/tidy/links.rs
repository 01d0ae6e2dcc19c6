//! A link between two files of the repository leads somewhere.

use std::collections::BTreeMap;

use super::{Finding, Tree, tree};

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.ending_in("md").flat_map(|(path, text)| of_file(path, text, tree)).collect()
}

fn of_file(path: &str, text: &str, tree: &Tree) -> Vec<Finding> {
    let prose = prose(text);
    let links = prose.iter().flat_map(|(number, line)| targets(line).into_iter().map(move |it| (number, it)));
    links
        .filter(|(_, target)| !target.contains("://") && !target.starts_with("mailto:"))
        .filter_map(|(number, target)| {
            let fault = broken(path, target, tree)?;
            Some(Finding::new(format!("{path}:{number}"), fault, format!("mend or drop the link `{target}`")))
        })
        .collect()
}

/// Says what is wrong with a link, if anything is.
fn broken(from: &str, target: &str, tree: &Tree) -> Option<String> {
    let (file, heading) = target.split_once('#').map_or((target, None), |(file, it)| (file, Some(it)));
    let Some(path) = resolve(from, file) else {
        return Some("a link leads out of the repository".to_owned());
    };
    if !tree.has(&path) {
        return Some(format!("there is no `{path}`"));
    }
    let heading = heading.filter(|_| tree::ending(&path) == Some("md"))?;
    let there = tree.text(&path).is_some_and(|text| anchors(text).iter().any(|anchor| anchor == heading));
    (!there).then(|| format!("`{path}` has no heading `#{heading}`"))
}

/// Returns the path that a link in a file means; `None` where it climbs above the root.
fn resolve(from: &str, target: &str) -> Option<String> {
    if target.is_empty() {
        return Some(from.to_owned());
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    if target.starts_with('/') {
        parts.clear();
    }
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Returns the numbered lines outside code blocks.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut in_code = false;
    let mut lines = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            lines.push((at + 1, line));
        }
    }
    lines
}

/// Returns the targets of inline links and of a reference definition in one line, code spans aside.
fn targets(line: &str) -> Vec<&str> {
    let code_free = |at: usize| line[..at].matches('`').count().is_multiple_of(2);
    let inline = line.match_indices("](").filter(|(at, _)| code_free(*at)).filter_map(|(at, opening)| {
        let rest = &line[at + opening.len()..];
        rest.split_once(')').map(|(target, _)| target)
    });
    let defined = line.strip_prefix('[').and_then(|rest| rest.split_once("]: ")).map(|(_, target)| target);
    // A title may follow the target.
    inline.chain(defined).filter_map(|target| target.split_whitespace().next()).collect()
}

/// Returns the anchors that GitHub gives a file's headings.
fn anchors(text: &str) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let headings = prose(text).into_iter().filter(|(_, line)| line.starts_with('#'));
    headings
        .map(|(_, line)| {
            let slug = slug(line.trim_start_matches('#').trim());
            let times = seen.entry(slug.clone()).or_default();
            *times += 1;
            if *times == 1 { slug } else { format!("{slug}-{}", *times - 1) }
        })
        .collect()
}

fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUIDE: &str = "# The guide\n\n## Keys & costs\n\n## Notes\n\n## Notes\n";

    fn found(text: &str) -> Vec<Finding> {
        check(&Tree::of(&[("docs/a.md", text), ("docs/guide.md", GUIDE), ("README.md", "")]))
    }

    #[test]
    fn links_that_lead_somewhere_are_fine() {
        let good = "[a](guide.md) [b](../README.md \"title\") [c](guide.md#keys--costs) [d](/docs) [e](#here)\n\
            [f](https://example.org/x.md) [g](guide.md#notes-1)\n[h]: ./guide.md\n\n# Here\n";
        assert_eq!(found(good), []);
    }

    #[test]
    fn links_that_lead_nowhere_are_found_with_their_line() {
        for target in ["gone.md", "guide.md#gone", "#gone", "../../up.md", "guide.md#notes-2", "/guide.md"] {
            let found = found(&format!("first\n[a]({target})\n"));
            assert_eq!(found.len(), 1, "{target}");
            assert_eq!(found[0].place, "docs/a.md:2");
        }
        assert_eq!(found("[a]: gone.md\n").len(), 1);
    }

    #[test]
    fn code_is_no_link() {
        assert_eq!(found("```\n[a](gone.md)\n```\nas in `[a](gone.md)`\n"), []);
    }
}

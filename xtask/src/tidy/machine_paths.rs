//! No file leans on the machine it was written on.

use super::{Finding, Tree};

/// Folders of one machine, without their slashes so that this file is not itself a finding.
const FOLDERS: &[&str] = &["work", "root"];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let folders: Vec<String> = FOLDERS.iter().map(|folder| format!("/{folder}/")).collect();
    tree.files()
        .flat_map(|(path, text)| text.lines().enumerate().map(move |(at, line)| (path, at + 1, line)))
        .filter_map(|(path, number, line)| {
            let folder = folders.iter().find(|folder| names(line, folder))?;
            let fault = format!("it names `{folder}`, a folder of one machine");
            Some(Finding::new(format!("{path}:{number}"), fault, "use a path relative to the repository"))
        })
        .collect()
}

/// Returns whether a line names something in an absolute folder. The same letters within a longer path, as in a
/// URL, are no machine's folder.
fn names(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + folder.len()..].chars().next();
        let in_a_path =
            |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '}' | '$' | '~' | '/' | '*');
        !before.is_some_and(in_a_path) && after.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_folder_is_found_with_its_line() {
        for folder in FOLDERS {
            let text = format!("first\nread \"/{folder}/main/x\"\n");
            let found = check(&Tree::of(&[("docs/a.md", &text)]));
            assert_eq!(found.len(), 1, "{folder}");
            assert_eq!(found[0].place, "docs/a.md:2");
        }
    }

    #[test]
    fn the_same_letters_in_a_url_or_a_relative_path_are_fine() {
        for folder in FOLDERS {
            for text in
                [format!("https://example.org/{folder}/x"), format!("./{folder}/x"), format!("/{folder}/")]
            {
                assert_eq!(check(&Tree::of(&[("docs/a.md", &text)])), [], "{text}");
            }
        }
    }
}

//! Names of rules and keys that a configuration file has no names for: readable, and the same at every reading, so that
//! counts stay where they are.

use std::collections::BTreeMap;

/// The longest name that is made; a policy's may have 64 characters.
const MOST: usize = 56;

/// Names one after the other, each only once.
#[derive(Default)]
pub(super) struct Names {
    /// How often a name would have been given.
    wanted: BTreeMap<String, usize>,
    given: BTreeMap<String, usize>,
}

impl Names {
    /// Notes a name that is going to be asked for.
    pub(super) fn want(&mut self, parts: &[&str]) {
        let count = self.wanted.entry(readable(parts)).or_default();
        *count = count.saturating_add(1);
    }

    /// Returns the name of what is called by some parts. Where several would have the same, each bears a mark that is of its
    /// parts alone, so that none of them takes another's name when their order changes.
    pub(super) fn give(&mut self, parts: &[&str]) -> String {
        let mut name = readable(parts);
        if self.wanted.get(&name).is_some_and(|count| *count > 1) {
            name = format!("{name}-{}", mark(parts));
        }
        let count = self.given.entry(name.clone()).or_default();
        *count = count.saturating_add(1);
        if *count > 1 { format!("{name}-{count}") } else { name }
    }
}

/// Returns the parts joined by dots, with nothing in them that a name may not have.
fn readable(parts: &[&str]) -> String {
    let words: Vec<String> = parts.iter().map(|part| word(part)).filter(|word| !word.is_empty()).collect();
    let name = words.join(".");
    if name.is_empty() || name.len() > MOST {
        // What is cut off must not make two names one.
        let end = MOST.min(name.len());
        return format!("{}-{}", name.get(..end).unwrap_or_default(), mark(parts))
            .trim_start_matches('-')
            .to_owned();
    }
    name
}

/// Returns a text with a hyphen for whatever a name may not have, and `any` for a star.
pub(super) fn word(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.');
    let starred = text.replace('*', "-any-");
    let words: Vec<&str> = starred.split(|letter| !plain(letter)).filter(|word| !word.is_empty()).collect();
    // A key and its value are joined by an underscore.
    words.join("-").replace("_-", "_").trim_matches('.').to_owned()
}

/// Returns six letters that stand for some parts, by FNV-1a.
pub(super) fn mark(parts: &[&str]) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for part in parts {
        // No text has the byte 255, so that parts do not run together.
        for byte in part.bytes().chain([u8::MAX]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    let letter = |place: u32| {
        let nibble = hash.checked_shr(place.saturating_mul(4)).unwrap_or_default() & 15;
        char::from(b'a'.saturating_add(u8::try_from(nibble).unwrap_or_default()))
    };
    // The upper bits are the best mixed.
    (10..16).map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(lists: &[&[&str]]) -> Vec<String> {
        let mut names = Names::default();
        for parts in lists {
            names.want(parts);
        }
        lists.iter().map(|parts| names.give(parts)).collect()
    }

    /// Guards counts against changing their owner: a name must not depend on where in the file its rule stands.
    #[test]
    fn names_that_would_be_one_are_told_apart_in_any_order() {
        let (slash, hyphen): (&[&str], &[&str]) = (&["shop", "path", "/a/b"], &["shop", "path", "/a-b"]);
        let forth = all(&[slash, hyphen, &["shop", "user"]]);
        let back = all(&[hyphen, slash]);
        assert_eq!(forth[..2], [back[1].clone(), back[0].clone()]);
        assert_ne!(forth[0], forth[1]);
        assert!(forth[0].starts_with("shop.path.a-b-"), "{forth:?}");
        assert_eq!(forth[2], "shop.user");
    }

    /// Guards against a name that no policy can have, or that two share since it was cut.
    #[test]
    fn whatever_is_called_gets_a_name() {
        let long = "x".repeat(500);
        let other = format!("{long}y");
        let names = all(&[&["é"], &["shop", &long], &["shop", &other], &["", "/"], &["a*b"], &["..", "-a-"]]);
        assert!(names.iter().all(|name| crate::file::is_name(name)), "{names:?}");
        assert_eq!(names[4..], ["a-any-b", "a"]);
        let mut unique = names.clone();
        unique.sort();
        unique.dedup();
        assert_eq!(unique.len(), names.len(), "{names:?}");
    }
}

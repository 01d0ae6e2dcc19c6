//! JSON documents with places that are filled for each request.

use std::fmt::Write as _;

/// The greatest index that a pointer's number is taken as one of a list.
const MOST_INDEX: usize = 64;

/// A part of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Tree {
    /// Nothing yet: an empty object, should nothing come.
    #[default]
    Empty,
    /// Members in their order.
    Object(Vec<(String, Tree)>),
    /// Items.
    List(Vec<Tree>),
    /// The text of a slot, by its number.
    Slot(usize),
}

/// Returns the steps of a pointer (RFC 6901); none for the document itself.
pub(super) fn steps(pointer: &str) -> Vec<String> {
    let steps = pointer.split('/').skip(1);
    steps.map(|step| step.replace("~1", "/").replace("~0", "~")).collect()
}

impl Tree {
    /// Puts a slot where a pointer leads; returns whether there was room for it.
    pub(super) fn put(&mut self, steps: &[String], slot: usize) -> bool {
        match self.at(steps) {
            Some(place @ Self::Empty) => {
                *place = Self::Slot(slot);
                true
            }
            _ => false,
        }
    }

    /// Sees to it that a pointer leads to a list with an item, if there is room for one.
    pub(super) fn put_list(&mut self, steps: &[String]) {
        match self.at(steps) {
            Some(place @ Self::Empty) => *place = Self::List(vec![Self::Empty]),
            Some(Self::List(items)) if items.is_empty() => items.push(Self::Empty),
            _ => {}
        }
    }

    /// Returns what a pointer leads to, and makes the way; `None` where something else is in it.
    fn at(&mut self, steps: &[String]) -> Option<&mut Self> {
        let Some((step, rest)) = steps.split_first() else { return Some(self) };
        let index = step.parse::<usize>().ok().filter(|index| *index <= MOST_INDEX);
        if *self == Self::Empty {
            *self = if index.is_some() { Self::List(Vec::new()) } else { Self::Object(Vec::new()) };
        }
        match self {
            Self::List(items) => {
                let index = index?;
                if items.len() <= index {
                    items.resize(index.saturating_add(1), Self::Empty);
                }
                items.get_mut(index)?.at(rest)
            }
            Self::Object(members) => {
                let found = members.iter().position(|(name, _)| name == step);
                let found = found.unwrap_or_else(|| {
                    members.push((step.clone(), Self::Empty));
                    members.len().saturating_sub(1)
                });
                members.get_mut(found)?.1.at(rest)
            }
            Self::Slot(_) | Self::Empty => None,
        }
    }

    /// Writes the document with the texts of its slots.
    pub(super) fn write(&self, texts: &[String], out: &mut String) {
        match self {
            Self::Empty => out.push_str("{}"),
            Self::Slot(slot) => quote(texts.get(*slot).map_or("", String::as_str), out),
            Self::List(items) => {
                separated(items, ('[', ']'), out, |item, out| item.write(texts, out));
            }
            Self::Object(members) => separated(members, ('{', '}'), out, |(name, member), out| {
                quote(name, out);
                out.push(':');
                member.write(texts, out);
            }),
        }
    }
}

fn separated<T>(items: &[T], ends: (char, char), out: &mut String, write: impl Fn(&T, &mut String)) {
    out.push(ends.0);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write(item, out);
    }
    out.push(ends.1);
}

fn quote(text: &str, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            // Writing to a string cannot fail.
            letter if letter.is_control() => _ = write!(out, "\\u{:04x}", u32::from(letter)),
            letter => out.push(letter),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards requests against a body in which a pointer leads nowhere, or that is no JSON.
    #[test]
    fn pointers_share_a_document_and_what_has_no_room_is_left_out() {
        let mut tree = Tree::default();
        let pointers = ["/user/id", "/user/na~1me", "/items/1/\"x\"", "/n/x", "/n/0"];
        for (slot, pointer) in pointers.into_iter().enumerate() {
            assert!(tree.put(&steps(pointer), slot), "{pointer}");
        }
        assert!(!tree.put(&steps("/user/id/deeper"), 9));
        assert!(!tree.put(&steps("/user"), 9));
        assert!(!tree.put(&steps("/items/name"), 9));
        tree.put_list(&steps("/items"));
        tree.put_list(&steps("/batch"));
        let mut out = String::new();
        let texts: Vec<String> = (0..5).map(|slot| format!("{slot}\n")).collect();
        tree.write(&texts, &mut out);
        assert_eq!(
            out,
            r#"{"user":{"id":"0\u000a","na/me":"1\u000a"},"items":[{},{"\"x\"":"2\u000a"}],"n":{"x":"3\u000a","0":"4\u000a"},"batch":[{}]}"#
        );
    }
}

//! Values of a key that a file writes: in tables of costs and plans, and in overrides.

use std::collections::BTreeMap;

use super::routes;
use crate::file::Report;
use crate::key::{Origin, Part, digest, written_digest};
use crate::problem::Place;
use crate::values::Values;

const SHA256: &str = "sha256:";

/// Values that are being read, each with what there is for it.
pub(super) struct Reading<'a, T> {
    part: &'a Part,
    values: Values<T>,
    /// Where each value stands, by the digest of its text.
    places: BTreeMap<[u8; 32], Place>,
}

impl<'a, T: Copy> Reading<'a, T> {
    /// Begins with the values of a key; `None`, which is reported, for one without values.
    pub(super) fn of(part: &'a Part, place: Place, report: &mut Report) -> Option<Self> {
        if part.from == Origin::Global {
            report.add(place, "`global` is everyone together and has no values", "name another key");
            return None;
        }
        Some(Self { part, values: Values::default(), places: BTreeMap::new() })
    }

    /// Takes a value: the text itself, brought into the key's form, or `sha256:` and the digest of that form.
    pub(super) fn put(&mut self, value: &str, what: T, place: Place, report: &mut Report) {
        if looks_like_digest(value) {
            if self.part.is_address() {
                report.add(
                    place,
                    format!("the key {} is an address, and this is a digest", self.part.name),
                    "write the address itself: there are too few of them for a digest to hide one",
                );
                return;
            }
            match written_digest(value) {
                Some(found) if self.is_new(found, value, place, report) => {
                    self.values.put_digest(found, what);
                }
                Some(_) => {}
                None => report.add(place, format!("\"{value}\" is not a digest"), misread_digest(value)),
            }
            return;
        }
        match self.part.written(value) {
            Err(why) => {
                let message = format!("\"{value}\" {why}");
                report.add(place, message, format!("write a value of the key {}", self.part.name));
            }
            Ok(texts) => {
                if self.part.is_route() {
                    routes::refer(place, value, report);
                }
                let is_address = self.part.reads_as_address(value);
                for text in texts {
                    match self.is_new(digest(&text), value, place, report) {
                        true if is_address => self.values.put_address(text, what),
                        true => self.values.put_text(text, what),
                        false => {}
                    }
                }
            }
        }
    }

    /// Ends the reading.
    pub(super) fn finish(self) -> Values<T> {
        self.values
    }

    /// Reports a value that is there already. One value may be found twice by itself, in two forms that are the same.
    fn is_new(&mut self, digest: [u8; 32], value: &str, place: Place, report: &mut Report) -> bool {
        let first = *self.places.entry(digest).or_insert(place);
        if first != place {
            let message = format!("\"{value}\" is the value that stands at {first} already");
            report.add(place, message, "remove one: a value has one entry, however it is spelled");
        }
        first == place
    }
}

/// Returns whether a value is meant as a digest, perhaps with a slip.
fn looks_like_digest(value: &str) -> bool {
    let head = value.split_once(':').map(|(head, _)| head.to_ascii_lowercase());
    head.is_some_and(|head| matches!(head.as_str(), "sha256" | "sha-256" | "sha_256"))
}

fn misread_digest(value: &str) -> String {
    let digits = value.split_once(':').map(|(_, digits)| digits.trim()).unwrap_or_default();
    if digits.len() == 64 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return format!("write {SHA256}{digits}");
    }
    let why = match digits.chars().find(|digit| !digit.is_ascii_hexdigit()) {
        Some(other) => format!("`{other}` is none"),
        None => format!("there are {}", digits.len()),
    };
    format!(
        "write `{SHA256}` and 64 hexadecimal digits, and {why}; `printf %s VALUE | sha256sum` prints them"
    )
}

//! Keys that are claims of tokens: what makes a token good, and the files with its issuer's keys.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use http::header::AUTHORIZATION;

use super::super::outside;
use super::source::header;
use crate::Reading;
use crate::file::{Fields, Node, Report, one_or_more};
use crate::key::{Claim, KeySet, Pointer, Verifier};

/// The most bytes of a file with an issuer's keys.
const MOST: usize = 256 << 10;

/// What tokens are read with: each file is read once, and keys that look at one token share what they find.
#[derive(Clone)]
pub(super) struct Sources<'a> {
    reading: Reading<'a>,
    /// By path; `None` for one in which something is wrong, which was said.
    sets: RefCell<BTreeMap<String, Option<Arc<KeySet>>>>,
    verifiers: RefCell<Vec<Arc<Verifier>>>,
}

impl<'a> Sources<'a> {
    pub(super) fn of(reading: Reading<'a>) -> Self {
        Self { reading, sets: RefCell::default(), verifiers: RefCell::default() }
    }

    /// Reads a key's `jwt`.
    pub(super) fn claim(&self, node: &Node, report: &mut Report) -> Option<Claim> {
        let mut fields = Fields::open(node, "jwt", report)?;
        let claim = fields.need("claim", "sub").and_then(|node| claim(node, report));
        let set = fields.get("jwks_file");
        if set.is_none() {
            let remedy = "write `jwks_file: keys.json`, a file with the keys of its issuer (JWK Set)";
            fields.lack(&["jwks_file"], "jwt has no `jwks_file`: only a verified claim can be a key", remedy);
        }
        let keys = set.and_then(|node| self.set(node, report));
        let field = fields.get("header");
        let name = match field {
            Some(node) => node.text("header", report).and_then(|text| header(node, text, report)),
            None => Some(AUTHORIZATION),
        };
        let issuer = fields.get("issuer").map(|node| node.text("issuer", report).map(str::to_owned));
        let audience = fields.get("audience");
        let items = audience.map(one_or_more).unwrap_or_default();
        let audiences: Vec<String> =
            items.iter().filter_map(|item| item.text("audience", report)).map(str::to_owned).collect();
        if let Some(node) = audience.filter(|_| items.is_empty()) {
            report.add(
                node.place,
                "audience is an empty list",
                "name for whom a token has to be, or leave it out",
            );
        }
        fields.finish(&[], report);
        let issuer = match issuer {
            None => None,
            Some(text) => Some(text?),
        };
        let verifier = self.share(Verifier { header: name?, keys: keys?, issuer, audiences });
        Some(Claim { verifier, name: claim? })
    }

    fn set(&self, node: &Node, report: &mut Report) -> Option<Arc<KeySet>> {
        let path = node.text("jwks_file", report)?;
        if let Some(known) = self.sets.borrow().get(path) {
            return known.clone();
        }
        let outside = outside::file(node, "jwks_file", MOST, self.reading, report);
        let set = outside.and_then(|outside| match KeySet::read(path, &outside.bytes) {
            Ok(set) => Some(Arc::new(set)),
            Err(flaw) => {
                report.add(node.place, format!("\"{path}\" {}", flaw.why), flaw.remedy);
                None
            }
        });
        self.sets.borrow_mut().insert(path.to_owned(), set.clone());
        set
    }

    /// Returns the one verifier of its kind.
    fn share(&self, verifier: Verifier) -> Arc<Verifier> {
        let mut known = self.verifiers.borrow_mut();
        if let Some(known) = known.iter().find(|known| ***known == verifier) {
            return Arc::clone(known);
        }
        let verifier = Arc::new(verifier);
        known.push(Arc::clone(&verifier));
        verifier
    }
}

/// Reads a claim's name.
fn claim(node: &Node, report: &mut Report) -> Option<String> {
    let text = node.text("claim", report)?;
    if text.starts_with('/') && Pointer::read(text).is_none() {
        let remedy = "write `~0` for a tilde and `~1` for a slash within a step";
        report.add(node.place, format!("\"{text}\" is not a JSON pointer"), remedy);
        return None;
    }
    Some(text.to_owned())
}

//! Claims of tokens (JWT, RFC 7519) whose signature was verified; a claim of any other is no key.
//!
//! A token that does not hold counts as missing, never as ambiguous: nobody behind us may take it for a good one, and
//! anybody can send a bad one. What a token costs is bounded: its length, and the keys that are tried on it.

mod document;
mod keys;
mod token;

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use http::HeaderName;
use http::header::AUTHORIZATION;
use serde_json::{Map, Value};
use tidegate_algorithms::Timestamp;

pub(crate) use keys::KeySet;

use super::source::{Unread, header};
use crate::request::Facts;

/// By how many seconds clocks may differ.
const LEEWAY: i64 = 60;

/// Where a token stands, and what makes it good.
#[derive(Debug, PartialEq)]
pub(crate) struct Verifier {
    pub(crate) header: HeaderName,
    pub(crate) keys: Arc<KeySet>,
    /// Who has to have issued it, if that is said.
    pub(crate) issuer: Option<String>,
    /// For whom it may be; for anybody when empty.
    pub(crate) audiences: Vec<String>,
}

/// A claim of a verified token.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Claim {
    pub(crate) verifier: Arc<Verifier>,
    /// A member's name, or a JSON pointer when it begins with a slash.
    pub(crate) name: String,
}

/// What one verifier found: the claims, nothing that holds, or more than one way to read the field.
type Finding = Result<Option<Arc<Value>>, Unread>;

/// The tokens of one request that were looked at, so that each is verified once.
#[derive(Default)]
pub(crate) struct Tokens {
    list: Mutex<Vec<(Arc<Verifier>, Finding)>>,
}

impl Claim {
    /// Reads the claim: text or a whole number; anything else is missing.
    pub(super) fn read<'a>(&self, facts: &Facts<'_>) -> Result<Option<Cow<'a, str>>, Unread> {
        let Some(claims) = facts.tokens().find(&self.verifier, facts)? else { return Ok(None) };
        let found =
            if self.name.starts_with('/') { claims.pointer(&self.name) } else { claims.get(&self.name) };
        Ok(match found {
            Some(Value::String(text)) => Some(Cow::Owned(text.clone())),
            Some(Value::Number(number)) if number.is_i64() || number.is_u64() => {
                Some(Cow::Owned(number.to_string()))
            }
            _ => None,
        })
    }
}

impl Tokens {
    fn find(&self, verifier: &Arc<Verifier>, facts: &Facts<'_>) -> Finding {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, finding)) = list.iter().find(|(known, _)| Arc::ptr_eq(known, verifier)) {
            return finding.clone();
        }
        let finding = verifier.look_at(facts);
        list.push((Arc::clone(verifier), finding.clone()));
        finding
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").finish_non_exhaustive()
    }
}

impl Verifier {
    fn look_at(&self, facts: &Facts<'_>) -> Finding {
        let Some(field) = header(&self.header, facts.request().headers)? else { return Ok(None) };
        let claims = self.token(&field).and_then(|token| self.claims(token, facts.now()?));
        Ok(claims.map(|claims| Arc::new(Value::Object(claims))))
    }

    /// Returns the token of a field: behind its scheme in `Authorization`, alone in any other.
    fn token<'t>(&self, field: &'t str) -> Option<&'t str> {
        if self.header != AUTHORIZATION {
            return Some(field.trim_matches(' '));
        }
        let (scheme, token) = field.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim_matches(' '))
    }

    /// Returns the claims of a token that holds at an instant.
    fn claims(&self, token: &str, now: Timestamp) -> Option<Map<String, Value>> {
        token::verify(token, &self.keys).filter(|claims| self.holds(claims, now))
    }

    fn holds(&self, claims: &Map<String, Value>, now: Timestamp) -> bool {
        let now = i64::try_from(now.as_micros() / 1_000_000).unwrap_or(i64::MAX);
        let within = |name: &str, holds: &dyn Fn(i64) -> bool| {
            claims.get(name).is_none_or(|date| seconds(date).is_some_and(holds))
        };
        let issued =
            self.issuer.as_ref().is_none_or(|issuer| claims.get("iss").is_some_and(|iss| iss == issuer));
        issued
            && self.is_for(claims.get("aud"))
            && within("exp", &|ends| now < ends.saturating_add(LEEWAY))
            && within("nbf", &|begins| begins <= now.saturating_add(LEEWAY))
    }

    fn is_for(&self, audience: Option<&Value>) -> bool {
        let named = |value: &Value| self.audiences.iter().any(|audience| value == audience);
        self.audiences.is_empty()
            || match audience {
                Some(Value::Array(several)) => several.iter().any(named),
                Some(one) => named(one),
                None => false,
            }
    }
}

/// Returns a date's whole seconds since 1970; it may have a fraction.
fn seconds(date: &Value) -> Option<i64> {
    let text = date.as_number()?.to_string();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    fraction.bytes().all(|byte| byte.is_ascii_digit()).then(|| whole.parse().ok())?
}

#[cfg(test)]
mod tests;

//! A token in its compact form (JWS, RFC 7515): what was signed, with which algorithm, and whether by one of our keys.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use super::document;
use super::keys::{Algorithm, KeySet};

/// The longest token that is looked at.
const MOST: usize = 16 << 10;
/// The most keys that are tried on one token.
const TRIED: usize = 8;

/// Returns the claims of a token that one of the keys verifies.
///
/// The token only chooses among keys and what these allow: with which algorithm a key verifies is the key's to say. What
/// is not signed is not parsed, but for the header.
pub(super) fn verify(token: &str, keys: &KeySet) -> Option<Map<String, Value>> {
    if token.len() > MOST {
        return None;
    }
    let (signed, signature) = token.rsplit_once('.')?;
    let (header, payload) = signed.split_once('.')?;
    let header = document::read(&URL_SAFE_NO_PAD.decode(header).ok()?).ok()?;
    // Extensions that have to be understood are not (RFC 7515, 4.1.11).
    if header.contains_key("crit") {
        return None;
    }
    let algorithm = Algorithm::named(header.get("alg")?.as_str()?)?;
    let id = match header.get("kid") {
        None => None,
        Some(Value::String(id)) => Some(id.as_str()),
        Some(_) => return None,
    };
    let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
    let mut candidates = keys.candidates(algorithm, id).take(TRIED);
    if !candidates.any(|key| key.verifies(algorithm, signed.as_bytes(), &signature)) {
        return None;
    }
    document::read(&URL_SAFE_NO_PAD.decode(payload).ok()?).ok()
}

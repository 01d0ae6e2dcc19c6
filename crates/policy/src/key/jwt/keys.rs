//! The keys that verify tokens: a JWK Set (RFC 7517) from a file.
//!
//! A key says what it verifies, by its kind, its size and its `alg`. So a public key never serves as the secret of an
//! HMAC, and a token cannot choose an algorithm that its key was not made for. As the standard asks, keys of kinds that
//! are not known are passed over; a set without any that is of use is refused.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::{hmac, signature};
use serde_json::{Map, Value};

use super::document;

/// The most keys of a set.
const MOST_KEYS: usize = 100;

/// A signature algorithm (RFC 7518, RFC 8037, RFC 9864).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Algorithm {
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Ps384,
    Ps512,
    Es256,
    Es384,
    Ed25519,
    Hs256,
    Hs384,
    Hs512,
}

impl Algorithm {
    /// Returns the algorithm of a name; there is none of the name `none`.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "RS256" => Self::Rs256,
            "RS384" => Self::Rs384,
            "RS512" => Self::Rs512,
            "PS256" => Self::Ps256,
            "PS384" => Self::Ps384,
            "PS512" => Self::Ps512,
            "ES256" => Self::Es256,
            "ES384" => Self::Es384,
            "EdDSA" | "Ed25519" => Self::Ed25519,
            "HS256" => Self::Hs256,
            "HS384" => Self::Hs384,
            "HS512" => Self::Hs512,
            _ => return None,
        })
    }
}

/// The keys of one file.
pub(crate) struct KeySet {
    path: String,
    keys: Vec<Key>,
}

/// What is wrong with a set of keys, as the end of a sentence that begins with the file, and what to do.
pub(crate) struct Flaw {
    pub(crate) why: String,
    pub(crate) remedy: &'static str,
}

/// One key, with what it may verify.
pub(super) struct Key {
    id: Option<String>,
    /// The one algorithm it is for, if it says so.
    only: Option<Algorithm>,
    material: Material,
}

enum Material {
    Rsa(signature::RsaPublicKeyComponents<Vec<u8>>),
    /// A point of P-256, uncompressed.
    P256(Vec<u8>),
    /// A point of P-384, uncompressed.
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
    Secret(Vec<u8>),
}

impl KeySet {
    /// Reads a set.
    pub(crate) fn read(path: &str, bytes: &[u8]) -> Result<Self, Flaw> {
        const SET: &str = "write a JWK Set, `{\"keys\": [ … ]}`, as the issuer publishes it";
        let flaw = |why: &str, remedy| Flaw { why: why.to_owned(), remedy };
        if bytes.trim_ascii_start().starts_with(b"-----BEGIN") {
            return Err(flaw("is a PEM file and not a JWK Set", SET));
        }
        let set = document::read(bytes)
            .map_err(|error| Flaw { why: format!("cannot be read as JSON: {error}"), remedy: SET })?;
        if set.contains_key("kty") {
            return Err(flaw("is one key and not a set", "put it into one: `{\"keys\": [ … ]}`"));
        }
        if set.contains_key("jwks_uri") {
            return Err(flaw(
                "describes the issuer and has none of its keys",
                "take what stands at its `jwks_uri`",
            ));
        }
        let Some(Value::Array(list)) = set.get("keys") else {
            return Err(flaw("has no list `keys`", SET));
        };
        if list.len() > MOST_KEYS {
            return Err(flaw("has over 100 keys", "leave only those that are in use"));
        }
        if list.iter().any(is_private) {
            return Err(flaw(
                "holds a private key, which only the issuer needs",
                "leave its public members only, and have the issuer replace the key: treat this one as known to others",
            ));
        }
        let (keys, unfit): (Vec<_>, Vec<_>) = list.iter().map(Key::read).partition(Result::is_ok);
        let keys: Vec<Key> = keys.into_iter().flatten().collect();
        match unfit.into_iter().find_map(Result::err) {
            None if keys.is_empty() => Err(flaw("has no key in it", SET)),
            Some(why) if keys.is_empty() => Err(Flaw {
                why: format!("has no key that verifies tokens; the first {why}"),
                remedy: "check whether it is the set that the issuer signs with",
            }),
            _ => Ok(Self { path: path.to_owned(), keys }),
        }
    }

    /// Returns the keys that may have signed a token: those of its key id, those without one, and all when it has none.
    pub(super) fn candidates(&self, algorithm: Algorithm, id: Option<&str>) -> impl Iterator<Item = &Key> {
        let may = move |key: &&Key| match (id, &key.id) {
            (Some(id), Some(own)) => id == own,
            _ => true,
        };
        self.keys.iter().filter(may).filter(move |key| key.allows(algorithm))
    }
}

impl PartialEq for KeySet {
    /// Compares the files: new keys of an issuer do not make another key of a limit.
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl fmt::Debug for KeySet {
    /// Writes nothing of the keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeySet").field("path", &self.path).field("keys", &self.keys.len()).finish()
    }
}

/// Returns whether a public kind of key comes with its private members.
fn is_private(key: &Value) -> bool {
    key.get("kty").is_some_and(|kind| kind != "oct") && key.get("d").is_some()
}

impl Key {
    /// Reads a key; the error is the end of a sentence that begins with it.
    fn read(key: &Value) -> Result<Self, &'static str> {
        let members = key.as_object().ok_or("is no object")?;
        if members.get("use").is_some_and(|purpose| purpose != "sig") {
            return Err("is for encryption");
        }
        let operations = members.get("key_ops").map(|operations| operations.as_array().map(Vec::as_slice));
        if operations.is_some_and(|list| !list.unwrap_or_default().iter().any(|one| one == "verify")) {
            return Err("is not for verifying");
        }
        let only = match members.get("alg") {
            None => None,
            Some(Value::String(name)) => {
                Some(Algorithm::named(name).ok_or("has an algorithm that is not known")?)
            }
            Some(_) => return Err("has an algorithm that is no text"),
        };
        let id = match members.get("kid") {
            None => None,
            Some(Value::String(id)) => Some(id.clone()),
            Some(_) => return Err("has an id that is no text"),
        };
        let key = Self { id, only, material: Material::read(members)? };
        match only {
            Some(algorithm) if !key.allows(algorithm) => {
                Err("is of the wrong kind or size for its algorithm")
            }
            None if !ALL.iter().any(|algorithm| key.allows(*algorithm)) => Err("is too short"),
            _ => Ok(key),
        }
    }

    /// Returns whether a token of this algorithm may be the key's.
    fn allows(&self, algorithm: Algorithm) -> bool {
        use Algorithm::{
            Ed25519, Es256, Es384, Hs256, Hs384, Hs512, Ps256, Ps384, Ps512, Rs256, Rs384, Rs512,
        };
        let fits = match (&self.material, algorithm) {
            (Material::Rsa(_), Rs256 | Rs384 | Rs512 | Ps256 | Ps384 | Ps512)
            | (Material::P256(_), Es256)
            | (Material::P384(_), Es384)
            | (Material::Ed25519(_), Ed25519) => true,
            // A secret is at least as long as the hash (RFC 7518, 3.2).
            (Material::Secret(secret), Hs256) => secret.len() >= 32,
            (Material::Secret(secret), Hs384) => secret.len() >= 48,
            (Material::Secret(secret), Hs512) => secret.len() >= 64,
            _ => false,
        };
        fits && self.only.is_none_or(|only| only == algorithm)
    }

    /// Returns whether the key verifies a signature over a message.
    pub(super) fn verifies(&self, algorithm: Algorithm, message: &[u8], given: &[u8]) -> bool {
        let public = |parameters: &'static dyn signature::VerificationAlgorithm, key: &[u8]| {
            signature::UnparsedPublicKey::new(parameters, key).verify(message, given).is_ok()
        };
        let secret = |algorithm, secret: &[u8]| {
            hmac::verify(&hmac::Key::new(algorithm, secret), message, given).is_ok()
        };
        self.allows(algorithm)
            && match (&self.material, algorithm) {
                (Material::Rsa(key), algorithm) => {
                    rsa(algorithm).is_some_and(|parameters| key.verify(parameters, message, given).is_ok())
                }
                (Material::P256(point), _) => public(&signature::ECDSA_P256_SHA256_FIXED, point),
                (Material::P384(point), _) => public(&signature::ECDSA_P384_SHA384_FIXED, point),
                (Material::Ed25519(key), _) => public(&signature::ED25519, key),
                (Material::Secret(key), Algorithm::Hs256) => secret(hmac::HMAC_SHA256, key),
                (Material::Secret(key), Algorithm::Hs384) => secret(hmac::HMAC_SHA384, key),
                (Material::Secret(key), Algorithm::Hs512) => secret(hmac::HMAC_SHA512, key),
                (Material::Secret(_), _) => false,
            }
    }
}

const ALL: [Algorithm; 12] = [
    Algorithm::Rs256,
    Algorithm::Rs384,
    Algorithm::Rs512,
    Algorithm::Ps256,
    Algorithm::Ps384,
    Algorithm::Ps512,
    Algorithm::Es256,
    Algorithm::Es384,
    Algorithm::Ed25519,
    Algorithm::Hs256,
    Algorithm::Hs384,
    Algorithm::Hs512,
];

fn rsa(algorithm: Algorithm) -> Option<&'static signature::RsaParameters> {
    Some(match algorithm {
        Algorithm::Rs256 => &signature::RSA_PKCS1_2048_8192_SHA256,
        Algorithm::Rs384 => &signature::RSA_PKCS1_2048_8192_SHA384,
        Algorithm::Rs512 => &signature::RSA_PKCS1_2048_8192_SHA512,
        Algorithm::Ps256 => &signature::RSA_PSS_2048_8192_SHA256,
        Algorithm::Ps384 => &signature::RSA_PSS_2048_8192_SHA384,
        Algorithm::Ps512 => &signature::RSA_PSS_2048_8192_SHA512,
        _ => return None,
    })
}

impl Material {
    fn read(members: &Map<String, Value>) -> Result<Self, &'static str> {
        let bytes = |name: &str| {
            let text = members.get(name).and_then(Value::as_str);
            text.and_then(|text| URL_SAFE_NO_PAD.decode(text).ok())
                .ok_or("lacks a member, or has one that is not base64url")
        };
        let curve = members.get("crv").and_then(Value::as_str);
        match (members.get("kty").and_then(Value::as_str), curve) {
            (Some("RSA"), _) => {
                let whole =
                    |bytes: Vec<u8>| -> Vec<u8> { bytes.into_iter().skip_while(|byte| *byte == 0).collect() };
                let (n, e) = (whole(bytes("n")?), whole(bytes("e")?));
                let first = n.first().map_or(0, |first| first.leading_zeros());
                let bits = n.len().saturating_mul(8).saturating_sub(usize::try_from(first).unwrap_or(0));
                if !(2048..=8192).contains(&bits) {
                    return Err("is an RSA key of under 2,048 or over 8,192 bits");
                }
                Ok(Self::Rsa(signature::RsaPublicKeyComponents { n, e }))
            }
            (Some("EC"), Some("P-256")) => Ok(Self::P256(point(&bytes("x")?, &bytes("y")?, 32)?)),
            (Some("EC"), Some("P-384")) => Ok(Self::P384(point(&bytes("x")?, &bytes("y")?, 48)?)),
            (Some("OKP"), Some("Ed25519")) => {
                let key = bytes("x")?;
                if key.len() == 32 { Ok(Self::Ed25519(key)) } else { Err("has a member of the wrong length") }
            }
            (Some("EC" | "OKP"), _) => Err("is on a curve other than P-256, P-384 and Ed25519"),
            (Some("oct"), _) => Ok(Self::Secret(bytes("k")?)),
            _ => Err("is of a kind that is not known"),
        }
    }
}

/// Joins the coordinates of a point.
fn point(x: &[u8], y: &[u8], length: usize) -> Result<Vec<u8>, &'static str> {
    if x.len() != length || y.len() != length {
        return Err("has a member of the wrong length");
    }
    Ok([&[4], x, y].concat())
}

#[cfg(test)]
mod tests;

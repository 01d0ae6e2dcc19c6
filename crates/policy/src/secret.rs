//! Identities as they leave the process: keyed hashes, which name nobody to whoever lacks the secret.

use std::fmt;

use ring::hmac;

/// The fewest bytes of a secret that nobody guesses.
pub(crate) const LEAST_BYTES: usize = 16;
/// Keeps these hashes apart from any other use of the same secret.
const LABEL: &[u8] = b"tidegate identity";
/// How many bytes of the hash are shown: enough that no two keys look alike.
const SHOWN: usize = 16;

/// Gives keys the names by which they are known outside the process: in logs, metrics, traces and answers.
///
/// Under one secret a key has one name for each limit, in every process and after every restart; the same key under
/// another limit has another, so that names say nothing about each other.
#[derive(Clone)]
pub struct Identities {
    key: hmac::Key,
}

impl Identities {
    /// Names keys under a secret of the caller's.
    pub fn with_secret(secret: &[u8; 32]) -> Self {
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, secret) }
    }

    /// Names keys under the secret that a file holds, without the newline at its end. The error says what is wrong
    /// with it, as the end of a sentence that begins with the file.
    pub(crate) fn from_file(bytes: &[u8]) -> Result<Self, String> {
        let secret = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let secret = secret.strip_suffix(b"\r").unwrap_or(secret);
        if secret.len() < LEAST_BYTES {
            return Err(format!("holds a secret of {} bytes, and the least is {LEAST_BYTES}", secret.len()));
        }
        Ok(Self { key: hmac::Key::new(hmac::HMAC_SHA256, secret) })
    }

    /// Returns whether keys are named under this secret, as a file holds it without the newline at its end.
    pub fn is_of(&self, secret: &[u8]) -> bool {
        let other = Self { key: hmac::Key::new(hmac::HMAC_SHA256, secret) };
        self.store_secret() == other.store_secret()
    }

    /// Returns a secret for the names of keys in a shared store: another than that of the names shown, so that these say
    /// nothing of those.
    pub fn store_secret(&self) -> [u8; 32] {
        let mut secret = [0; 32];
        secret.copy_from_slice(hmac::sign(&self.key, b"tidegate store").as_ref());
        secret
    }

    /// Returns the name of a key under a limit, by the name under which the limit's counts are kept: `hmac:` and 32
    /// hexadecimal digits.
    pub fn identity(&self, limit: &str, key: &[u8]) -> String {
        let mut context = hmac::Context::with_key(&self.key);
        for part in [LABEL, limit.as_bytes(), key] {
            let length = u64::try_from(part.len()).unwrap_or(u64::MAX);
            context.update(&length.to_le_bytes());
            context.update(part);
        }
        let mut name = String::from("hmac:");
        for byte in context.sign().as_ref().iter().take(SHOWN) {
            for digit in [byte >> 4, byte & 15] {
                name.push(char::from_digit(u32::from(digit), 16).unwrap_or_default());
            }
        }
        name
    }
}

impl fmt::Debug for Identities {
    /// Writes nothing of the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identities").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards the names against change: dashboards and logs of two versions have to agree. The value is of Python's
    /// `hmac`: SHA-256 under 32 bytes of 7, over the label, the limit and the key, each behind its length as eight
    /// little-endian bytes.
    #[test]
    fn a_key_has_the_same_name_in_every_process() {
        let identities = Identities::with_secret(&[7; 32]);
        assert_eq!(
            identities.identity("verify/per-account", b"\x01alice"),
            "hmac:900bb89f01dd05915c7caf3bbf7ce35c"
        );
        assert_eq!(
            Identities::from_file(&[[7; 32].as_slice(), b"\r\n"].concat()).unwrap().identity("a", b"b"),
            identities.identity("a", b"b")
        );
    }

    /// Guards against two keys with one name, and against names that tell that two limits see the same person.
    #[test]
    fn names_are_kept_apart() {
        let one = Identities::with_secret(&[7; 32]);
        let other = Identities::with_secret(&[8; 32]);
        let names = [
            one.identity("a", b"bc"),
            one.identity("ab", b"c"),
            one.identity("b", b"bc"),
            other.identity("a", b"bc"),
        ];
        for (index, name) in names.iter().enumerate() {
            assert!(!names[..index].contains(name), "{name}");
        }
    }

    /// Guards a secret against being guessed, cut or printed.
    #[test]
    fn a_short_secret_is_refused_and_none_is_shown() {
        assert!(Identities::from_file(b"0123456789abcdef\n").is_ok());
        assert!(
            Identities::from_file(b"0123456789abcde\r\n").is_err() && Identities::from_file(b"").is_err()
        );
        let shown = format!("{:?}", Identities::from_file(b"correct horse battery staple").unwrap());
        assert_eq!(shown, "Identities { .. }");
    }
}

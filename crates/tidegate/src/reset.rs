//! Forgetting one key at an operator's word: an account that somebody else has locked, say.
//!
//! The key is read from ready-made values by the code that reads it from requests, so that any spelling of a name finds
//! what was counted on it.

use std::fmt;

use tidegate_policy::{Limit, Presence, ReadyKeys};
use tidegate_store::StoreError;

use crate::inner::Registered;
use crate::limiter::{Limiter, Snapshot};
use crate::observe::add;
use crate::options::UnknownLimit;
use crate::policy::bad;
use crate::verdict::BadKey;

/// What was forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reset {
    /// The name of the key outside the process, as [`Snapshot::why`] tells it; `None` when the limit counts everyone
    /// together, or the system gives no randomness for names.
    pub identity: Option<String>,
}

/// A key of a limit, as the store knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredKey {
    /// The name by which the store keeps the limit's counts: the oldest that the limit had.
    pub limit: String,
    /// The key.
    pub key: Vec<u8>,
    /// Whether the key is the name of a counter that other programs count as well, and the store to be asked for it by
    /// [`Store::plain_counter`](tidegate_store::Store::plain_counter).
    pub is_counter: bool,
    /// The name of the key outside the process, as a [`Reset`] has it.
    pub identity: Option<String>,
}

/// Why nothing was forgotten.
#[derive(Debug, Clone)]
pub enum ResetError {
    /// The limiter was built without a policy, by which keys have names.
    NoPolicy,
    /// No limit of the policy has this name.
    UnknownLimit(UnknownLimit),
    /// A value is given for a key that the limit does not count on.
    UnknownKey {
        /// The limit.
        limit: String,
        /// The name it does not know.
        name: String,
        /// The names it knows.
        wanted: Vec<String>,
    },
    /// A part of the limit's key is not given, or empty.
    MissingKey {
        /// The limit.
        limit: String,
        /// The part.
        part: String,
        /// The names that values go by.
        wanted: Vec<String>,
    },
    /// A value breaks the form that its key has to have.
    BadKey(BadKey),
    /// The store does not answer; whether it has forgotten is unknown.
    Store(StoreError),
}

impl fmt::Display for ResetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPolicy => f.write_str("the limiter has no policy, and without one keys have no names"),
            Self::UnknownLimit(error) => error.fmt(f),
            Self::UnknownKey { limit, name, wanted } if wanted.is_empty() => {
                write!(f, "{limit} counts everyone together and has no key {name:?}; give none")
            }
            Self::UnknownKey { limit, name, wanted } => {
                write!(f, "{limit} does not count on {name:?}; it reads {}", wanted.join(", "))
            }
            Self::MissingKey { limit, part, wanted } => {
                write!(
                    f,
                    "{part} is missing or empty, and {limit} counts on it; it reads {}",
                    wanted.join(", ")
                )
            }
            Self::BadKey(bad) => bad.fmt(f),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ResetError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // Its words are this error's words.
            Self::Store(error) => error.source(),
            _ => None,
        }
    }
}

impl Limiter {
    /// Forgets all that a limit of the policy remembers of one key, under whatever plan, as if it had never been seen.
    ///
    /// The key is given by ready-made values, which are normalised as those of a request. Of a `first_of` the first that
    /// is given counts, as in a request. A key that a store has no room for shares its state with others and keeps it.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use tidegate::Limiter;
    /// use tidegate::policy_file::{ReadyKeys, parse_embedded};
    ///
    /// let policy = parse_embedded("policy.yaml", r#"
    /// tidegate: 1
    /// keys:
    ///   username: { header: x-user, normalize: [trim, lowercase] }
    /// rules:
    ///   - name: login
    ///     match: { path: /login }
    ///     limits:
    ///       - name: lock
    ///         says: Ten wrong passwords within 30 minutes, then locked for 30 minutes, per username.
    ///         key: username
    ///         count: { failures: true, success: { status: 200 } }
    ///         lockout: { attempts: 10, within: 30m, lock: 30m }
    /// "#)?;
    /// let limiter = Limiter::from_policy(policy)?;
    /// let ada = ReadyKeys::from([("username".to_owned(), "Ada".to_owned())]);
    /// limiter.reset("login/lock", &ada).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// When no limit of the policy has this name, a value is missing, of no use or for another limit, or the store does not
    /// answer.
    pub async fn reset(&self, limit: &str, ready: &ReadyKeys) -> Result<Reset, ResetError> {
        self.snapshot().reset(limit, ready).await
    }
}

impl Snapshot {
    /// Forgets all that a limit remembers of one key; see [`Limiter::reset`].
    ///
    /// # Errors
    /// As there.
    pub async fn reset(&self, limit: &str, ready: &ReadyKeys) -> Result<Reset, ResetError> {
        let (registered, stored) = self.find_key(limit, ready)?;
        self.inner.forget_key(registered, &stored.key).await.map_err(ResetError::Store)?;
        add(&registered.tally.resets);
        let identity = stored.identity;
        tracing::info!(limit, key = identity.as_deref(), "forgot a key, as told to");
        Ok(Reset { identity })
    }

    /// Returns how the store knows a key that is given by ready-made values, as for [`Limiter::reset`].
    ///
    /// # Errors
    /// When no limit of the policy has this name, or a value is missing, of no use or for another limit.
    pub fn stored_key(&self, limit: &str, ready: &ReadyKeys) -> Result<StoredKey, ResetError> {
        self.find_key(limit, ready).map(|(_, stored)| stored)
    }

    pub(crate) fn find_key(
        &self,
        limit: &str,
        ready: &ReadyKeys,
    ) -> Result<(&Registered, StoredKey), ResetError> {
        let unknown = || ResetError::UnknownLimit(self.unknown(limit));
        let policy = self.policy().ok_or(ResetError::NoPolicy)?;
        let said = policy.limits().find(|one| one.name == limit).ok_or_else(unknown)?;
        let index = self.inner.by_name.get(limit).copied();
        let registered = index.and_then(|index| self.inner.limits.get(index)).ok_or_else(unknown)?;
        let key = read(said, ready)?;
        let has_name = !said.key.is_global();
        let identity = has_name.then(|| self.inner.identity(registered, &key)).flatten();
        let (limit, is_counter) = (registered.storage_name.to_string(), registered.is_counter);
        Ok((registered, StoredKey { limit, key, is_counter, identity }))
    }
}

/// Returns the bytes of a limit's key that is given ready-made.
fn read(limit: &Limit, ready: &ReadyKeys) -> Result<Vec<u8>, ResetError> {
    let known = limit.key.sources();
    let wanted = || known.iter().map(|name| (*name).to_owned()).collect();
    if let Some(name) = ready.keys().find(|name| !known.contains(&name.as_str())) {
        return Err(ResetError::UnknownKey {
            limit: limit.name.clone(),
            name: name.clone(),
            wanted: wanted(),
        });
    }
    let mut key = Vec::new();
    match limit.key.read_ready(ready, &mut key).map_err(|it| ResetError::BadKey(bad(&it)))? {
        Presence::Present => {
            limit.name_key(&mut key, 0);
            Ok(key)
        }
        Presence::Missing { what } => {
            Err(ResetError::MissingKey { limit: limit.name.clone(), part: what.to_owned(), wanted: wanted() })
        }
    }
}

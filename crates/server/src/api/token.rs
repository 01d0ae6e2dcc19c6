//! The bearer token, read from a file so that it stands neither in the policy nor in the process list.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use http::HeaderMap;
use subtle::ConstantTimeEq;
use tidegate::files::read_regular;

use super::auth::bearer;

/// The least bytes of a token: 16 random characters cannot be guessed through a network.
const LEAST_BYTES: usize = 16;

/// A bearer token. It is compared in constant time and never shown.
#[derive(Clone)]
pub struct Token(Box<[u8]>);

impl Token {
    /// Reads a token from a file; white space around it is left out.
    ///
    /// # Errors
    /// When the file cannot be read, or holds no token of at least 16 visible ASCII characters.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, TokenError> {
        let path = path.as_ref();
        let fault = |fault| TokenError { path: path.to_owned(), fault };
        let text = read_regular(path).map_err(|error| fault(Fault::Unreadable(error)))?;
        let token = text.trim_ascii();
        if token.is_empty() {
            return Err(fault(Fault::Empty));
        }
        if !token.iter().all(u8::is_ascii_graphic) {
            return Err(fault(Fault::Invisible));
        }
        if token.len() < LEAST_BYTES {
            return Err(fault(Fault::Short(token.len())));
        }
        Ok(Self(token.into()))
    }

    /// Returns whether `given` is the token; the time it takes tells at most the token's length.
    pub(crate) fn is(&self, given: &[u8]) -> bool {
        self.0.ct_eq(given).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// The token that is demanded at present, if one is. Clones are the same one.
#[derive(Debug, Clone, Default)]
pub struct TokenInForce(Arc<ArcSwapOption<Token>>);

impl TokenInForce {
    /// Demands another token, or none.
    pub fn replace(&self, token: Option<Token>) {
        self.0.store(token.map(Arc::new));
    }

    pub(crate) fn get(&self) -> Option<Arc<Token>> {
        self.0.load_full()
    }

    /// Returns whether a call may be made: it has the token, or none is demanded.
    pub(crate) fn admits(&self, headers: &HeaderMap) -> bool {
        let demanded = self.0.load();
        demanded.as_ref().is_none_or(|token| bearer(headers).is_some_and(|given| token.is(given)))
    }

    pub(super) fn is_set(&self) -> bool {
        self.0.load().is_some()
    }
}

impl From<Option<Token>> for TokenInForce {
    fn from(token: Option<Token>) -> Self {
        Self(Arc::new(ArcSwapOption::new(token.map(Arc::new))))
    }
}

/// A token file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the token file {} {fault}", path.display())]
pub struct TokenError {
    path: PathBuf,
    #[source]
    fault: Fault,
}

/// What is wrong with a token file, as the end of a sentence.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("cannot be read: {0}; create it, or make it readable for this process")]
    Unreadable(#[source] io::Error),
    #[error("is empty; write a token into it, `openssl rand -hex 32` makes one")]
    Empty,
    #[error(
        "has a space, a line break or a character outside ASCII within its token; \
         write one token of visible ASCII characters, `openssl rand -hex 32` makes one"
    )]
    Invisible,
    #[error(
        "holds a token of {0} characters, which can be guessed; it needs at least {LEAST_BYTES}, \
         `openssl rand -hex 32` makes one"
    )]
    Short(usize),
}

impl TokenError {
    /// Returns the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

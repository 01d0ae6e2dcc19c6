//! A policy as meant: what `parse` returns once nothing is left to say about the file.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::answer::{HeaderStyle, ProblemTemplate};
use crate::client::TrustedProxies;
use crate::limit::Limit;
use crate::rule::Rule;
use crate::secret::Identities;

/// A policy: where to listen, whom to believe, what to limit.
#[derive(Debug, Clone)]
pub struct Policy {
    /// The reverse proxy, if any.
    pub gateway: Option<Gateway>,
    /// The decision API, if any.
    pub api: Option<Api>,
    /// The operator's endpoint, if any.
    pub admin: Option<Admin>,
    /// The health endpoint, if any.
    pub health: Option<Health>,
    /// Where counts are kept.
    pub store: StoreChoice,
    /// Whose word about a client's address is taken.
    pub trusted: TrustedProxies,
    /// How many instances share the work; at least 1.
    pub instances: u32,
    /// Whether refusals are carried out at all.
    pub mode: Mode,
    /// The codes that `guesses` names, in the order of the file.
    pub codes: Vec<Code>,
    /// The rules, in the order of the file; every one that matches applies.
    pub rules: Vec<Rule>,
    /// The rule for requests that no enforced limit looked at. Its matches are empty.
    pub fallback: Option<Rule>,
    /// The header styles of answers, in the order of the file.
    pub headers: Vec<HeaderStyle>,
    /// The body of a refusal.
    pub problem: ProblemTemplate,
    /// The names of keys outside the process, if the file names a secret; else the process has to draw one.
    pub identities: Option<Identities>,
    /// What becomes of an encoded slash (`%2F`), an encoded backslash or a backslash in a path.
    pub encoded_slash: EncodedSlash,
}

impl Policy {
    /// Returns the names of the keys that limits look at, to count on them, for a cost or for a plan: a ready-made key of
    /// another name would be read by nobody.
    pub fn sources(&self) -> BTreeSet<&str> {
        let rules = self.rules.iter().chain(&self.fallback);
        rules.flat_map(|rule| &rule.limits).flat_map(Limit::sources).collect()
    }

    /// Returns the files that the policy names and that whoever serves it opens: certificates and tokens.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        let tls = self.gateway.as_ref().and_then(|face| face.tls.as_ref());
        let tls = tls.into_iter().flat_map(|files| [&files.certificate, &files.key]);
        let api = self.api.as_ref().and_then(|face| face.token_file.as_ref());
        let admin = self.admin.as_ref().and_then(|face| face.token_file.as_ref());
        tls.chain(api).chain(admin)
    }

    /// Returns the same files, for whoever knows the folder that their paths are meant from.
    pub fn files_mut(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let tls = self.gateway.as_mut().and_then(|face| face.tls.as_mut());
        let tls = tls.into_iter().flat_map(|files| [&mut files.certificate, &mut files.key]);
        let api = self.api.as_mut().and_then(|face| face.token_file.as_mut());
        let admin = self.admin.as_mut().and_then(|face| face.token_file.as_mut());
        tls.chain(api).chain(admin)
    }
}

/// The reverse proxy's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gateway {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Where requests go: `http`, a host, perhaps a port, no path.
    pub upstream: http::Uri,
    /// The certificate it shows, for TLS on the listener.
    pub tls: Option<TlsFiles>,
    /// Whether connections open with a PROXY protocol header.
    pub proxy_protocol: bool,
    /// The most bytes of a body that are held to read a key from it.
    pub max_key_body: usize,
    /// The most bytes of a request's header section.
    pub max_header_bytes: usize,
    /// The most connections open at once.
    pub max_connections: usize,
    /// How long a connection may stay without a request.
    pub idle_timeout: Duration,
    /// How long the upstream may take to begin its answer.
    pub upstream_timeout: Duration,
    /// How long requests under way may take once a stop is asked for.
    pub drain_timeout: Duration,
    /// Whether the upstream is spoken to in HTTP/2 (with prior knowledge over plain text).
    pub upstream_http2: bool,
}

/// A certificate chain and its key, as PEM files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The chain, the server's certificate first.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// The decision API's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Api {
    /// Where it listens; off loopback only with a token.
    pub listen: SocketAddr,
    /// The file that holds the bearer token.
    pub token_file: Option<PathBuf>,
}

/// The operator's endpoint: metrics, and reloading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admin {
    /// Where it listens; off loopback only with a token.
    pub listen: SocketAddr,
    /// The file that holds the bearer token.
    pub token_file: Option<PathBuf>,
}

/// The health endpoint's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// Where it listens.
    pub listen: SocketAddr,
}

/// Where counts are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreChoice {
    /// In this process.
    Memory {
        /// The most keys, when the file says.
        max_keys: Option<usize>,
        /// The most bytes, when the file says.
        max_bytes: Option<usize>,
    },
}

/// Whether refusals are carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// They are.
    Enforce,
    /// They are counted and reported only.
    Shadow,
}

/// A code that somebody may guess, for the review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// Its name in the file.
    pub name: String,
    /// How many decimal digits it has.
    pub digits: u32,
    /// How long one code is shown, for time-based codes.
    pub step: Option<Duration>,
    /// How many steps before and after the present one are accepted as well.
    pub skew_steps: u32,
}

/// What becomes of a path with an encoded slash or any backslash, which some servers take for a separator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EncodedSlash {
    /// The request is refused with 400.
    Refuse,
    /// It is an ordinary character of its segment, never a separator.
    Keep,
}

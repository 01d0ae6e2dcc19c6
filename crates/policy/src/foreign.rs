//! Files of other programs that are served as they are.

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Foreign {
    /// A configuration file of envoyproxy/ratelimit.
    EnvoyRatelimit,
    /// A file with a `rate-limit:` section.
    RateLimitSection,
}

impl Foreign {
    /// Returns the word by which `tidegate import` makes a policy of such a file.
    pub fn import(self) -> &'static str {
        match self {
            Self::EnvoyRatelimit => "envoy",
            Self::RateLimitSection => "rate-limit",
        }
    }
}

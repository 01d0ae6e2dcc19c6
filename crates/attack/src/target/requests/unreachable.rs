//! Why no request can be made for a rule.

use std::fmt;

/// Why no request can be made that a rule applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreachable {
    why: Why,
    rule: String,
    /// What was tried: a request, or a descriptor.
    tried: &'static str,
}

/// What stood in the way of the request that came the farthest: the later in this list, the farther.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Why {
    /// There is no such rule.
    NoRule,
    /// It refuses whatever it applies to.
    Refuses,
    /// It counts nothing.
    NoLimits,
    /// It says that what it applies to is not limited.
    Unlimited,
    /// The limits of the policy cannot be built.
    Unbuilt(String),
    /// It did not apply to any request.
    Elsewhere,
    /// An exception left every request out.
    Excepted(usize),
    /// Another rule's limits were asked wherever the fallback could have been.
    Covered(String),
    /// Another rule takes its place wherever it applies.
    Replaced(String),
    /// Another rule refuses every request.
    Refused(String),
    /// None of its limits finds its key.
    Uncounted,
    /// Every request can be read in several ways or lacks something that is required.
    Bad(String),
}

impl Unreachable {
    /// Tells why no request can be made for a rule, or none of those descriptors for one that is for them.
    pub(super) fn new(rule: &str, why: Why, is_for_calls: bool) -> Self {
        Self { why, rule: rule.to_owned(), tried: if is_for_calls { "descriptor" } else { "request" } }
    }
}

impl fmt::Display for Unreachable {
    /// Writes what is in the way, and what would help.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rule, tried) = (&self.rule, self.tried);
        match &self.why {
            Why::NoRule => write!(f, "there is no such rule; name one of the policy's"),
            Why::Refuses => {
                write!(f, "{rule} refuses whatever it applies to: nothing passes that could be attacked")
            }
            Why::NoLimits => write!(f, "{rule} has no limits; add one, or attack another rule"),
            Why::Unlimited => {
                write!(
                    f,
                    "{rule} limits nothing, as its `unlimited` says: there is nothing that could be attacked"
                )
            }
            Why::Unbuilt(why) => write!(f, "the limits cannot be built: {why}"),
            Why::Elsewhere => write!(
                f,
                "no {tried} was found that {rule} applies to; give it a match that some {tried} meets"
            ),
            Why::Excepted(number) => write!(
                f,
                "exception {number} of {rule} leaves out every {tried} that was tried; narrow what it excepts"
            ),
            Why::Covered(other) => write!(
                f,
                "the limits of {other} look at every {tried} that was tried, so that the fallback never applies; narrow \
                 the match of {other}, or remove the fallback"
            ),
            Why::Replaced(other) => write!(
                f,
                "{other} takes the place of {rule} at every descriptor that was tried: its limits are never asked; narrow \
                 the match of {other}, or what it replaces"
            ),
            Why::Refused(other) => {
                write!(f, "{other} refuses every {tried} that {rule} applies to; except them there")
            }
            Why::Uncounted => write!(
                f,
                "no limit of {rule} found its key in any {tried} that was tried: nothing is counted; look at what the keys \
                 read (`tidegate why`)"
            ),
            Why::Bad(why) if tried == "descriptor" => write!(
                f,
                "every descriptor that was tried for {rule} is turned away: {why}; look at what its keys read (`tidegate \
                 why`), and give the entry to its match"
            ),
            Why::Bad(why) => write!(
                f,
                "every request that was tried for {rule} is refused as a bad one: {why}; look at what its keys read (`tidegate \
                 why`), each of which needs a place of its own in one kind of body"
            ),
        }
    }
}

impl std::error::Error for Unreachable {}

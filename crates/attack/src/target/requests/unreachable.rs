//! Why no request can be made for a rule.

use std::fmt;

/// Why no request can be made that a rule applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreachable {
    why: Why,
    rule: String,
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
    /// The limits of the policy cannot be built.
    Unbuilt(String),
    /// It did not apply to any request.
    Elsewhere,
    /// An exception left every request out.
    Excepted(usize),
    /// Another rule's limits were asked wherever the fallback could have been.
    Covered(String),
    /// Another rule refuses every request.
    Refused(String),
    /// None of its limits finds its key.
    Uncounted,
    /// Every request can be read in several ways or lacks something that is required.
    Bad(String),
}

impl Unreachable {
    pub(super) fn new(rule: &str, why: Why) -> Self {
        Self { why, rule: rule.to_owned() }
    }
}

impl fmt::Display for Unreachable {
    /// Writes what is in the way, and what would help.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rule = &self.rule;
        match &self.why {
            Why::NoRule => write!(f, "there is no such rule; name one of the policy's"),
            Why::Refuses => {
                write!(f, "{rule} refuses whatever it applies to: nothing passes that could be attacked")
            }
            Why::NoLimits => write!(f, "{rule} has no limits; add one, or attack another rule"),
            Why::Unbuilt(why) => write!(f, "the limits cannot be built: {why}"),
            Why::Elsewhere => write!(
                f,
                "no request was found that {rule} applies to; give it a match that some request meets"
            ),
            Why::Excepted(number) => write!(
                f,
                "exception {number} of {rule} leaves out every request that was tried; narrow what it excepts"
            ),
            Why::Covered(other) => write!(
                f,
                "the limits of {other} look at every request that was tried, so that the fallback never applies; narrow \
                 the match of {other}, or remove the fallback"
            ),
            Why::Refused(other) => {
                write!(f, "{other} refuses every request that {rule} applies to; except them there")
            }
            Why::Uncounted => write!(
                f,
                "no limit of {rule} found its key in any request that was tried: nothing is counted; look at what the keys \
                 read (`tidegate why`)"
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

//! A sign of life: a decision that is made and written, and means nothing.
//!
//! A server answers `PING` also while it is full, a replica, or permits this user nothing. Whoever took that for the end of
//! an outage would send everybody to it again, and begin the next one at once.

use tidegate_algorithms::{Anchor, Ask, Quota, Span};
use tidegate_store::LimitId;

use crate::digest::slot;
use crate::op::{Digest, NAME_BYTES, Op, OwnCheck};

/// What is asked for: a window that nobody uses up, which the server forgets after a second.
const UNITS: u64 = 1 << 20;
const WINDOW: Span = Span::from_secs(1);
/// The most names that are tried for one in a node's slots: it is found among so many unless the node has only a handful.
const MOST_NAMES: u32 = 1 << 16;

/// Returns the question about a key; `None` were the quota none.
pub(crate) fn question(digest: Digest) -> Option<Op> {
    let quota = Quota::fixed_window(UNITS, WINDOW, Anchor::Clock).ok()?;
    let check =
        OwnCheck { limit: LimitId::from_index(u32::MAX), digest, quota, ask: Ask::ONE, shadow: false };
    Some(Op::Decide { checks: vec![check], peek: false })
}

/// Returns a key that no limit has, for keys of limits are hashes.
pub(crate) fn anywhere() -> Digest {
    numbered(0)
}

/// Returns such a key, with its slot, in one of the slots that are wanted.
pub(crate) fn within(prefix: &str, is_wanted: impl Fn(u16) -> bool) -> Option<(Digest, u16)> {
    let named = |number| {
        let digest = numbered(number);
        (digest, slot(&digest.redis_key(prefix)))
    };
    (0..MOST_NAMES).map(named).find(|(_, slot)| is_wanted(*slot))
}

fn numbered(number: u32) -> Digest {
    let mut name = [0; NAME_BYTES];
    for (to, from) in name.iter_mut().zip(number.to_be_bytes()) {
        *to = from;
    }
    Digest(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A node with a sixteenth of a cluster has to be asked as one with a third is.
    #[test]
    fn every_part_of_a_cluster_has_a_key() {
        for first in (0..16_384).step_by(1_024) {
            let (digest, found) = within("tg", |slot| (first..first + 1_024).contains(&slot)).unwrap();
            assert_eq!(found, slot(&digest.redis_key("tg")));
        }
        assert_eq!(within("tg", |_| false), None);
    }
}

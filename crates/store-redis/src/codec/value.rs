//! A whole value: the state that was written last, and those that were left under other quotas.

use tidegate_algorithms::{Quota, State};
use tidegate_store::plans::{Held, Plans};

use super::quota::{quota_code, read};
use super::state;

/// What begins a value of several states; no quota's kind is that high.
const SEVERAL: u8 = 255;

/// Returns the value of what is held, `None` when nothing is.
pub(crate) fn encode(plans: &Plans) -> Option<Vec<u8>> {
    let Plans { current, left } = plans;
    if left.is_empty() {
        return current.as_ref().and_then(one);
    }
    let mut out = vec![SEVERAL, u8::from(current.is_some())];
    for held in current.iter().chain(left) {
        let one = one(held)?;
        out.extend_from_slice(&u32::try_from(one.len()).ok()?.to_be_bytes());
        out.extend_from_slice(&one);
    }
    Some(out)
}

fn one((state, quota): &Held) -> Option<Vec<u8>> {
    let mut out = quota_code(quota);
    state::write(quota, state, &mut out)?;
    Some(out)
}

/// Reads a value; `None` for one that is none of ours.
pub(crate) fn decode(bytes: &[u8]) -> Option<Plans> {
    let mut plans = Plans::default();
    let Some((&SEVERAL, rest)) = bytes.split_first() else {
        plans.current = Some(read_one(bytes)?);
        return Some(plans);
    };
    let (&has_current, mut rest) = rest.split_first()?;
    while !rest.is_empty() {
        let (length, behind) = rest.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let (one, behind) = behind.split_at_checked(length)?;
        plans.left.push(read_one(one)?);
        rest = behind;
    }
    match (has_current, plans.left.is_empty()) {
        (0, false) => {}
        (1, false) => plans.current = Some(plans.left.remove(0)),
        _ => return None,
    }
    Some(plans)
}

fn read_one(mut bytes: &[u8]) -> Option<(State, Quota)> {
    let quota = read(&mut bytes)?;
    Some((state::read(&quota, bytes)?, quota))
}

//! Values in Redis, as bytes.
//!
//! A value is a quota's code and a state of it: the numbers stand beside the state, so that whoever meets it under other
//! numbers can carry it over. Where states were left under other quotas it is a list of such pairs. The commonest states
//! take 12 bytes or fewer, which Redis keeps in 32 with everything around them.

mod quota;
pub(crate) mod state;
mod value;

pub(crate) use quota::quota_code;
pub(crate) use value::decode;
#[cfg(feature = "testing")]
pub(crate) use value::encode;

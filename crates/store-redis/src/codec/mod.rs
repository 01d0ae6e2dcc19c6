//! Values in Redis, as bytes.
//!
//! A value is a quota's code and a state of it: the numbers stand beside the state, so that whoever meets it under other
//! numbers can carry it over. Where states were left under other quotas it is a list of such pairs. The commonest states
//! take 12 bytes or fewer, which Redis keeps in 32 with everything around them.

mod quota;
#[cfg_attr(
    not(feature = "testing"),
    allow(dead_code, reason = "the script writes values; tests hold it against this")
)]
pub(crate) mod state;
#[cfg_attr(not(feature = "testing"), allow(dead_code, reason = "as above"))]
mod value;

pub(crate) use quota::quota_code;
pub(crate) use value::decode;
#[cfg(feature = "testing")]
pub(crate) use value::encode;

#[cfg(all(test, feature = "testing"))]
mod tests {
    use proptest::prelude::*;

    use super::{decode, encode};

    proptest! {
        /// Whoever may write under our prefix could otherwise end every instance that reads it; and what is read must be
        /// what is written again.
        #[test]
        fn any_bytes_are_read_or_refused_and_written_as_they_were_meant(
            kind in prop_oneof![0_u8..14, Just(255)],
            bytes in proptest::collection::vec(prop_oneof![0_u8..20, any::<u8>()], 0..40),
        ) {
            let value = [&[kind], bytes.as_slice()].concat();
            if let Some(plans) = decode(&value) {
                let written = encode(&plans);
                let again = written.as_deref().and_then(decode);
                prop_assert!(again.is_some(), "{plans:?} is written as {written:?}");
                prop_assert_eq!(again.as_ref().and_then(encode), written);
            }
        }
    }
}

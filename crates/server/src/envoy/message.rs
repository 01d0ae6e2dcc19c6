//! Envoy's question as it is read off the wire.
//!
//! The numbers are those of `envoy.service.ratelimit.v3.RateLimitRequest`. Keys and values are bytes here, where Envoy's own
//! definition has text: what a client puts into a header may be no UTF-8, and a question that cannot be read is an error,
//! after which Envoy lets the request pass.

use bytes::Bytes;
use envoy_types::pb::google::protobuf::UInt64Value;
use prost::Message;

/// What Envoy asks about one request.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Asked {
    /// The namespace.
    #[prost(bytes = "bytes", tag = "1")]
    pub(super) domain: Bytes,
    /// What is to be limited.
    #[prost(message, repeated, tag = "2")]
    pub(super) descriptors: Vec<AskedDescriptor>,
    /// The hits of every descriptor that says none; zero stands for unsaid.
    #[prost(uint32, tag = "3")]
    pub(super) hits_addend: u32,
}

/// One descriptor.
#[derive(Clone, PartialEq, Message)]
pub(super) struct AskedDescriptor {
    /// Its entries, in order.
    #[prost(message, repeated, tag = "1")]
    pub(super) entries: Vec<AskedEntry>,
    /// The limit that stands in for the one of the policy.
    #[prost(message, optional, tag = "2")]
    pub(super) limit: Option<AskedLimit>,
    /// Its hits, zero to look without taking.
    #[prost(message, optional, tag = "3")]
    pub(super) hits_addend: Option<UInt64Value>,
    /// Whether the hits are given back rather than taken.
    #[prost(bool, tag = "4")]
    pub(super) is_negative_hits: bool,
}

/// One entry.
#[derive(Clone, PartialEq, Message)]
pub(super) struct AskedEntry {
    #[prost(bytes = "bytes", tag = "1")]
    pub(super) key: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub(super) value: Bytes,
}

/// A limit that comes with the question.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct AskedLimit {
    #[prost(uint32, tag = "1")]
    pub(super) requests_per_unit: u32,
    /// A number of `envoy.type.v3.RateLimitUnit`.
    #[prost(int32, tag = "2")]
    pub(super) unit: i32,
}

#[cfg(test)]
mod tests {
    use envoy_types::pb::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
    use envoy_types::pb::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::{
        Entry, RateLimitOverride,
    };
    use envoy_types::pb::envoy::service::ratelimit::v3::RateLimitRequest;

    use super::*;

    /// Guards against a field that is read from another's place: both say the same of the same bytes.
    #[test]
    fn a_question_is_the_same_message_as_envoys() {
        let theirs = RateLimitRequest {
            domain: "shop".to_owned(),
            descriptors: vec![RateLimitDescriptor {
                entries: vec![Entry { key: "path".to_owned(), value: "/é".to_owned() }],
                limit: Some(RateLimitOverride { requests_per_unit: 7, unit: 3 }),
                hits_addend: Some(UInt64Value { value: 9 }),
                is_negative_hits: true,
            }],
            hits_addend: 5,
        };
        let ours = Asked {
            domain: "shop".into(),
            descriptors: vec![AskedDescriptor {
                entries: vec![AskedEntry { key: "path".into(), value: "/é".into() }],
                limit: Some(AskedLimit { requests_per_unit: 7, unit: 3 }),
                hits_addend: Some(UInt64Value { value: 9 }),
                is_negative_hits: true,
            }],
            hits_addend: 5,
        };
        assert_eq!(Asked::decode(theirs.encode_to_vec().as_slice()), Ok(ours.clone()));
        assert_eq!(ours.encode_to_vec(), theirs.encode_to_vec());
    }
}

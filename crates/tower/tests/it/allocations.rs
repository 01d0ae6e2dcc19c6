//! What a request through the layer allocates, counted by the allocator itself: a fixed few, none for the decision.

use std::convert::Infallible;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Empty;
use tidegate::{Limiter, policy_file};
use tidegate_tower::{LimitLayer, PeerAddr};
use tower::{Layer, Service, service_fn};

/// Returns how many allocations a request makes on its way through the layer, and the status it gets.
fn allocations(limit: u32) -> (u64, u16) {
    let text = format!(
        "
tidegate: 1
keys: {{ account: {{ header: x-account }} }}
rules:
  - name: all
    match: {{ path: /** }}
    limits:
      - {{ name: per-client, says: x, key: client_ip, token_bucket: {{ capacity: {limit}, refill: 1 per 1h }} }}
      - {{ name: per-account, says: x, key: account, sliding_counter: {{ limit: {limit}, window: 1h }} }}
"
    );
    let policy = policy_file::parse_embedded("policy.yaml", &text).unwrap_or_else(|it| panic!("{it}"));
    let behind = async |_| Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()));
    let mut service = LimitLayer::new(Limiter::from_policy(policy).unwrap()).layer(service_fn(behind));
    let mut send = || {
        let request = Request::get("/search").header("x-account", "odalys@example.com");
        let mut request = request.body(Empty::<Bytes>::new()).unwrap();
        request.extensions_mut().insert(PeerAddr([192, 0, 2, 7].into()));
        let mut status = 0;
        let counted = allocation_counter::measure(|| {
            let Poll::Ready(Ok(response)) =
                pin!(service.call(request)).poll(&mut Context::from_waker(Waker::noop()))
            else {
                panic!("it is answered at once")
            };
            status = response.status().as_u16();
        });
        (counted.count_total, status)
    };
    send();
    send()
}

/// Guards against an allocation a request more. Those of a request that passes: its future; the client among its extensions;
/// of the answer the table of its fields and their two values.
#[test]
fn a_request_that_passes_allocates_its_future_its_client_and_its_fields() {
    assert_eq!(allocations(1_000), (6, 200));
}

/// Guards against building an answer piece by piece: under a flood it is what most requests get.
#[test]
fn a_request_that_is_refused_allocates_its_future_its_body_and_its_fields() {
    assert_eq!(allocations(1), (12, 429));
}

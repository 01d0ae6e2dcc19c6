//! A client's layer, which waits.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tidegate::{Limit, Limiter, Quota, Rate, Ruling, Span};
use tidegate_tower::{PaceError, PaceLayer};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::keyed::{hourly, limiter};

fn paced(capacity: u64, millis: u64) -> Limiter {
    let rate = Rate::new(1, Span::from_millis(millis)).unwrap();
    limiter([Limit::new("l", Quota::token_bucket(capacity, rate).unwrap())])
}

#[tokio::test]
async fn requests_wait_until_the_limit_admits_them() {
    let layer = PaceLayer::new(paced(1, 20), "l", Duration::from_mins(1)).unwrap();
    let client = layer.layer(service_fn(async |request: u32| Ok::<_, Infallible>(request)));
    let begun = std::time::Instant::now();
    let mut asked = tokio::task::JoinSet::new();
    for request in 0..5 {
        asked.spawn(client.clone().oneshot(request));
    }
    let mut answers: Vec<_> = asked.join_all().await.into_iter().map(Result::unwrap).collect();
    answers.sort_unstable();
    assert_eq!(answers, [0, 1, 2, 3, 4]);
    assert!(begun.elapsed() >= Duration::from_millis(80), "the limit was overrun");
}

/// Guards against a request that waits its whole time for nothing, and one that is sent although it was refused.
#[tokio::test]
async fn a_wait_that_is_too_long_is_an_error_at_once_and_nothing_is_sent() {
    let sent = Arc::new(AtomicU32::new(0));
    let service = service_fn({
        let sent = Arc::clone(&sent);
        move |()| {
            sent.fetch_add(1, Ordering::Relaxed);
            std::future::ready(Ok::<_, Infallible>(()))
        }
    });
    let layer = PaceLayer::new(limiter([hourly("l", 1)]), "l", Duration::from_mins(1)).unwrap();
    let mut client = layer.layer(service);
    client.ready().await.unwrap().call(()).await.unwrap();
    let error = client.ready().await.unwrap().call(()).await.unwrap_err();
    let PaceError::Refused(verdict) = &error else { panic!("{error}") };
    assert!(matches!(verdict.ruling(), Ruling::Refuse { .. }));
    assert!(error.to_string().starts_with("not sent: refused by l: 0 of 1 left"), "{error}");
    assert_eq!(sent.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn each_key_has_a_pace_of_its_own_and_errors_pass() {
    let layer = PaceLayer::new(limiter([hourly("l", 1)]), "l", Duration::from_millis(1)).unwrap();
    let layer = layer.keyed(|host: &&'static str| *host);
    let mut client =
        layer.layer(service_fn(async |host: &'static str| Err::<(), _>(format!("{host} is away"))));
    for host in ["a.example", "b.example"] {
        let error = client.ready().await.unwrap().call(host).await.unwrap_err();
        assert!(matches!(&error, PaceError::Service(_)), "{error}");
        assert_eq!(error.to_string(), format!("{host} is away"));
    }
    let error = client.ready().await.unwrap().call("a.example").await.unwrap_err();
    assert!(matches!(error, PaceError::Refused(_)), "{error}");
    assert!(PaceLayer::<()>::new(limiter([hourly("l", 1)]), "m", Duration::ZERO).is_err());
}

//! The wait for an upstream's answer, in paused time.

use std::convert::Infallible;

use futures_util::stream;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};

use super::*;

const TIMEOUT: Duration = Duration::from_secs(30);

/// Waits for an answer that comes when the whole body has, and tells how it went and after how many seconds.
async fn upload(pieces: u64, every: Duration, then_answers: bool) -> (String, u64) {
    let pieces = stream::unfold(0, move |sent| async move {
        tokio::time::sleep(every).await;
        (sent < pieces).then(|| (Ok::<_, Infallible>(Frame::data(Bytes::from_static(b"x"))), sent + 1))
    });
    let (mut body, progress) = body::from_client(StreamBody::new(Box::pin(pieces)));
    let answer = async move {
        while body.frame().await.is_some() {}
        if then_answers { Err::<(), _>(ForwardError::UnaskedUpgrade) } else { std::future::pending().await }
    };
    let start = Instant::now();
    let outcome = wait(answer, progress.as_deref(), TIMEOUT).await.unwrap_err().to_string();
    (outcome, start.elapsed().as_secs())
}

#[tokio::test(start_paused = true)]
async fn a_long_upload_is_no_slow_upstream() {
    let (outcome, after) = upload(100, Duration::from_secs(20), true).await;
    assert_eq!((outcome, after), (ForwardError::UnaskedUpgrade.to_string(), 2020));
}

#[tokio::test(start_paused = true)]
async fn the_upstream_has_its_time_from_the_last_piece() {
    let (outcome, after) = upload(10, Duration::from_secs(20), false).await;
    assert_eq!((outcome, after), (ForwardError::UpstreamTimeout.to_string(), 250));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_stalls_is_told_from_an_upstream_that_does() {
    let (outcome, after) = upload(2, Duration::from_secs(40), true).await;
    assert_eq!((outcome, after), (ForwardError::ClientTimeout.to_string(), 30));
}

#[tokio::test(start_paused = true)]
async fn without_a_body_the_time_is_the_timeout() {
    let start = Instant::now();
    let never = std::future::pending::<Result<Response<Incoming>, ForwardError>>();
    assert!(matches!(wait(never, None, TIMEOUT).await, Err(ForwardError::UpstreamTimeout)));
    assert_eq!(start.elapsed(), TIMEOUT);
}

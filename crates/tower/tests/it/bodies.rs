//! Bodies: read for a key and replayed, or left alone.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Full};
use tidegate_tower::{LimitLayer, ReplayedBody};
use tower::{Layer, ServiceExt, service_fn};

use crate::world::{by, field, post, send};

const BY_ACCOUNT: &str = "
keys: { account: { json: /account } }
rules:
  - name: r
    class: api
    match: { method: POST, path: /keyed }
    limits:
      - { name: l, says: A hundred a minute per account., key: account, sliding_log: { limit: 100, window: 1m } }
";

/// A body in the frames it is given, of unknown length.
pub(crate) struct Frames(pub(crate) VecDeque<Frame<Bytes>>);

impl Body for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(Ok))
    }
}

fn framed(path: &str, frames: impl IntoIterator<Item = Frame<Bytes>>) -> Request<Frames> {
    let body = Frames(frames.into_iter().collect());
    Request::builder().method("POST").uri(path).header("content-type", "application/json").body(body).unwrap()
}

#[tokio::test]
async fn a_body_that_was_read_for_its_key_reaches_the_service_whole_with_its_trailers() {
    let mut trailers = HeaderMap::new();
    trailers.insert("x-checksum", "abc".parse().unwrap());
    let text = r#"{"account":"odalys","padding":"----------------"}"#;
    let mut frames: Vec<_> =
        text.as_bytes().chunks(7).map(|part| Frame::data(Bytes::copy_from_slice(part))).collect();
    frames.push(Frame::trailers(trailers));
    let response = send(&by(BY_ACCOUNT), framed("/keyed", frames)).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.body(), text);
    assert_eq!(field(response.headers(), "x-checksum"), Some("abc"));
}

#[tokio::test]
async fn a_key_body_over_the_limit_is_413_whether_it_says_its_length_or_not() {
    let long = format!(r#"{{"account":"{}"}}"#, "a".repeat(70_000));
    let limiter = by(BY_ACCOUNT);
    assert_eq!(send(&limiter, post("/keyed", &long)).await.status(), 413);
    let parts = long.as_bytes().chunks(1_000).map(|part| Frame::data(Bytes::copy_from_slice(part)));
    assert_eq!(send(&limiter, framed("/keyed", parts)).await.status(), 413);
    assert_eq!(send(&limiter, post("/keyed", r#"{"account":"a"}"#)).await.status(), 200);
}

#[tokio::test]
async fn a_body_no_limit_is_keyed_on_may_be_as_long_as_it_likes() {
    let long = "x".repeat(300_000);
    let response = send(&by(BY_ACCOUNT), post("/free", &long)).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.body().len(), 300_000);
}

/// Guards against a body in single bytes that costs a hundred times what it holds while it is waited for.
#[tokio::test]
async fn a_body_that_comes_in_pieces_is_held_in_one() {
    let text = format!(r#"{{"account":"odalys","padding":"{}"}}"#, "-".repeat(1_000));
    let pieces = text.as_bytes().chunks(1).map(|part| Frame::data(Bytes::copy_from_slice(part)));
    let lengths = service_fn(async |request: Request<ReplayedBody<Frames>>| {
        let mut body = request.into_body();
        let mut lengths = Vec::new();
        while let Some(frame) = body.frame().await {
            lengths.push(frame?.into_data().map_or(0, |data| data.len()));
        }
        Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(format!("{lengths:?}")))))
    });
    let service = LimitLayer::new(by(BY_ACCOUNT)).layer(lengths);
    let response = service.oneshot(framed("/keyed", pieces)).await.unwrap();
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), format!("[{}]", text.len()));
}

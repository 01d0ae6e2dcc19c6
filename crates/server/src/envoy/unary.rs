//! The call as it nearly always comes: a body that is one message, whole and not compressed.
//!
//! It is read where it lies and answered in one piece. What comes otherwise is left to the library for gRPC, which knows every
//! way to send a message and every word about one that cannot be read.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::BoxError;
use axum::body::Body;
use bytes::{BufMut as _, Bytes, BytesMut};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt as _, Either};
use prost::Message as _;
use tonic::Status;

use super::answer::Answer;
use super::late::late;
use super::message::Asked;
use super::{CALL, Face, MAX_BYTES, by_library};
use crate::api::{BODY_TIMEOUT, TokenInForce, arrived};
use crate::front::Busiest;

static ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
static STATUS: HeaderName = HeaderName::from_static("grpc-status");

/// Calls by whoever has the token.
#[derive(Debug, Clone)]
pub(crate) struct Calls {
    pub(super) face: Arc<Face>,
    pub(super) token: TokenInForce,
}

impl Busiest for Calls {
    type Body = Reply;

    fn takes<B>(&self, request: &Request<B>) -> bool {
        request.method() == Method::POST
            && request.uri().path() == CALL
            && !request.headers().contains_key(&ENCODING)
            && self.token.admits(request.headers())
    }

    async fn answer<B>(self, request: Request<B>) -> Response<Either<Reply, Body>>
    where
        B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
    {
        let (head, mut body) = request.into_parts();
        let answered = match in_time(read(&mut body)).await {
            Err(status) => Err(status),
            Ok(read) => {
                let Some(asked) = read.message() else {
                    let body = Replayed { ahead: Some(read.bytes), rest: body };
                    let face = Face::clone(&self.face);
                    return by_library(face, Request::from_parts(head, body)).await.map(Either::Right);
                };
                self.face.answer(asked).await
            }
        };
        match answered {
            Ok(reply) => Reply::of(&reply).map(Either::Left),
            Err(status) => status.into_http().map(Either::Right),
        }
    }
}

/// Waits for a message to be read, and not for ever.
async fn in_time<T>(reading: impl Future<Output = Result<T, Status>>) -> Result<T, Status> {
    let mut reading = pin!(reading);
    match arrived(reading.as_mut()).await {
        Some(read) => read,
        None => tokio::time::timeout(BODY_TIMEOUT, reading).await.unwrap_or_else(|_| Err(late())),
    }
}

/// What has been read of a body.
struct Read {
    bytes: Bytes,
    is_whole: bool,
}

/// Reads a body to its end, or until it is seen to come in several pieces.
async fn read<B>(body: &mut B) -> Result<Read, Status>
where
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    let mut bytes = Bytes::new();
    while !body.is_end_stream() {
        let Some(frame) = body.frame().await else { break };
        let frame = frame.map_err(|error| Status::from_error(error.into()))?;
        match frame.into_data() {
            Ok(data) if bytes.is_empty() => bytes = data,
            Ok(data) if !data.is_empty() => {
                return Ok(Read { bytes: [bytes, data].concat().into(), is_whole: false });
            }
            Ok(_) | Err(_) => {}
        }
    }
    Ok(Read { bytes, is_whole: true })
}

impl Read {
    /// Returns the one message that a whole body is: behind a mark that it is not compressed, and its length.
    fn message(&self) -> Option<Asked> {
        let (&[0, length @ ..], message) = self.bytes.split_first_chunk::<5>()? else { return None };
        let fits =
            usize::try_from(u32::from_be_bytes(length)) == Ok(message.len()) && message.len() <= MAX_BYTES;
        (self.is_whole && fits).then(|| Asked::decode(self.bytes.slice(5..)).ok()).flatten()
    }
}

/// An answer, with the status of success behind it.
#[derive(Debug)]
pub(crate) struct Reply {
    message: Option<Bytes>,
    is_ended: bool,
}

impl Reply {
    fn of(answer: &Answer) -> Response<Self> {
        let length = answer.encoded_len();
        let mut message = BytesMut::with_capacity(length.saturating_add(5));
        message.put_u8(0);
        message.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
        answer.encode(&mut message);
        let mut response = Response::new(Self { message: Some(message.freeze()), is_ended: false });
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        response
    }
}

impl http_body::Body for Reply {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if let Some(message) = self.message.take() {
            return Poll::Ready(Some(Ok(Frame::data(message))));
        }
        if std::mem::replace(&mut self.is_ended, true) {
            return Poll::Ready(None);
        }
        let mut trailers = HeaderMap::with_capacity(1);
        trailers.insert(&STATUS, HeaderValue::from_static("0"));
        Poll::Ready(Some(Ok(Frame::trailers(trailers))))
    }

    fn is_end_stream(&self) -> bool {
        self.is_ended
    }
}

/// A body whose beginning has been read.
struct Replayed<B> {
    ahead: Option<Bytes>,
    rest: B,
}

impl<B: http_body::Body<Data = Bytes> + Unpin> http_body::Body for Replayed<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        match self.ahead.take().filter(|ahead| !ahead.is_empty()) {
            Some(ahead) => Poll::Ready(Some(Ok(Frame::data(ahead)))),
            None => Pin::new(&mut self.rest).poll_frame(cx),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::time::Duration;

    use futures_util::StreamExt as _;
    use http_body_util::StreamBody;
    use tidegate::Limiter;
    use tokio::time::Instant;
    use tokio_util::sync::CancellationToken;
    use tower_service::Service as _;

    use super::super::{hits::Hits, service_with};
    use super::*;

    /// Guards against calls that hold their memory for as long as their client likes: one that sends nothing, one that stops in
    /// the middle, one that sends a byte now and then, and each of them by the library as well.
    #[tokio::test(start_paused = true)]
    async fn a_message_that_does_not_arrive_is_not_waited_for_longer_than_it_may_take() {
        for pieces in [0, 1, 2, usize::MAX] {
            for by_library in [false, true] {
                let limiter = Limiter::in_memory([]).unwrap();
                let (draining, hits) = (CancellationToken::new(), Hits::default());
                let mut service = service_with(limiter, TokenInForce::default(), draining, hits);
                let some = futures_util::stream::iter(0..pieces).then(|_| async {
                    tokio::time::sleep(Duration::from_millis(500)).await;
                    Ok::<_, Infallible>(Frame::data(Bytes::from_static(&[0])))
                });
                let body = StreamBody::new(Box::pin(some.chain(futures_util::stream::pending())));
                let mut request = Request::post(CALL).header(CONTENT_TYPE, "application/grpc");
                if by_library {
                    request = request.header(&ENCODING, "identity");
                }
                let began = Instant::now();
                let answer = service.call(request.body(body).unwrap()).await.unwrap();
                let seconds = began.elapsed().as_secs();
                assert_eq!(answer.headers().get(&STATUS).unwrap(), "4", "{pieces} {by_library}");
                assert!((10..=12).contains(&seconds), "{pieces} {by_library}: {seconds} s");
            }
        }
    }
}

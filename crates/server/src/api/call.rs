//! A call's body: JSON, whole, within bounds, or a problem that names what is at fault.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use axum::BoxError;
use axum::extract::Request;
use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::{Deserialize, DeserializeOwned, IgnoredAny};
use serde_json::error::Category;

use super::MAX_CALL_BYTES;
use crate::problem::Problem;

/// How long a body may take to arrive whole: a call that waits for its body costs memory.
pub(crate) const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Reads a call's body.
///
/// # Errors
/// 415 when it is said to be something else than JSON, 413 when it is too long, 408 when it takes too long, 400 when it
/// breaks off or is not JSON, 422 when it is not what `T` describes.
pub(crate) async fn read<T: DeserializeOwned>(request: Request) -> Result<T, Problem> {
    parse(&bytes(request).await?)
}

/// Reads a call's body as it came, for whoever has to look at it before it is parsed.
///
/// # Errors
/// As [`read`], but for what the body holds.
pub(crate) async fn bytes<B>(request: http::Request<B>) -> Result<Bytes, Problem>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let (head, body) = request.into_parts();
    is_json(&head.headers)?;
    let mut whole = pin!(whole(body));
    if let Some(whole) = arrived(whole.as_mut()).await {
        return whole;
    }
    tokio::time::timeout(BODY_TIMEOUT, whole).await.map_err(|_| {
        let detail =
            format!("the body did not arrive within {} seconds; send it faster", BODY_TIMEOUT.as_secs());
        Problem::new(StatusCode::REQUEST_TIMEOUT, detail)
    })?
}

/// Waits for what has arrived already, `None` for what has not: nearly every body came along with its head, and for those no
/// timer is set.
///
/// A connection hands a body over once it was asked for it, so what has to be waited for is asked for a second time.
pub(crate) async fn arrived<F: Future>(mut reading: Pin<&mut F>) -> Option<F::Output> {
    let mut asked = false;
    let read = poll_fn(|cx| match reading.as_mut().poll(cx) {
        Poll::Ready(read) => Poll::Ready(Some(read)),
        Poll::Pending if asked => Poll::Ready(None),
        Poll::Pending => {
            asked = true;
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    });
    read.await
}

/// Returns whether a body is said to be JSON in UTF-8, as it is; one without a type may be anything.
fn is_json(headers: &HeaderMap) -> Result<(), Problem> {
    let refuse = |detail| Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
    let mut kinds = headers.get_all(CONTENT_TYPE).iter();
    let (Some(Ok(kind)), None) = (kinds.next().map(|kind| kind.to_str()), kinds.next()) else {
        return refuse("this call takes JSON; send one `Content-Type: application/json`");
    };
    let mut parts = kind.split(';').map(str::trim);
    if !parts.next().unwrap_or_default().eq_ignore_ascii_case("application/json") {
        return refuse("this call takes JSON; send it as `Content-Type: application/json`");
    }
    for parameter in parts {
        let (name, value) = parameter.split_once('=').unwrap_or_default();
        if name.eq_ignore_ascii_case("charset") && !value.trim_matches('"').eq_ignore_ascii_case("utf-8") {
            return refuse("JSON is UTF-8; send it without a charset");
        }
    }
    if headers
        .get_all(CONTENT_ENCODING)
        .iter()
        .any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity"))
    {
        return refuse("compressed bodies are not taken; send it without `Content-Encoding`");
    }
    Ok(())
}

async fn whole<B>(body: B) -> Result<Bytes, Problem>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let too_long = || {
        let detail = format!("a call may have {MAX_CALL_BYTES} bytes; send only what the limits count on");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
    };
    // Said to be too long, it is not waited for.
    if body.size_hint().lower() > u64::try_from(MAX_CALL_BYTES).unwrap_or(u64::MAX) {
        return Err(too_long());
    }
    let failed = |error: BoxError| {
        if error.is::<LengthLimitError>() {
            return too_long();
        }
        Problem::new(StatusCode::BAD_REQUEST, "the body broke off; send it whole")
    };
    let mut body = pin!(Limited::new(body, MAX_CALL_BYTES));
    let Some(first) = body.frame().await else { return Ok(Bytes::new()) };
    let first = first.map_err(failed)?.into_data().unwrap_or_default();
    if body.is_end_stream() {
        return Ok(first);
    }
    let rest = body.collect().await.map_err(failed)?.to_bytes();
    Ok(if rest.is_empty() { first } else { [first, rest].concat().into() })
}

/// Parses a call's body.
///
/// # Errors
/// 400 when it is not JSON, 422 when it is not what `T` describes.
pub(crate) fn parse<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Problem> {
    // A list would be taken for the members in their order.
    if !bytes.trim_ascii_start().starts_with(b"{") {
        serde_json::from_slice::<IgnoredAny>(bytes).map_err(|error| fault(None, &error))?;
        return Err(Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "a call is a JSON object; send `{` and `}`",
        ));
    }
    // What is at fault is found by reading once more and keeping account of the place.
    if let Ok(value) = serde_json::from_slice(bytes) {
        return Ok(value);
    }
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let member = error.path().iter().next().map(|_| error.path().to_string());
        fault(member, &error.into_inner())
    })?;
    json.end().map_err(|error| fault(None, &error))?;
    Ok(value)
}

/// Returns what is wrong without the line and column, which mean little in a body of one line.
fn without_place(error: &serde_json::Error) -> String {
    let mut text = error.to_string();
    if let Some(place) = text.rfind(" at line ") {
        text.truncate(place);
    }
    text
}

fn fault(member: Option<String>, error: &serde_json::Error) -> Problem {
    match (error.classify(), member) {
        (Category::Data, Some(member)) => {
            let why = without_place(error);
            let remedy = if member == "body" {
                "; send the body as one string, or give its keys in `keys`"
            } else {
                ""
            };
            Problem::of_member(member, format!("{why}{remedy}"))
        }
        (Category::Data, None) => Problem::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string()),
        _ => {
            let detail = format!("the body is not JSON: {error}; send one JSON object");
            Problem::new(StatusCode::BAD_REQUEST, detail)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http_body::Frame;
    use http_body_util::StreamBody;

    use super::*;

    /// Reads a body whose pieces come one every so often, the first of them at once.
    async fn read_of(pieces: &'static [&'static str], every: Duration) -> Result<Bytes, StatusCode> {
        let frames = futures_util::stream::unfold(0, async |place: usize| {
            if place > 0 {
                tokio::time::sleep(every).await;
            }
            let piece = pieces.get(place)?;
            Some((Ok::<_, Infallible>(Frame::data(Bytes::from_static(piece.as_bytes()))), place + 1))
        });
        let request = http::Request::builder().header(CONTENT_TYPE, "application/json");
        let request = request.body(StreamBody::new(Box::pin(frames))).unwrap();
        bytes(request).await.map_err(|problem| axum::response::IntoResponse::into_response(problem).status())
    }

    /// Guards against a body that is waited for without end since it was there in part, and against pieces that are lost.
    #[tokio::test(start_paused = true)]
    async fn a_body_in_pieces_is_whole_if_it_comes_in_time() {
        let pieces = &["{", "", "}"];
        for (secs, expected) in [(0, Ok("{}")), (3, Ok("{}")), (4, Err(StatusCode::REQUEST_TIMEOUT))] {
            let read = read_of(pieces, Duration::from_secs(secs)).await;
            assert_eq!(read, expected.map(Bytes::from), "{secs} s");
        }
        assert_eq!(read_of(&[], Duration::ZERO).await, Ok(Bytes::new()));
    }
}

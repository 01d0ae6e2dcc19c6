//! One request of a connection: looked at, handed to the service, answered.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, HeaderValue, UPGRADE};
use http::{Method, Request, Response, StatusCode, Version};
use http_body::Body;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use tidegate_tower::problem_response;
use tower_service::Service;

use super::BoxError;
use super::activity::{Activity, Tracked};
use super::admit::{self, Refusal};
use super::framing::Findings;
use super::options::RequestLimits;
use super::peer::PeerInfo;
use super::stall::Stalls;
use super::tunnels::TunnelScope;

/// What a connection's requests have in common.
pub(crate) struct Context {
    info: PeerInfo,
    limits: RequestLimits,
    tunnels: TunnelScope,
    pub(crate) activity: Arc<Activity>,
    pub(crate) stalls: Arc<Stalls>,
}

impl Context {
    pub(crate) fn new(info: PeerInfo, tunnels: TunnelScope, limits: RequestLimits) -> Self {
        Self { info, limits, tunnels, activity: Activity::new(), stalls: Stalls::new() }
    }

    /// Admits a request and has the service answer it.
    pub(crate) async fn handle<S, B>(
        self: Arc<Self>,
        mut service: S,
        mut request: Request<Incoming>,
        findings: Option<Arc<Findings>>,
    ) -> Result<Response<Tracked<Either<B, Full<Bytes>>>>, Infallible>
    where
        S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible>,
        B: Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        let under_way = self.activity.begin();
        let version = request.version();
        let is_bodiless = version == Version::HTTP_2 && request.method() == Method::HEAD;
        let sound = findings.as_ref().is_none_or(|findings| findings.next_is_sound());
        let admitted =
            if sound { admit::admit(&mut request, &self.limits) } else { Err(admit::UNSOUND_FRAMING) };
        let response = if let Err(refusal) = admitted {
            if let Some(findings) = &findings {
                findings.refused();
            }
            refuse(refusal, version).map(Either::Right)
        } else {
            request.extensions_mut().insert(self.info);
            if request.headers().contains_key(UPGRADE) {
                request.extensions_mut().insert(self.tunnels.clone());
            }
            std::future::poll_fn(|cx| service.poll_ready(cx)).await?;
            service.call(request).await?.map(Either::Left)
        };
        if response.status() == StatusCode::SWITCHING_PROTOCOLS
            && let Some(findings) = &findings
        {
            findings.became_tunnel();
        }
        let response = if is_bodiless { without_body(response) } else { response };
        Ok(response.map(|body| Tracked::new(body, under_way, self.stalls.watch())))
    }
}

/// Takes the body out of an answer to `HEAD`, and leaves its length. On HTTP/1.1 hyper sends none; on HTTP/2 it would, and a
/// client resets the stream for it.
fn without_body<B>(response: Response<Either<B, Full<Bytes>>>) -> Response<Either<B, Full<Bytes>>>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    if response.body().is_end_stream() {
        return response;
    }
    let length = response.body().size_hint().exact();
    let mut response = response.map(|_| Either::Right(Full::default()));
    if let Some(length) = length {
        response.headers_mut().entry(CONTENT_LENGTH).or_insert(length.into());
    }
    response
}

/// Answers a refused request, and on HTTP/1.1 ends the connection: what follows may not be what it seems.
fn refuse(refusal: Refusal, version: Version) -> Response<Full<Bytes>> {
    let mut response = problem_response(refusal.status, refusal.detail);
    if version < Version::HTTP_2 {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

//! The layer and its service: one request's path from the socket to the service behind, or to a refusal.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, EXPECT, HOST, HeaderValue};
use http::request::Parts;
use http::{Request, Response, Version};
use http_body::Body;
use tidegate::policy_file::{self, Policy};
use tidegate::{CheckOptions, Limiter, UnknownLimit};
use tower_layer::Layer;
use tower_service::Service;

use crate::body::{AnswerBody, BodyRead, ReplayedBody};
use crate::key::Key;
use crate::keyed::KeyedLayer;
use crate::peer::PeerSource;
use crate::{answer, fields, hold, settle};

/// How long a body may take to arrive whole when a limit takes its key from it. A request on hold for its body costs
/// memory, and nothing has been decided yet.
const KEY_BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// The most bytes read of such a body when the policy has no gateway to say otherwise.
const MAX_KEY_BODY: usize = 64 * 1024;

/// The most bytes of a refused request's body that are read to keep its connection: less than opening another costs.
const MOST_THROWN_AWAY: usize = 16 * 1024;
/// How long they may take to arrive: the time between two packets of one request, not that of a slow client.
const THROW_AWAY_TIMEOUT: Duration = Duration::from_millis(20);

/// The client of a request, as the policy resolves it; the layer adds it to the request's extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResolvedClient {
    /// The client's address: the peer's, or what a trusted proxy says.
    pub address: IpAddr,
    /// Whether the peer is a trusted proxy, whose word was taken.
    pub peer_trusted: bool,
}

/// Checks every request by a limiter's policy.
///
/// Clones, and the services made by one layer, share the limiter's state.
#[derive(Debug, Clone)]
pub struct LimitLayer {
    limiter: Limiter,
    peer: PeerSource,
}

impl LimitLayer {
    /// Builds a layer over a limiter that has a policy.
    pub fn new(limiter: Limiter) -> Self {
        Self { limiter, peer: PeerSource::default() }
    }

    /// Builds a layer over a limiter whose limits are built in code: this one, on this key. [`KeyedLayer`] has the rest.
    ///
    /// # Errors
    /// When no limit has this name.
    pub fn keyed(limiter: Limiter, limit: &str, key: Key) -> Result<KeyedLayer, UnknownLimit> {
        KeyedLayer::new(limiter).and(limit, key)
    }

    /// Asks a closure who is connected, rather than a [`PeerAddr`] among the request's extensions (or what axum or tonic put
    /// there, with the features of these names).
    ///
    /// [`PeerAddr`]: crate::PeerAddr
    #[must_use]
    pub fn with_peer(self, tell: impl Fn(&Parts) -> Option<IpAddr> + Send + Sync + 'static) -> Self {
        Self { peer: PeerSource::by(tell), ..self }
    }
}

impl<S> Layer<S> for LimitLayer {
    type Service = LimitService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        LimitService { inner, layer: Arc::new(self.clone()) }
    }
}

/// The service a [`LimitLayer`] makes.
#[derive(Debug, Clone)]
pub struct LimitService<S> {
    inner: S,
    layer: Arc<LimitLayer>,
}

impl<S, B, R> Service<Request<B>> for LimitService<S>
where
    S: Service<Request<ReplayedBody<B>>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    B: Body<Data = Bytes> + Unpin + Send + 'static,
    R: Send + 'static,
{
    type Response = Response<AnswerBody<R>>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // The clone may not be ready; the one that was polled is.
        let ready = self.inner.clone();
        let ready = std::mem::replace(&mut self.inner, ready);
        let layer = Arc::clone(&self.layer);
        Box::pin(layer.pass(request, ready))
    }
}

impl LimitLayer {
    /// Takes a request through the limiter: read its key body, check, hold until its slot, pass on or refuse; then give
    /// back what a success gives back.
    async fn pass<S, B, R>(
        self: Arc<Self>,
        request: Request<B>,
        mut inner: S,
    ) -> Result<Response<AnswerBody<R>>, S::Error>
    where
        S: Service<Request<ReplayedBody<B>>, Response = Response<R>>,
        B: Body<Data = Bytes> + Unpin,
    {
        // What comes in under one policy is answered under it, whatever is loaded meanwhile.
        let in_force = self.limiter.snapshot();
        let Some(policy) = in_force.policy() else {
            return inner.call(request.map(ReplayedBody::untouched)).await.map(passed);
        };
        let (head, body) = request.into_parts();
        let peer = self.peer.of(&head);
        let (mut body, bytes) = if policy.needs_body(&seen(&head, peer, None)) {
            // In a box, since few requests need it and all would carry its room about.
            match Box::pin(read_body(policy, &head, body)).await {
                Ok(read) => read,
                Err(answer) => return Ok(answer),
            }
        } else {
            (ReplayedBody::untouched(body), None)
        };
        let seen = seen(&head, peer, bytes.as_deref());
        let mut verdict = in_force.check_with(&seen, None, CheckOptions::default()).await;
        if let Some(mut refusal) = answer::refused(&head, &verdict, &policy.headers, &policy.problem) {
            if !has_ended(&head, &body) && !Box::pin(is_whole(&head, &mut body)).await {
                refusal.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            return Ok(refusal);
        }
        let pending = hold::until_slot(&self.limiter, &mut verdict).await;
        let is_read = bytes.is_some();
        let mut request = Request::from_parts(head, body);
        if is_read {
            request.extensions_mut().insert(BodyRead);
        }
        if let Some(peer) = peer {
            let client = policy.trusted.client(peer, request.headers());
            let client = ResolvedClient { address: client.address, peer_trusted: client.peer_trusted };
            request.extensions_mut().insert(client);
        }
        // A client that leaves before the answer, or a service that fails, leaves the charges where they are.
        let response = inner.call(request).await?;
        let mut response = settle::by_answer(&self.limiter, pending, response, &mut verdict).await;
        fields::add(response.headers_mut(), &verdict, &policy.headers);
        Ok(response)
    }
}

/// Reads the body since a limit reads it; what was read is replayed to the service behind.
async fn read_body<B, R>(
    policy: &Policy,
    head: &Parts,
    body: B,
) -> Result<(ReplayedBody<B>, Option<Bytes>), Response<AnswerBody<R>>>
where
    B: Body<Data = Bytes> + Unpin,
{
    let most = policy.gateway.as_ref().map_or(MAX_KEY_BODY, |gateway| gateway.max_key_body);
    let mut answer = match tokio::time::timeout(KEY_BODY_TIMEOUT, ReplayedBody::read_whole(body, most)).await
    {
        Ok(Ok((body, bytes))) => return Ok((body, Some(bytes))),
        Ok(Err(error)) => answer::unreadable(head, error, most),
        Err(_) => answer::too_slow(head),
    };
    if head.version <= Version::HTTP_11 {
        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    Err(answer)
}

/// Returns whether there is nothing more to come of a request, or another may come all the same.
fn has_ended<B: Body<Data = Bytes>>(head: &Parts, body: &ReplayedBody<B>) -> bool {
    head.version > Version::HTTP_11 || body.is_end_stream()
}

/// Sees to the rest of a request that is refused, and returns whether its connection can go on.
///
/// On HTTP/1 the next request stands behind this one's body. A short body that is nearly there is thrown away, so that
/// whoever shares the connection (a proxy's other clients) is not cut off; behind any other the server would close it, and
/// has to say so. Who waits to be told to go on (`Expect`) has sent none and is told nothing.
async fn is_whole<B>(head: &Parts, body: &mut ReplayedBody<B>) -> bool
where
    B: Body<Data = Bytes> + Unpin,
{
    let most = u64::try_from(MOST_THROWN_AWAY).unwrap_or(u64::MAX);
    if head.headers.contains_key(EXPECT) || body.size_hint().lower() > most {
        return false;
    }
    tokio::time::timeout(THROW_AWAY_TIMEOUT, body.throw_away(MOST_THROWN_AWAY)).await.unwrap_or(false)
}

/// Returns a request as the policy sees it.
fn seen<'a>(head: &'a Parts, peer: Option<IpAddr>, body: Option<&'a [u8]>) -> policy_file::Request<'a> {
    let authority = head.uri.authority().map(http::uri::Authority::as_str);
    policy_file::Request {
        method: head.method.as_str(),
        // The authority of an absolute or HTTP/2 target wins over `Host` (RFC 9112, section 3.2.2).
        host: authority.or_else(|| head.headers.get(HOST).and_then(|host| host.to_str().ok())),
        path: head.uri.path(),
        query: head.uri.query(),
        headers: &head.headers,
        peer,
        body,
    }
}

fn passed<R>(response: Response<R>) -> Response<AnswerBody<R>> {
    response.map(AnswerBody::passed)
}

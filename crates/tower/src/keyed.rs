//! A layer for limits that are built in code: each on a key that is read from the request's head.

use std::fmt;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Once};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::request::Parts;
use http::{Request, Response, StatusCode};
use tidegate::policy_file::{HeaderStyle, ProblemTemplate, TrustedProxies};
use tidegate::{CheckOptions, KeyCheck, Limiter, UnknownLimit, Verdict};
use tower_layer::Layer;
use tower_service::Service;

use crate::body::AnswerBody;
use crate::key::{Key, Keyed, Seen};
use crate::peer::{Clients, PeerSource};
use crate::settle::OwnAnswer;
use crate::{answer, fields, hold, settle};

/// Checks every request by limits that are built in code, all of them at once: a request that one refuses has used up
/// nothing of the others.
///
/// ```
/// use tidegate::{Limit, Limiter, Quota, Rate, Span};
/// use tidegate_tower::{Key, LimitLayer, OnMissing};
///
/// let limiter = Limiter::in_memory([
///     Limit::new("per-client", Quota::token_bucket(20, Rate::new(5, Span::from_secs(1))?)?),
///     Limit::new("per-caller", Quota::sliding_counter(1_000, Span::from_secs(3_600))?),
/// ])?;
/// let api_key = http::HeaderName::from_static("x-api-key");
/// let layer = LimitLayer::keyed(limiter, "per-client", Key::client())?
///     .and("per-caller", Key::header(api_key, OnMissing::Refuse))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Its type says nothing of requests, bodies or services: it can be kept in a struct, and mounted on any service of HTTP
/// requests and responses. No body is touched, and the response's is passed on in an [`AnswerBody`].
///
/// - **What it counts is the limiter's.** Clones of the layer, layers built over clones of one limiter, and the services
///   that a router makes of each, one a connection, meet the same counts under a limit's name.
/// - **A refused request is answered here**, as a problem (RFC 9457) with status 429; a gRPC call as gRPC, with
///   `RESOURCE_EXHAUSTED`. A lost store is 503 or `UNAVAILABLE`, unless the limit goes on without it. [`KeyedLayer::on_refusal`]
///   answers otherwise.
/// - **A service that is not ready** holds the request up before it is counted, and its errors are passed on as they are.
/// - **A request whose client goes away** before the service was called for it has been charged if it was admitted; while it is
///   held for its slot in a leaky bucket, it gives back what it was charged with.
#[derive(Clone, Debug)]
#[must_use = "a layer that is not mounted limits nothing"]
pub struct KeyedLayer {
    limiter: Limiter,
    terms: Arc<Terms>,
}

/// What a layer was told.
#[derive(Clone)]
struct Terms {
    limits: Vec<Counted>,
    clients: Clients,
    styles: Vec<HeaderStyle>,
    template: ProblemTemplate,
    on_refusal: Option<Arc<Refuse>>,
    /// Whether it has been said already that something is amiss.
    said: Arc<Once>,
}

type Refuse = dyn Fn(&Verdict, &Parts) -> Response<Bytes> + Send + Sync;
type Cost = dyn Fn(&Parts) -> u32 + Send + Sync;

#[derive(Clone)]
struct Counted {
    name: Arc<str>,
    key: Key,
    cost: Option<Arc<Cost>>,
}

impl KeyedLayer {
    /// Builds a layer that asks no limit yet.
    pub(crate) fn new(limiter: Limiter) -> Self {
        let terms = Terms {
            limits: Vec::new(),
            clients: Clients::default(),
            styles: vec![HeaderStyle::Ietf],
            template: ProblemTemplate::default(),
            on_refusal: None,
            said: Arc::new(Once::new()),
        };
        Self { limiter, terms: Arc::new(terms) }
    }

    fn with(mut self, change: impl FnOnce(&mut Terms)) -> Self {
        change(Arc::make_mut(&mut self.terms));
        self
    }

    /// Asks another limit as well, on a key of its own.
    ///
    /// # Errors
    /// When no limit has this name.
    pub fn and(self, limit: &str, key: Key) -> Result<Self, UnknownLimit> {
        self.limiter.snapshot().prepare_keys([(limit, "")], None)?;
        Ok(self.with(|terms| terms.limits.push(Counted { name: limit.into(), key, cost: None })))
    }

    /// Says what a request costs the limit that was named last, instead of the limit's own cost. Zero looks without taking.
    pub fn cost(self, cost: impl Fn(&Parts) -> u32 + Send + Sync + 'static) -> Self {
        self.with(|terms| {
            if let Some(last) = terms.limits.last_mut() {
                last.cost = Some(Arc::new(cost));
            }
        })
    }

    /// Takes the word of these proxies about who the client is ([`Key::client`]); nobody's unless said.
    pub fn trusting(self, proxies: TrustedProxies) -> Self {
        self.with(|terms| terms.clients.trusted = proxies)
    }

    /// Asks a closure who is connected, rather than a [`PeerAddr`] among the request's extensions (or what axum or tonic put
    /// there, with the features of these names).
    ///
    /// [`PeerAddr`]: crate::PeerAddr
    pub fn with_peer(self, tell: impl Fn(&Parts) -> Option<IpAddr> + Send + Sync + 'static) -> Self {
        self.with(|terms| terms.clients.peer = PeerSource::by(tell))
    }

    /// Chooses the header fields that tell a client where it stands: `RateLimit` and `RateLimit-Policy` unless said, none for
    /// an empty list. `Retry-After` stands on a refusal in any case, as far as the limit tells it
    /// ([`tidegate::Disclosure`]).
    pub fn fields(self, styles: impl IntoIterator<Item = HeaderStyle>) -> Self {
        self.with(|terms| terms.styles = styles.into_iter().collect())
    }

    /// Answers what the limits refuse, a gRPC call too ([`is_grpc`]), by a closure. `Retry-After` and the chosen fields are
    /// added to what it returns, where it has not got them. A request without its key is not asked about: it is a bad one.
    ///
    /// ```
    /// # use tidegate::{Limit, Limiter, Quota, Span};
    /// # use tidegate_tower::{Key, LimitLayer};
    /// use bytes::Bytes;
    /// use http::{Response, StatusCode};
    ///
    /// # let limiter = Limiter::in_memory([Limit::new("all", Quota::sliding_log(5, Span::from_secs(1))?)])?;
    /// let layer = LimitLayer::keyed(limiter, "all", Key::global())?.on_refusal(|verdict, _head| {
    ///     let mut response = Response::new(Bytes::from(format!("Not now: {verdict}.\n")));
    ///     *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    ///     response
    /// });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// [`is_grpc`]: crate::is_grpc
    pub fn on_refusal(
        self,
        answer: impl Fn(&Verdict, &Parts) -> Response<Bytes> + Send + Sync + 'static,
    ) -> Self {
        self.with(|terms| terms.on_refusal = Some(Arc::new(answer)))
    }

    /// Takes a request through the limits: check, hold until its slot, pass on or refuse; then give back what a success
    /// gives back.
    async fn pass<S, B, R>(
        self,
        request: Request<B>,
        mut inner: S,
    ) -> Result<Response<AnswerBody<R>>, S::Error>
    where
        S: Service<Request<B>, Response = Response<R>>,
    {
        let (head, body) = request.into_parts();
        let mut verdict = match self.check(&head).await {
            Ok(verdict) => verdict,
            Err(amiss) => return Ok(self.amiss(&head, amiss)),
        };
        if !verdict.is_allowed() {
            return Ok(self.refusal(&head, &verdict));
        }
        let pending = hold::until_slot(&self.limiter, &mut verdict).await;
        let response = inner.call(Request::from_parts(head, body)).await?;
        let mut response = settle::by_answer(&self.limiter, pending, response, &mut verdict).await;
        fields::add(response.headers_mut(), &verdict, &self.terms.styles);
        Ok(response)
    }

    async fn check(&self, head: &Parts) -> Result<Verdict, Amiss> {
        let (keys, asked) = self.terms.read(head)?;
        let mut start = 0;
        let checks: Vec<KeyCheck<'_>> = asked
            .iter()
            .map(|asked| {
                let key = keys.get(start..asked.key_end).unwrap_or_default();
                start = asked.key_end;
                KeyCheck { limit: &asked.name, key, cost: asked.cost }
            })
            .collect();
        let snapshot = self.limiter.snapshot();
        snapshot.check_each(&checks, CheckOptions::default()).await.map_err(Amiss::Unknown)
    }

    fn refusal<R>(&self, head: &Parts, verdict: &Verdict) -> Response<AnswerBody<R>> {
        let Terms { styles, template, on_refusal, .. } = &*self.terms;
        let Some(own) = on_refusal else {
            let usual = answer::refused(head, verdict, styles, template);
            return usual.unwrap_or_else(|| answer::failed(head, StatusCode::INTERNAL_SERVER_ERROR, ""));
        };
        let mut response = own(verdict, head).map(AnswerBody::from);
        response.extensions_mut().insert(OwnAnswer);
        let told = fields::answer_fields(verdict, styles);
        let headers = response.headers_mut();
        for name in told.keys() {
            // What the closure says of itself stands.
            if !headers.contains_key(name) {
                for value in told.get_all(name) {
                    headers.append(name, value.clone());
                }
            }
        }
        response
    }

    fn amiss<R>(&self, head: &Parts, amiss: Amiss) -> Response<AnswerBody<R>> {
        let ours = match amiss {
            Amiss::Bad { limit, why } => {
                let detail = format!("the key of the limit {limit} cannot be read: {why}");
                return answer::failed(head, StatusCode::BAD_REQUEST, &detail);
            }
            Amiss::NoPeer { limit } => {
                let remedy = "serve the application with connect info and switch on tidegate-tower's feature for it, put a \
                              `PeerAddr` into each request's extensions, or use `with_peer`";
                self.terms.said.call_once(|| {
                    tracing::error!(%limit, "nobody has said who is connected, so every request is answered 500: {remedy}");
                });
                "the service has not been told who is connected"
            }
            Amiss::Unknown(error) => {
                self.terms.said.call_once(|| {
                    tracing::error!(%error, "a layer's limit is gone, so every request is answered 500");
                });
                "a limit of the service is gone"
            }
        };
        answer::failed(head, StatusCode::INTERNAL_SERVER_ERROR, ours)
    }
}

/// Why a request could not be checked.
enum Amiss {
    /// It has no key, or two.
    Bad { limit: Arc<str>, why: &'static str },
    /// Nobody has said who is connected.
    NoPeer { limit: Arc<str> },
    /// The limiter has been given other limits since.
    Unknown(UnknownLimit),
}

/// A limit that is asked, with the end of its key.
struct Asked {
    name: Arc<str>,
    key_end: usize,
    cost: Option<u32>,
}

impl Terms {
    /// Reads the keys of all limits, one after the other, and what each limit costs.
    fn read(&self, head: &Parts) -> Result<(Vec<u8>, Vec<Asked>), Amiss> {
        let reads_client = self.limits.iter().any(|counted| counted.key.reads_client());
        let client = if reads_client { self.clients.of(head) } else { None };
        let seen = Seen { head, client };
        let (mut keys, mut asked) = (Vec::new(), Vec::with_capacity(self.limits.len()));
        for Counted { name, key, cost } in &self.limits {
            let limit = || Arc::clone(name);
            match key.write(&seen, &mut keys) {
                Keyed::On => {
                    let cost = cost.as_ref().map(|cost| cost(head));
                    asked.push(Asked { name: limit(), key_end: keys.len(), cost });
                }
                Keyed::Skipped => {}
                Keyed::Bad(why) => return Err(Amiss::Bad { limit: limit(), why }),
                Keyed::NoPeer => return Err(Amiss::NoPeer { limit: limit() }),
            }
        }
        Ok((keys, asked))
    }
}

impl fmt::Debug for Terms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limits: Vec<_> = self.limits.iter().map(|counted| &counted.name).collect();
        f.debug_struct("Terms")
            .field("limits", &limits)
            .field("clients", &self.clients)
            .finish_non_exhaustive()
    }
}

impl<S> Layer<S> for KeyedLayer {
    type Service = KeyedService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        KeyedService { inner, layer: self.clone() }
    }
}

/// The service a [`KeyedLayer`] makes.
#[derive(Debug, Clone)]
pub struct KeyedService<S> {
    inner: S,
    layer: KeyedLayer,
}

impl<S, B, R> Service<Request<B>> for KeyedService<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    B: Send + 'static,
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
        Box::pin(self.layer.clone().pass(request, ready))
    }
}

//! A client's layer that keeps to a limit: it waits rather than being refused.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tidegate::{Limiter, UnknownLimit, Verdict};
use tower_layer::Layer;
use tower_service::Service;

/// Holds each request until a limit admits it, and passes it on then: for clients of a service that has limits of its own.
///
/// ```
/// use std::time::Duration;
/// use tidegate::{Limit, Limiter, Quota, Rate, Span};
/// use tidegate_tower::PaceLayer;
/// use tower::{Layer, service_fn};
///
/// let ten_a_second = Quota::leaky_bucket(Rate::new(10, Span::from_secs(1))?, 1_000)?;
/// let limiter = Limiter::in_memory([Limit::new("provider", ten_a_second)])?;
/// let paced = PaceLayer::new(limiter, "provider", Duration::from_secs(30))?;
/// let client = paced.layer(service_fn(async |call: String| Ok::<_, std::io::Error>(call)));
/// # let _: &dyn tower::Service<String, Response = String, Error = _, Future = _> = &client;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The service may take any request: one of `http`, of `reqwest`, or of the application's own. Clones and layers over clones
/// of one limiter keep to one pace; over a shared store so do several processes. A leaky bucket spaces the requests out, a
/// token bucket lets bursts through.
///
/// Who waits stands in line ([`Limiter::until_ready`]), and charges nothing when it is dropped meanwhile. The service was
/// asked whether it is ready before the wait, and one that keeps a place for whoever asked keeps it: mount what bounds the
/// requests under way (`tower::limit::ConcurrencyLimit`) outside of this layer, or outside a buffer of its own.
#[derive(Debug)]
#[must_use = "a layer that is not mounted paces nothing"]
pub struct PaceLayer<Req> {
    pace: Pace<Req>,
}

/// What a layer was told.
struct Pace<Req> {
    limiter: Limiter,
    limit: Arc<str>,
    key: Option<Arc<KeyOf<Req>>>,
    longest: Duration,
}

type KeyOf<Req> = dyn Fn(&Req) -> Vec<u8> + Send + Sync;

impl<Req> PaceLayer<Req> {
    /// Builds a layer that keeps to a limit with all its requests together, and holds none for longer than `longest`.
    ///
    /// # Errors
    /// When no limit has this name.
    pub fn new(limiter: Limiter, limit: &str, longest: Duration) -> Result<Self, UnknownLimit> {
        limiter.snapshot().prepare_keys([(limit, "")], None)?;
        Ok(Self { pace: Pace { limiter, limit: limit.into(), key: None, longest } })
    }

    /// Keeps to the limit once for each key: the service's host, say, or the tenant in whose name it is called.
    pub fn keyed<K: AsRef<[u8]>>(mut self, key: impl Fn(&Req) -> K + Send + Sync + 'static) -> Self {
        self.pace.key = Some(Arc::new(move |request| key(request).as_ref().to_vec()));
        self
    }
}

impl<Req> Clone for PaceLayer<Req> {
    fn clone(&self) -> Self {
        Self { pace: self.pace.clone() }
    }
}

impl<Req> Clone for Pace<Req> {
    fn clone(&self) -> Self {
        let Self { limiter, limit, key, longest } = self;
        Self { limiter: limiter.clone(), limit: Arc::clone(limit), key: key.clone(), longest: *longest }
    }
}

impl<Req> fmt::Debug for Pace<Req> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pace")
            .field("limit", &self.limit)
            .field("longest", &self.longest)
            .finish_non_exhaustive()
    }
}

impl<S, Req> Layer<S> for PaceLayer<Req> {
    type Service = PaceService<S, Req>;

    fn layer(&self, inner: S) -> Self::Service {
        PaceService { inner, pace: self.pace.clone() }
    }
}

/// The service a [`PaceLayer`] makes.
#[derive(Debug)]
pub struct PaceService<S, Req> {
    inner: S,
    pace: Pace<Req>,
}

impl<S: Clone, Req> Clone for PaceService<S, Req> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), pace: self.pace.clone() }
    }
}

/// Why a request was not answered.
#[derive(Debug)]
pub enum PaceError<E> {
    /// The limit does not admit it in time, or never, or its store does not answer: the verdict says which. It was not sent,
    /// and charged nothing.
    Refused(Box<Verdict>),
    /// The limiter has been given other limits since, and this one is gone.
    Unknown(UnknownLimit),
    /// The service failed.
    Service(E),
}

impl<E: fmt::Display> fmt::Display for PaceError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(verdict) => write!(f, "not sent: {verdict}"),
            Self::Unknown(error) => write!(f, "not sent: {error}"),
            Self::Service(error) => error.fmt(f),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for PaceError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Refused(_) | Self::Unknown(_) => None,
            // Its words are this error's words.
            Self::Service(error) => error.source(),
        }
    }
}

impl<S, Req> Service<Req> for PaceService<S, Req>
where
    S: Service<Req> + Clone + Send + 'static,
    S::Future: Send,
    Req: Send + 'static,
{
    type Response = S::Response;
    type Error = PaceError<S::Error>;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context).map_err(PaceError::Service)
    }

    fn call(&mut self, request: Req) -> Self::Future {
        // The clone may not be ready; the one that was polled is.
        let ready = self.inner.clone();
        let mut ready = std::mem::replace(&mut self.inner, ready);
        let Pace { limiter, limit, key, longest } = self.pace.clone();
        let key = key.map_or_else(Vec::new, |key| key(&request));
        Box::pin(async move {
            let verdict =
                limiter.until_ready_within(&limit, key, longest).await.map_err(PaceError::Unknown)?;
            if !verdict.is_allowed() {
                return Err(PaceError::Refused(Box::new(verdict)));
            }
            ready.call(request).await.map_err(PaceError::Service)
        })
    }
}

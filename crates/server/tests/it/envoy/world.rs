//! An application with Envoy's face, its clients, and Envoy in front of an upstream.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::Entry;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::{Code, DescriptorStatus};
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_service_client::RateLimitServiceClient;
use envoy_types::pb::envoy::service::ratelimit::v3::{RateLimitRequest, RateLimitResponse};
use envoy_types::pb::google::protobuf::UInt64Value;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tidegate::{MemoryOptions, MemoryStore};
use tidegate_proxy_kit::envoy::Envoy;
use tidegate_server::app::{Addresses, App};
use tidegate_server::net::ServeOptions;
use tidegate_server::reload::Reloader;
use tidegate_store::faulty::Faulty;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::Status;
use tonic::transport::Channel;
use tower::service_fn;

use crate::support::{Gateway, soon};
use crate::tls::Folder;

/// A running application, or one that was ended.
pub(super) struct World {
    pub(super) at: Addresses,
    pub(super) store: Arc<Faulty<MemoryStore>>,
    stop: oneshot::Sender<()>,
    done: JoinHandle<tidegate_server::app::Report>,
}

/// What an HTTP client was answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

impl Answer {
    /// Returns a field's values, one after the other.
    pub(super) fn field(&self, name: &str) -> String {
        let values = self.headers.get_all(name).iter().map(|value| value.to_str().unwrap());
        values.collect::<Vec<_>>().join(" | ")
    }

    pub(super) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

impl World {
    /// Starts an application by the rest of a policy whose rules need no more of the face than that it listens. It may take a
    /// minute over an answer: no test depends on how fast this machine is.
    pub(super) async fn by(rest: &str) -> Self {
        Self::with("timeout: 10s", rest).await
    }

    /// Starts an application whose face says something besides where it listens.
    pub(super) async fn with(face: &str, rest: &str) -> Self {
        let text = format!(
            "tidegate: 1\nenvoy: {{ listen: 127.0.0.1:0, {face} }}\nadmin: {{ listen: 127.0.0.1:0 }}\n{rest}"
        );
        let policy = tidegate_policy::parse("test.yaml", &text).unwrap_or_else(|wrong| panic!("{wrong}"));
        let store = Arc::new(Faulty::new(MemoryStore::new(MemoryOptions::default()).unwrap()));
        let app = App::bind_on(policy, Arc::clone(&store) as _, None).await.unwrap();
        let at = app.addresses().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let done = tokio::spawn(app.run(async {
            let _ = stopped.await;
        }));
        Self { at, store, stop, done }
    }

    pub(super) fn envoy(&self) -> SocketAddr {
        self.at.envoy.unwrap()
    }

    pub(super) async fn client(&self) -> RateLimitServiceClient<Channel> {
        client(self.envoy()).await
    }

    /// Asks once on a connection of its own.
    pub(super) async fn ask(&self, request: RateLimitRequest) -> Result<RateLimitResponse, Status> {
        soon(self.client().await.should_rate_limit(request)).await.map(tonic::Response::into_inner)
    }

    pub(super) async fn metrics(&self) -> String {
        fetch(Method::GET, self.at.admin.unwrap(), "/metrics", &[], "").await.body
    }

    /// Asks for the end, and returns what waits for it.
    pub(super) fn stop(self) -> JoinHandle<tidegate_server::app::Report> {
        self.stop.send(()).unwrap();
        self.done
    }

    /// Ends the application as a crash does: its sockets are closed, and nobody is answered.
    pub(super) async fn kill(self) {
        self.done.abort();
        let _ = self.done.await;
    }
}

/// An application by files, which may be reloaded.
pub(super) struct Filed {
    pub(super) at: Addresses,
    pub(super) folder: Folder,
    pub(super) reloader: Reloader,
    _stop: oneshot::Sender<()>,
}

impl Filed {
    /// Starts an application that serves configuration files of envoyproxy/ratelimit as they are.
    pub(super) async fn serving(name: &str, files: &[(&str, &str)]) -> Self {
        let folder = Folder::new(name);
        for (name, text) in files {
            folder.write(name, text);
        }
        let names: Vec<_> = files.iter().map(|(name, _)| *name).collect();
        let text = format!(
            "tidegate: 1\nenvoy: {{ listen: 127.0.0.1:0, timeout: 10s, files: [{}], counting: each }}\n\
             admin: {{ listen: 127.0.0.1:0 }}\n",
            names.join(", ")
        );
        Self::by(folder, &text).await
    }

    /// Starts an application by a policy file of a folder.
    pub(super) async fn by(folder: Folder, text: &str) -> Self {
        let file = folder.write("policy.yaml", text);
        let loaded = tidegate::files::load(&file).unwrap_or_else(|error| panic!("{error}"));
        let load = Box::new(move || tidegate::files::load(&file));
        let app = App::bind_loaded(loaded, load).await.unwrap();
        let (at, reloader) = (app.addresses().unwrap(), app.reloader());
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(app.run(async {
            let _ = stopped.await;
        }));
        Self { at, folder, reloader, _stop: stop }
    }

    pub(super) async fn ask(&self, request: RateLimitRequest) -> Result<RateLimitResponse, Status> {
        let mut client = client(self.at.envoy.unwrap()).await;
        soon(client.should_rate_limit(request)).await.map(tonic::Response::into_inner)
    }

    /// Returns a counter of the admin endpoint; 0 where it has no such line.
    pub(super) async fn hits(&self, domain: &str, descriptor: &str, result: &str) -> u64 {
        let metrics = fetch(Method::GET, self.at.admin.unwrap(), "/metrics", &[], "").await.body;
        hits(&metrics, domain, descriptor, result)
    }
}

/// Reads a counter of descriptors' hits.
pub(super) fn hits(metrics: &str, domain: &str, descriptor: &str, result: &str) -> u64 {
    let series = format!(
        "tidegate_envoy_hits_total{{domain=\"{domain}\",descriptor=\"{descriptor}\",result=\"{result}\"}} "
    );
    let line = metrics.lines().find_map(|line| line.strip_prefix(series.as_str()));
    line.map_or(0, |value| value.trim().parse().unwrap())
}

pub(super) async fn client(address: SocketAddr) -> RateLimitServiceClient<Channel> {
    soon(RateLimitServiceClient::connect(format!("http://{address}"))).await.unwrap()
}

/// A question about descriptors, each a list of entries.
pub(super) fn question(domain: &str, descriptors: &[&[(&str, &str)]]) -> RateLimitRequest {
    let descriptors = descriptors.iter().map(|entries| descriptor(entries)).collect();
    RateLimitRequest { domain: domain.to_owned(), descriptors, hits_addend: 0 }
}

pub(super) fn descriptor(entries: &[(&str, &str)]) -> RateLimitDescriptor {
    let entries =
        entries.iter().map(|(key, value)| Entry { key: (*key).to_owned(), value: (*value).to_owned() });
    RateLimitDescriptor { entries: entries.collect(), ..RateLimitDescriptor::default() }
}

pub(super) fn with_hits(mut request: RateLimitRequest, hits: u64) -> RateLimitRequest {
    request.descriptors.iter_mut().for_each(|one| one.hits_addend = Some(UInt64Value { value: hits }));
    request
}

/// A status's code, its limit with its unit, and the remaining hits.
type Standing = (Code, Option<(u32, i32)>, u32);

/// The overall code, and what is said of each descriptor.
pub(super) fn told(reply: &RateLimitResponse) -> (Code, Vec<Standing>) {
    let status = |status: &DescriptorStatus| {
        let limit = status.current_limit.as_ref().map(|limit| (limit.requests_per_unit, limit.unit));
        (status.code(), limit, status.limit_remaining)
    };
    (reply.overall_code(), reply.statuses.iter().map(status).collect())
}

/// Returns a header that Envoy is to add.
pub(super) fn added<'a>(reply: &'a RateLimitResponse, name: &str) -> Option<&'a str> {
    let found = reply.response_headers_to_add.iter().find(|header| header.key == name);
    found.map(|header| header.value.as_str())
}

/// Sends a request over HTTP/1.1.
pub(super) async fn fetch(
    method: Method,
    address: SocketAddr,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
    let mut request = Request::builder().method(method).uri(format!("http://{address}{path}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::from(body.to_owned())).unwrap();
    let (head, body) = soon(client.request(request)).await.unwrap().into_parts();
    let body = soon(body.collect()).await.unwrap().to_bytes();
    Answer { status: head.status, headers: head.headers, body: String::from_utf8(body.to_vec()).unwrap() }
}

/// An Envoy before an upstream of ours that answers `hello`.
pub(super) struct Front {
    pub(super) envoy: Arc<Envoy>,
    _upstream: Gateway,
}

/// What an Envoy is told besides the usual.
#[derive(Default)]
pub(super) struct Told<'a> {
    /// Members of the filter.
    pub(super) filter: &'a str,
    /// What becomes the descriptors, as a list in YAML's flow style.
    pub(super) rate_limits: &'a str,
    /// Members of the gRPC service.
    pub(super) service: &'a str,
}

/// One descriptor with the path, without its query.
pub(super) const BY_PATH: &str =
    "[{ actions: [{ request_headers: { header_name: \":path\", descriptor_key: path } }] }]";

impl Front {
    /// Starts an Envoy that asks `tidegate`, and waits as long as it has to.
    pub(super) async fn asking(tidegate: SocketAddr, told: Told<'_>) -> Self {
        let upstream = upstream().await;
        let Told { filter, rate_limits, service } = told;
        let rate_limits = if rate_limits.is_empty() { BY_PATH } else { rate_limits };
        let timeout = if filter.contains("timeout:") { "" } else { "timeout: 60s, " };
        let service = if service.is_empty() { String::new() } else { format!(", {service}") };
        let bootstrap = BOOTSTRAP
            .replace("FILTER", &format!("{timeout}{filter}"))
            .replace("SERVICE", &service)
            .replace("LIMITS", rate_limits)
            .replace("TIDEGATE", &tidegate.port().to_string())
            .replace("UPSTREAM", &upstream.address.port().to_string());
        let envoy = tokio::task::spawn_blocking(move || Envoy::start(&bootstrap)).await.unwrap();
        Self { envoy: Arc::new(envoy), _upstream: upstream }
    }

    pub(super) async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        fetch(Method::GET, self.address().await, path, headers, "").await
    }

    /// Returns where it listens.
    pub(super) async fn address(&self) -> SocketAddr {
        let envoy = Arc::clone(&self.envoy);
        tokio::task::spawn_blocking(move || envoy.listener("front")).await.unwrap()
    }

    /// Returns a counter of the filter: `ok`, `over_limit`, `error` or `failure_mode_allowed`.
    pub(super) async fn stat(&self, name: &str) -> u64 {
        let (envoy, name) = (Arc::clone(&self.envoy), format!("cluster.upstream.ratelimit.{name}"));
        tokio::task::spawn_blocking(move || envoy.stat(&name)).await.unwrap()
    }
}

/// An upstream that answers `hello`.
pub(super) async fn upstream() -> Gateway {
    let hello = service_fn(async |_: Request<hyper::body::Incoming>| {
        Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"hello"))))
    });
    Gateway::around(hello, ServeOptions::default()).await
}

const BOOTSTRAP: &str = r#"
admin: { address: { socket_address: { address: 127.0.0.1, port_value: 0 } } }
static_resources:
  listeners:
    - name: front
      address: { socket_address: { address: 127.0.0.1, port_value: 0 } }
      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config:
                "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: front
                use_remote_address: true
                route_config:
                  virtual_hosts:
                    - name: all
                      domains: ["*"]
                      routes:
                        - match: { prefix: / }
                          route: { cluster: upstream, rate_limits: LIMITS }
                http_filters:
                  - name: envoy.filters.http.ratelimit
                    typed_config: {
                      "@type": type.googleapis.com/envoy.extensions.filters.http.ratelimit.v3.RateLimit,
                      rate_limit_service: { transport_api_version: V3, grpc_service: { envoy_grpc: { cluster_name: tidegate }SERVICE } },
                      domain: shop, FILTER }
                  - name: envoy.filters.http.router
                    typed_config: { "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router }
  clusters:
    - name: upstream
      load_assignment:
        cluster_name: upstream
        endpoints: [{ lb_endpoints: [{ endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: UPSTREAM } } } }] }]
    - name: tidegate
      typed_extension_protocol_options:
        envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
          "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
          explicit_http_config: { http2_protocol_options: {} }
      load_assignment:
        cluster_name: tidegate
        endpoints: [{ lb_endpoints: [{ endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: TIDEGATE } } } }] }]
"#;

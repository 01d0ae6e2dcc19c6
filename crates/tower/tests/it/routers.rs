//! Layers in axum's routers: on routes, in nested routers, inside and outside of CORS.

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::routing::{get, post};
use http::{Method, Request, Response};
use std::net::SocketAddr;
use tidegate_tower::{Key, KeyedLayer, LimitLayer};
use tower::{ServiceBuilder, ServiceExt};
use tower_http::cors::{Any, CorsLayer};

use crate::keyed::{hourly, limiter};
use crate::world::{by, field, one_limit};

fn by_client(limit: u64) -> KeyedLayer {
    LimitLayer::keyed(limiter([hourly("l", limit)]), "l", Key::client()).unwrap()
}

fn request(method: Method, path: &str) -> Request<Body> {
    let peer = ConnectInfo(SocketAddr::from(([192, 0, 2, 7], 4711)));
    Request::builder().method(method).uri(path).extension(peer).body(Body::empty()).unwrap()
}

async fn ask(app: &Router, path: &str) -> u16 {
    app.clone().oneshot(request(Method::GET, path)).await.unwrap().status().as_u16()
}

/// Guards against a router that makes each connection a limit of its own.
#[tokio::test]
async fn a_limit_on_the_whole_router_is_one_for_all_its_clones_and_routes() {
    for app in [
        Router::new().route("/a", get(|| async {})).route("/b", get(|| async {})).layer(by_client(3)),
        Router::new()
            .route("/a", get(|| async {}))
            .route("/b", get(|| async {}))
            .layer(ServiceBuilder::new().layer(by_client(3))),
    ] {
        let mut statuses = Vec::new();
        for path in ["/a", "/b", "/a", "/b", "/nowhere"] {
            statuses.push(ask(&app, path).await);
        }
        // What no route takes is a request all the same.
        assert_eq!(statuses, [200, 200, 200, 429, 429]);
    }
}

#[tokio::test]
async fn a_limit_on_routes_lets_go_what_no_route_takes() {
    let app = Router::new().route("/a", get(|| async {})).route_layer(by_client(1));
    let mut statuses = Vec::new();
    for path in ["/nowhere", "/a", "/a", "/nowhere"] {
        statuses.push(ask(&app, path).await);
    }
    assert_eq!(statuses, [404, 200, 429, 404]);
}

/// Guards against limits of one name that count apart because they are mounted apart, and against two of different names
/// that count together.
#[tokio::test]
async fn layers_over_one_limiter_share_what_has_one_name_and_nothing_else() {
    let limits = limiter([hourly("reads", 3), hourly("writes", 1)]);
    let on = |name| LimitLayer::keyed(limits.clone(), name, Key::client()).unwrap();
    let items = Router::new().route("/{id}", get(|| async {}).layer(on("reads")));
    let app = Router::new()
        .route("/list", get(|| async {}).layer(on("reads")))
        .route("/write", get(|| async {}).layer(on("writes")))
        .nest("/items", items.clone())
        .merge(Router::new().nest("/other", items));
    let mut statuses = Vec::new();
    for path in ["/list", "/items/1", "/other/2", "/list", "/items/3", "/write", "/write"] {
        statuses.push(ask(&app, path).await);
    }
    assert_eq!(statuses, [200, 200, 200, 429, 429, 200, 429]);
}

/// Guards against a policy's layer that has to be told by hand whom axum knows already.
#[tokio::test]
async fn a_policy_s_layer_learns_from_axum_who_is_connected() {
    let policy =
        one_limit("sliding_log: { limit: 1, window: 1h }", "").replace("key: global", "key: client_ip");
    let policy = policy.replace("for everyone together", "per client");
    let app = Router::new().route("/", get(|| async {})).layer(LimitLayer::new(by(&policy)));
    assert_eq!([ask(&app, "/").await, ask(&app, "/").await], [200, 429]);
}

fn cors() -> CorsLayer {
    CorsLayer::new().allow_origin(Any).allow_methods([Method::POST]).expose_headers(Any)
}

async fn from_a_page(app: &Router, method: Method) -> Response<Body> {
    let mut request = request(method, "/");
    request.headers_mut().insert("origin", "https://shop.example".parse().unwrap());
    request.headers_mut().insert("access-control-request-method", "POST".parse().unwrap());
    app.clone().oneshot(request).await.unwrap()
}

/// Guards against a refusal that a browser hides from the page that asked.
#[tokio::test]
async fn inside_of_cors_a_refusal_can_be_read_by_the_page_and_preflights_are_not_counted() {
    let app = Router::new().route("/", post(|| async {})).layer(by_client(1)).layer(cors());
    for _ in 0..3 {
        assert_eq!(from_a_page(&app, Method::OPTIONS).await.status(), 200);
    }
    assert_eq!(from_a_page(&app, Method::POST).await.status(), 200);
    let refused = from_a_page(&app, Method::POST).await;
    assert_eq!(refused.status(), 429);
    assert_eq!(field(refused.headers(), "access-control-allow-origin"), Some("*"));
    assert_eq!(field(refused.headers(), "access-control-expose-headers"), Some("*"));
    assert!(field(refused.headers(), "retry-after").is_some());
}

/// Shows what the other order costs, as the documentation says it: preflights are counted and refused, and a refusal says
/// nothing that a page may read.
#[tokio::test]
async fn outside_of_cors_preflights_are_counted_and_a_refusal_is_hidden_from_the_page() {
    let app = Router::new().route("/", post(|| async {})).layer(cors()).layer(by_client(2));
    assert_eq!(from_a_page(&app, Method::OPTIONS).await.status(), 200);
    assert_eq!(from_a_page(&app, Method::POST).await.status(), 200);
    let refused = from_a_page(&app, Method::OPTIONS).await;
    assert_eq!(refused.status(), 429);
    assert_eq!(field(refused.headers(), "access-control-allow-origin"), None);
}

//! A real nginx that asks.

use tidegate_server::api::Token;

use super::page::{block, instead};
use super::world::{Addresses, Api, Client, nginx, policy_of_host, service};
use crate::support::RawServer;
use crate::tls::Folder;

async fn api() -> Api {
    Api::by(&policy_of_host(), None).await
}

/// Uses up what a client has, over one connection.
async fn use_up(client: &mut Client) {
    for left in (0..20).rev() {
        let answer = client.get("/").await;
        assert_eq!((answer.status(), answer.remaining()), (200, left));
    }
}

#[tokio::test]
async fn nginx_passes_what_is_admitted_and_answers_the_rest_as_it_is_told() {
    let world = nginx(api().await, |config| config).await;
    let mut client = world.client().await;
    let passed = client.get("/a?b=c").await;
    assert_eq!((passed.status(), passed.remaining(), &*passed.body), (200, 19, "GET /a?b=c\n"));
    assert!(passed.field("ratelimit-policy").unwrap().starts_with("\"site/per-client\";q=20"));
    assert_eq!((passed.field("retry-after"), passed.field("x-ratelimit-status")), (None, None));
    for left in (0..19).rev() {
        assert_eq!(client.get("/").await.remaining(), left);
    }
    let refused = client.get("/").await;
    assert_eq!(refused.status(), 429, "{refused:?}");
    let wait: u32 = refused.field("retry-after").unwrap().parse().unwrap();
    assert!((3_500..=3_600).contains(&wait), "{wait}");
    assert_eq!((refused.remaining(), refused.field("content-type")), (0, Some("application/problem+json")));
    assert!(refused.body.contains("\"title\":\"Quota Exceeded\""), "{}", refused.body);
    // The connection goes on.
    assert_eq!(client.get("/").await.status(), 429);
    let closed = client.get("/internal/x").await;
    assert_eq!((closed.status(), closed.field("retry-after")), (403, None), "{closed:?}");
    assert!(closed.body.contains("Forbidden"), "{}", closed.body);
    assert!(!world.proxy.log().contains("unexpected status"), "{}", world.proxy.log());
}

/// Guards against a call that promises the client's body, for which Tidegate would wait.
#[tokio::test]
async fn a_body_goes_to_the_service_alone() {
    let world = nginx(api().await, |config| config).await;
    let mut client = world.client().await;
    let posted = client.send("POST", "/a", "", "one two three").await;
    assert_eq!((posted.status(), &*posted.body), (200, "POST /a\none two three"));
    let mut other = Client::from([127, 0, 0, 2].into(), world.proxy.address()).await;
    use_up(&mut other).await;
    assert_eq!(other.send("POST", "/a", "", "one two three").await.status(), 429);
    assert_eq!(other.get("/").await.status(), 429, "and the connection goes on after a refused body");
}

/// Guards against clients who write what only the proxy may.
#[tokio::test]
async fn what_a_client_says_in_the_proxys_name_changes_nothing() {
    let world = nginx(api().await, |config| config).await;
    let mut client = world.client().await;
    use_up(&mut client).await;
    for lie in [
        "X-Forwarded-For: 198.51.100.1\r\n",
        "X-Real-IP: 198.51.100.1\r\nForwarded: for=198.51.100.1\r\n",
        "X-Original-URI: /free\r\nX-Original-Method: OPTIONS\r\n",
        "X-Forwarded-Uri: /free\r\nX-Forwarded-Method: OPTIONS\r\nX-Forwarded-Host: other.test\r\n",
        "X-Request-ID: 1\r\n",
        "X-Tidegate-Token: anything\r\n",
        "Connection: X-Forwarded-For, X-Forwarded-Uri\r\n",
    ] {
        let mut client = world.client().await;
        assert_eq!(client.send("GET", "/", lie, "").await.status(), 429, "{lie}");
    }
    let mut other = Client::from([127, 0, 0, 2].into(), world.proxy.address()).await;
    for left in [19, 18] {
        let lie = "X-Request-ID: 1\r\nX-Original-URI: /free\r\nX-Forwarded-For: 127.0.0.1\r\n";
        let answer = other.send("GET", "/", lie, "").await;
        assert_eq!((answer.status(), answer.remaining()), (200, left));
    }
}

#[tokio::test]
async fn the_token_is_the_proxys_and_reaches_nobody_else() {
    let folder = Folder::new("nginx-token");
    let token = || Token::read(folder.write("token", "0123456789abcdef-a-secret")).unwrap();
    let world =
        nginx(Api::by(&policy_of_host(), Some(token())).await, |config| instead(&config, "#token ", ""))
            .await;
    let mut client = world.client().await;
    let answer =
        client.send("GET", "/", "X-Tidegate-Token: wrong\r\nAuthorization: Basic eDp5\r\n", "").await;
    assert_eq!((answer.status(), answer.remaining()), (200, 19), "{answer:?}");
    let answer = client.get("/").await;
    assert_eq!((answer.field("x-saw-token"), answer.field("x-tidegate-token")), (Some("false"), None));
    // Without it nobody passes.
    let world = nginx(Api::by(&policy_of_host(), Some(token())).await, |config| config).await;
    assert_eq!(world.get("/").await.status(), 401);
}

#[tokio::test]
async fn without_tidegate_nobody_passes_unless_the_configuration_says_so() {
    for (change, status) in
        [((|config| config) as fn(String) -> String, 500), (|config| instead(&config, "#open ", ""), 200)]
    {
        let world = nginx(api().await, change).await;
        let mut client = world.client().await;
        assert_eq!(client.get("/").await.remaining(), 19);
        let closed = client.get("/internal/x").await;
        assert_eq!(closed.status(), 403, "what is refused is refused in either");
        let super::world::World { api, proxy, _service } = world;
        api.end().await;
        let mut client = Client::from([127, 0, 0, 1].into(), proxy.address()).await;
        let answer = client.get("/").await;
        assert_eq!((answer.status(), answer.field("ratelimit")), (status, None), "{answer:?}");
    }
}

/// Guards against clients who wait as long as a Tidegate that takes connections and answers nobody.
#[tokio::test]
async fn a_tidegate_that_hangs_is_waited_for_no_longer_than_the_configuration_says() {
    let silent = RawServer::new().await;
    let short = instead(&block("nginx"), "proxy_read_timeout 2s;", "proxy_read_timeout 100ms;");
    for (config, status) in [(short.clone(), 500), (instead(&short, "#open ", ""), 200)] {
        let service = service().await;
        let at = Addresses { api: silent.address, service: service.address };
        let start = move || tidegate_proxy_kit::proxies::nginx(|place| at.within(place, &config));
        let proxy = tokio::task::spawn_blocking(start).await.unwrap();
        let mut client = Client::from([127, 0, 0, 1].into(), proxy.address()).await;
        assert_eq!(client.get("/").await.status(), status);
    }
}

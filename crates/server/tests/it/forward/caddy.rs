//! A real Caddy that asks.

use super::page::blocks;
use super::world::{Api, Client, World, policy_of_host};

/// Starts Caddy as the page has it, in the short form or the long one.
async fn caddy(form: usize) -> World {
    let config = blocks("caddyfile").swap_remove(form);
    let api = Api::by(&policy_of_host(), None).await;
    World::start(api, |it| tidegate_proxy_kit::proxies::caddy(it), move |place, at| at.within(place, &config))
        .await
}

const LIES: &str = "X-Forwarded-For: 198.51.100.1\r\nX-Original-URI: /free\r\nX-Original-Method: OPTIONS\r\n\
                    X-Forwarded-Uri: /free\r\nX-Forwarded-Method: OPTIONS\r\nX-Forwarded-Host: other.test\r\n\
                    X-Tidegate-Token: anything\r\nX-Request-ID: 1\r\nConnection: X-Forwarded-For, X-Forwarded-Uri\r\n";

#[tokio::test]
async fn caddy_passes_a_refusal_on_whole() {
    for form in [0, 1] {
        let world = caddy(form).await;
        let mut client = world.client().await;
        let posted = client.send("POST", "/a?b=c", "", "one two three").await;
        assert_eq!((posted.status(), &*posted.body), (200, "POST /a?b=c\none two three"));
        for _ in 0..19 {
            // What a client says in the proxy's name changes nothing.
            assert_eq!(client.send("GET", "/", LIES, "").await.status(), 200);
        }
        let refused = client.send("GET", "/", LIES, "").await;
        assert_eq!((refused.status(), refused.remaining()), (429, 0), "{refused:?}");
        assert!(refused.field("retry-after").is_some());
        assert_eq!(refused.field("content-type"), Some("application/problem+json"));
        let body: serde_json::Value = serde_json::from_str(&refused.body).unwrap();
        assert_eq!(body["says"], "Twenty at once, then one every hour, per client.");
        let closed = client.get("/internal/x").await;
        assert_eq!(closed.status(), 403);
        assert!(closed.body.contains("Not for the public."), "{}", closed.body);
        let mut other = Client::from([127, 0, 0, 2].into(), world.proxy.address()).await;
        assert_eq!(other.get("/").await.status(), 200);
    }
}

#[tokio::test]
async fn fields_of_admitted_requests_are_shown_in_the_long_form() {
    let short = caddy(0).await;
    assert_eq!(short.get("/").await.field("ratelimit"), None);
    let long = caddy(1).await;
    for left in [19, 18] {
        let answer = long.get("/").await;
        assert_eq!(answer.remaining(), left);
        assert!(answer.field("ratelimit-policy").unwrap().starts_with("\"site/per-client\";q=20"));
    }
}

#[tokio::test]
async fn without_tidegate_nobody_passes() {
    for form in [0, 1] {
        let World { api, proxy, _service } = caddy(form).await;
        api.end().await;
        let mut client = Client::from([127, 0, 0, 1].into(), proxy.address()).await;
        assert_eq!(client.get("/").await.status(), 502);
    }
}

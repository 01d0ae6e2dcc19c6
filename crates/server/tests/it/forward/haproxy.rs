//! A real `HAProxy` that asks.

use super::page::{block, instead};
use super::world::{Api, Client, World, policy_of_host};

/// Starts `HAProxy` as the page has it, with some of its Lua changed.
async fn haproxy(change: fn(String) -> String) -> World {
    let (config, lua) = (block("haproxy"), change(block("lua")));
    let start = move |place: &tidegate_proxy_kit::proxies::Place, at: &super::world::Addresses| {
        place.write("tidegate.lua", instead(&lua, "127.0.0.1:8081", &at.api.to_string()));
        let config = instead(&config, "8000", &place.port().to_string());
        instead(&config, "127.0.0.1:3000", &at.service.to_string())
    };
    let api = Api::by(&policy_of_host(), None).await;
    World::start(api, |it| tidegate_proxy_kit::proxies::haproxy(it), start).await
}

#[tokio::test]
async fn haproxy_shows_fields_and_passes_a_refusal_on_whole() {
    let world = haproxy(|lua| lua).await;
    let mut client = world.client().await;
    let posted = client.send("POST", "/a?b=c", "", "one two three").await;
    assert_eq!((posted.status(), &*posted.body), (200, "POST /a?b=c\none two three"));
    assert_eq!(posted.remaining(), 19);
    assert!(posted.field("ratelimit-policy").unwrap().starts_with("\"site/per-client\";q=20"));
    let lies = "X-Forwarded-For: 198.51.100.1\r\nX-Original-URI: /free\r\nX-Original-Method: OPTIONS\r\n\
                X-Forwarded-Uri: /free\r\nX-Forwarded-Method: OPTIONS\r\nX-Forwarded-Host: other.test\r\n\
                X-Tidegate-Token: anything\r\nX-Request-ID: 1\r\nConnection: X-Forwarded-For, X-Forwarded-Uri\r\n";
    for left in (0..19).rev() {
        assert_eq!(client.send("GET", "/", lies, "").await.remaining(), left);
    }
    let refused = client.send("GET", "/", lies, "").await;
    assert_eq!((refused.status(), refused.remaining()), (429, 0), "{refused:?}");
    assert!(refused.field("retry-after").is_some());
    assert_eq!(refused.field("content-type"), Some("application/problem+json"));
    let body: serde_json::Value = serde_json::from_str(&refused.body).unwrap();
    assert_eq!(body["says"], "Twenty at once, then one every hour, per client.");
    let mut other = Client::from([127, 0, 0, 2].into(), world.proxy.address()).await;
    assert_eq!(other.get("/").await.remaining(), 19);
    let closed = other.get("/internal/x").await;
    assert_eq!(closed.status(), 403, "{closed:?}");
    assert!(closed.body.contains("Not for the public."), "{}", closed.body);
    let head = other.send("HEAD", "/internal/x", "", "").await;
    assert_eq!(head.status(), 403);
}

#[tokio::test]
async fn without_tidegate_nobody_passes_unless_the_configuration_says_so() {
    for (change, status) in
        [((|lua| lua) as fn(String) -> String, 503), (|lua| instead(&lua, "--open ", ""), 200)]
    {
        let World { api, proxy, _service } = haproxy(change).await;
        let mut client = Client::from([127, 0, 0, 1].into(), proxy.address()).await;
        assert_eq!(client.get("/").await.remaining(), 19);
        assert_eq!(client.get("/internal/x").await.status(), 403, "what is refused is refused in either");
        api.end().await;
        let mut client = Client::from([127, 0, 0, 1].into(), proxy.address()).await;
        let answer = client.get("/").await;
        assert_eq!((answer.status(), answer.field("ratelimit")), (status, None), "{answer:?}");
    }
}

/// Guards against a client of two hosts, one for the limits and one for the service.
#[tokio::test]
async fn a_host_is_told_whole_and_two_are_none() {
    let world = haproxy(|lua| lua).await;
    for hosts in ["site.test,other.test", "other.test,site.test"] {
        let answer = world.client().await.for_host(hosts).get("/").await;
        assert_eq!(answer.status(), 400, "{hosts}: {answer:?}");
        assert!(answer.body.contains("`x-forwarded-host` is not one host"), "{hosts}: {}", answer.body);
    }
}

//! One request asked about several times.

use std::net::IpAddr;

use super::world::{Answer, Api, Client, policy};

const LOOPBACK: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

async fn ask(api: &Api, id: &str, uri: &str) -> Answer {
    let fields = format!(
        "X-Forwarded-Method: GET\r\nX-Forwarded-Uri: {uri}\r\nX-Forwarded-For: 192.0.2.7\r\nX-Request-ID: {id}\r\n"
    );
    Client::from(LOOPBACK, api.address()).await.send("GET", "/auth", &fields, "").await
}

#[tokio::test]
async fn the_same_request_is_charged_once_and_told_the_same() {
    let api = Api::by(&policy(), None).await;
    assert_eq!(ask(&api, "a", "/").await.remaining(), 19);
    assert_eq!(ask(&api, "a", "/").await.remaining(), 19);
    assert_eq!(ask(&api, "a", "/other").await.remaining(), 18, "another request under the same id is one");
    assert_eq!(ask(&api, "b", "/").await.remaining(), 17);
    for number in 0..17 {
        assert_eq!(ask(&api, &format!("more-{number}"), "/").await.status(), 200);
    }
    let refused = ask(&api, "late", "/").await;
    let again = ask(&api, "late", "/").await;
    assert_eq!((refused.status(), again.status()), (429, 429));
    assert_eq!(refused.body, again.body, "a refusal is remembered as well");
    assert_eq!(ask(&api, "a", "/").await.status(), 200, "and so is what was admitted");
}

/// Guards against a proxy's calls that come at once, each of which would find nothing remembered.
#[tokio::test]
async fn calls_at_the_same_time_wait_for_the_first() {
    let api = Api::by(&policy(), None).await;
    let call = || ask(&api, "once", "/");
    let (a, b, c, d) = tokio::join!(call(), call(), call(), call());
    assert_eq!([a, b, c, d].map(|answer| answer.remaining()), [19; 4]);
    assert_eq!(ask(&api, "next", "/").await.remaining(), 18);
}

/// Guards against clients that choose the id themselves, where no proxy sets it.
#[tokio::test]
async fn an_id_means_nothing_unless_the_policy_names_its_field() {
    let without = policy().replace(", forward_auth: { request_id: x-request-id }", "");
    let api = Api::by(&without, None).await;
    for left in [19, 18, 17] {
        assert_eq!(ask(&api, "a", "/").await.remaining(), left);
    }
}

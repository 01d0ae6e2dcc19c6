//! nginx's internal redirects, after each of which it asks anew.

use super::page::instead;
use super::world::{Api, World, policy};

/// Starts nginx on files instead of a service; each request is one that it redirects within itself.
async fn files(policy: &str) -> World {
    let config = super::page::block("nginx");
    let start = move |place: &tidegate_proxy_kit::proxies::Place, at: &super::world::Addresses| {
        for file in ["html/index.html", "html/folder/index.html", "html/fallback.html"] {
            place.write(file, file);
        }
        let files = format!("root {}/html; index index.html;", place.folder().display());
        let config = instead(&config, "proxy_pass http://127.0.0.1:3000;", &files);
        let more = "location /try/ { auth_request /tidegate; auth_request_set $standing $upstream_http_ratelimit; \
                    add_header RateLimit $standing always; root ROOT; try_files $uri /fallback.html; }\n  \
                    location /error/ { auth_request /tidegate; auth_request_set $standing $upstream_http_ratelimit; \
                    add_header RateLimit $standing always; root ROOT; error_page 404 /fallback.html; }\n  \
                    location @refused {";
        let more = more.replace("ROOT", &place.folder().join("html").display().to_string());
        at.within(place, &instead(&config, "location @refused {", &more))
    };
    World::start(Api::by(policy, None).await, |it| tidegate_proxy_kit::proxies::nginx(it), start).await
}

/// Requests, what comes, and how often nginx asks about each.
const TABLE: [(&str, u16, &str, u32); 4] = [
    ("/fallback.html", 200, "html/fallback.html", 1),
    ("/folder/", 200, "html/folder/index.html", 2),
    ("/try/nothing", 200, "html/fallback.html", 2),
    ("/error/nothing", 404, "html/fallback.html", 2),
];

/// Guards against people who are charged twice for the page of a folder.
#[tokio::test]
async fn internal_redirects_are_charged_once() {
    let world = files(&policy()).await;
    for (left, (path, status, body, _)) in (0..20).rev().zip(TABLE) {
        let answer = world.get(path).await;
        assert_eq!((answer.status(), &*answer.body, answer.remaining()), (status, body, left), "{path}");
    }
}

/// What the page warns of; it also shows that nginx asks again in each of these.
#[tokio::test]
async fn internal_redirects_are_charged_each_time_without_an_id() {
    let world = files(&policy().replace(", forward_auth: { request_id: x-request-id }", "")).await;
    let mut left = 20;
    for (path, status, body, times) in TABLE {
        let answer = world.get(path).await;
        left -= times;
        assert_eq!((answer.status(), &*answer.body, answer.remaining()), (status, body, left), "{path}");
    }
}

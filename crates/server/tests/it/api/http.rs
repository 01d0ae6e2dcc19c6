//! The API as an HTTP server: methods, paths, and its own description.

use std::collections::BTreeSet;

use http::{Method, StatusCode};
use serde_json::{Value, json};
use tidegate_server::api;

use super::check::VERIFY;
use super::token::token;
use super::world::{Served, limiter};

#[tokio::test]
async fn methods_a_path_does_not_take_are_told_those_it_does() {
    let api = Served::api(VERIFY).await;
    let table = [
        (Method::GET, "/v1/check", "POST"),
        (Method::HEAD, "/v1/check", "POST"),
        (Method::PUT, "/v1/check", "POST"),
        (Method::OPTIONS, "/v1/check", "POST"),
        (Method::DELETE, "/v1/refund", "POST"),
        (Method::TRACE, "/v1/refund", "POST"),
        (Method::PUT, "/v1/why", "GET,HEAD,POST"),
        (Method::POST, "/v1/policy", "GET,HEAD"),
        (Method::PATCH, "/openapi.json", "GET,HEAD"),
    ];
    for (method, path, allow) in table {
        let answer = api.call(method.clone(), path).await;
        assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
        assert_eq!(answer.header("allow"), allow, "{method} {path}");
        if method != Method::HEAD {
            let words = format!("{method} is not taken here; use {}", allow.replace(',', " or "));
            assert_eq!(answer.problem()["detail"], words);
        }
    }
}

#[tokio::test]
async fn paths_that_are_not_there_are_problems() {
    let api = Served::api(VERIFY).await;
    for path in ["/", "/v1", "/v1/", "/v1/checks", "/v1/check/", "/V1/check", "/v1//check", "/openapi.json/"]
    {
        let answer = api.get(path).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
        // Whoever asks the wrong listener has to see which one it is.
        let detail = answer.problem()["detail"].clone();
        let detail = detail.as_str().unwrap();
        assert!(
            detail.starts_with(&format!("there is nothing at {path}; this listener has /v1/check,")),
            "{detail}"
        );
        assert!(detail.ends_with("(api)"), "{detail}");
    }
}

#[tokio::test]
async fn head_answers_as_get_without_a_body() {
    let api = Served::api(VERIFY).await;
    for path in ["/v1/policy", "/openapi.json"] {
        let (get, head) = (api.get(path).await, api.call(Method::HEAD, path).await);
        assert_eq!((get.status, head.status), (StatusCode::OK, StatusCode::OK), "{path}");
        assert_eq!(head.header("content-length"), get.body.len().to_string(), "{path}");
        assert!(head.body.is_empty());
    }
}

#[tokio::test]
async fn the_description_names_the_policys_keys_and_every_status() {
    let api = Served::api(VERIFY).await;
    let document = api.get("/openapi.json").await.json();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let keys = &document["components"]["schemas"]["CheckRequest"]["properties"]["keys"];
    let names: Vec<_> = keys["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["account", "client"]);
    let statuses = |path: &str, method: &str| {
        let responses = document["paths"][path][method]["responses"].as_object().unwrap();
        responses.keys().cloned().collect::<BTreeSet<_>>()
    };
    assert_eq!(
        statuses("/v1/check", "post"),
        BTreeSet::from(["200", "400", "408", "413", "415", "422"].map(str::to_owned))
    );
    assert_eq!(
        statuses("/v1/refund", "post"),
        BTreeSet::from(["200", "400", "404", "408", "413", "415", "422", "503"].map(str::to_owned))
    );
    assert_eq!(statuses("/v1/why", "get"), BTreeSet::from(["200", "414", "422"].map(str::to_owned)));
    assert_eq!(statuses("/v1/why", "post"), statuses("/v1/check", "post"));
    let parameters = document["paths"]["/v1/why"]["get"]["parameters"].as_array().unwrap();
    assert!(parameters.iter().any(|parameter| parameter["name"] == "key.account"));
    assert_eq!(statuses("/v1/policy", "get"), BTreeSet::from(["200"].map(str::to_owned)));
    assert_eq!(document["components"]["securitySchemes"], Value::Null);
}

#[tokio::test]
async fn the_description_demands_the_token_that_the_api_demands() {
    let api = Served::start(api::service(limiter(VERIFY), Some(token("described")))).await;
    let document = api.get("/openapi.json").await.json();
    assert_eq!(document["components"]["securitySchemes"]["token"]["scheme"], "bearer");
    for (path, method) in [
        ("/v1/check", "post"),
        ("/v1/refund", "post"),
        ("/v1/why", "get"),
        ("/v1/why", "post"),
        ("/v1/policy", "get"),
    ] {
        let operation = &document["paths"][path][method];
        assert_eq!(operation["security"], json!([{ "token": [] }]), "{path}");
        assert!(operation["responses"]["401"].is_object(), "{path}");
    }
}

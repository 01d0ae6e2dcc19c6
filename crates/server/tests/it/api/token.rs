//! The bearer token: where it comes from, and who gets in.

use std::path::PathBuf;

use http::{Method, Request, StatusCode};
use http_body_util::Full;
use tidegate_server::api::{self, Token};

use super::check::VERIFY;
use super::world::{Served, limiter};

const SECRET: &str = "0123456789abcdef-a-secret";

/// Writes a file of its own for a test.
fn file(name: &str, text: &[u8]) -> PathBuf {
    let path =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("token-{name}-{}", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path
}

pub(super) fn token(name: &str) -> Token {
    let path = file(name, format!("  {SECRET}\n").as_bytes());
    let token = Token::read(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    token
}

#[test]
fn a_file_without_a_usable_token_is_refused_with_a_remedy() {
    let table: [(&str, &[u8], &str); 5] = [
        ("empty", b"", "is empty"),
        ("blank", b" \n\t", "is empty"),
        ("short", b"fifteen-letters", "at least 16"),
        ("two", b"0123456789abcdef 0123456789abcdef", "within"),
        ("accent", "0123456789abcdefé".as_bytes(), "ASCII"),
    ];
    for (name, text, says) in table {
        let path = file(name, text);
        let error = Token::read(&path).unwrap_err();
        std::fs::remove_file(&path).unwrap();
        let message = error.to_string();
        assert!(message.contains(says) && message.contains(&*path.to_string_lossy()), "{message}");
        assert!(message.contains("openssl rand"), "{message}");
        assert_eq!(error.path(), path);
    }
    let missing = Token::read("no-such-directory/token").unwrap_err();
    assert!(
        missing.to_string().contains("no-such-directory/token cannot be read: No such file"),
        "{missing}"
    );
}

#[test]
fn a_token_is_never_shown() {
    assert!(!format!("{:?}", token("debug")).contains(SECRET));
}

async fn ask(api: &Served, path: &str, authorization: &[&str]) -> super::world::Answer {
    let method = if path == "/v1/policy" { Method::GET } else { Method::POST };
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    let request =
        authorization.iter().fold(request, |request, value| request.header("authorization", *value));
    api.send(request.body(Full::from("{}")).unwrap()).await
}

#[tokio::test]
async fn nobody_gets_in_without_the_token() {
    let api = Served::start(api::service(limiter(VERIFY), Some(token("demanded")))).await;
    let right = format!("Bearer {SECRET}");
    let (longer, shorter) = (format!("{right}0"), &right[..right.len() - 1]);
    let twice = [right.as_str(), right.as_str()];
    let wrong: [&[&str]; 9] = [
        &[],
        &[""],
        &["Bearer"],
        &["Bearer "],
        &[SECRET],
        &["Basic MDEyMzQ1Njc4OWFiY2RlZi1hLXNlY3JldA=="],
        &[&longer],
        &[shorter],
        &twice,
    ];
    for path in ["/v1/check", "/v1/refund", "/v1/why", "/v1/policy", "/v1/no-such-route"] {
        for authorization in wrong {
            let answer = ask(&api, path, authorization).await;
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path} {authorization:?}");
            assert!(answer.header("www-authenticate").starts_with("Bearer realm="), "{path}");
            answer.problem();
        }
    }
}

#[tokio::test]
async fn the_token_opens_every_route_and_the_description_needs_none() {
    let api = Served::start(api::service(limiter(VERIFY), Some(token("opens")))).await;
    for scheme in ["Bearer", "bearer"] {
        let right = format!("{scheme} {SECRET}");
        assert_eq!(ask(&api, "/v1/check", &[&right]).await.status, StatusCode::OK);
        assert_eq!(ask(&api, "/v1/policy", &[&right]).await.status, StatusCode::OK);
        assert_eq!(ask(&api, "/v1/refund", &[&right]).await.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(ask(&api, "/v1/no-such-route", &[&right]).await.status, StatusCode::NOT_FOUND);
    }
    assert_eq!(api.get("/openapi.json").await.status, StatusCode::OK);
}

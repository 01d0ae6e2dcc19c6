//! The description against the API, by a property-based client that knows nothing else.

use std::env;
use std::process::Stdio;

use tidegate_server::api;
use tokio::process::Command;

use super::check::VERIFY;
use super::token::token;
use super::world::{Served, limiter};

const PROGRAM: &str = "TIDEGATE_SCHEMATHESIS";

/// Runs the program against an API and fails with what it says about a finding.
async fn run(api: &Served, more: &[&str]) {
    let program = env::var_os(PROGRAM).unwrap_or_else(|| {
        panic!("{PROGRAM} has to name the schemathesis program: run ./test, which installs it")
    });
    let output = Command::new(program)
        .arg("run")
        .arg(format!("http://{}/openapi.json", api.address))
        .args(["--checks", "all", "--max-examples", "50", "--no-color"])
        .args(["--generation-deterministic", "--request-timeout", "20"])
        .args(["--workers", "2"])
        .args(more)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    assert!(
        output.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[tokio::test]
async fn the_api_is_what_it_says_it_is() {
    run(&Served::api(VERIFY).await, &[]).await;
}

#[tokio::test]
async fn the_api_behind_a_token_is_what_it_says_it_is() {
    let api = Served::start(api::router(limiter(VERIFY), Some(token("schemathesis")))).await;
    run(&api, &["--header", "Authorization: Bearer 0123456789abcdef-a-secret"]).await;
}

//! The description against the API, by a property-based client that knows nothing else.

use std::env;
use std::path::Path;
use std::process::Stdio;

use tidegate_server::api;
use tokio::process::Command;

use super::check::VERIFY;
use super::token::token;
use super::world::{Served, limiter};

/// Every call meets limits that soon refuse, delay or give receipts, so that every kind of verdict is held against
/// its schema.
const EVERYTHING: &str = r"
  - name: everything
    class: api
    match: { path: /** }
    on_store_failure: deny
    client_sees: all
    limits:
      - name: together
        says: Forty at once, then one every 24 hours, for everyone together.
        key: global
        token_bucket: { capacity: 40, refill: 1 per 24h }
      - name: paced
        says: One every hour, with up to ten waiting, for everyone together.
        key: global
        mode: shadow
        leaky_bucket: { rate: 1 per 1h, queue: 10 }
      - name: wrong
        says: Never more than nine failures in any 24 hours, for everyone together.
        key: global
        mode: shadow
        count: { failures: true, success: { status: 2xx }, on_success: reset }
        sliding_log: { limit: 9, window: 24h }
      - name: sold
        key: client
        mode: shadow
        cost: cents
        unit: cents
        alert_at: 80%
        plan: { by: account, values: { gold: premium }, default: free }
        plans:
          free: { says: Up to 1000 cents a minute per client., sliding_counter: { limit: 1000, window: 1m } }
          premium: { says: 1000 cents a calendar month per client., fixed_window: { limit: 1000, anchor: calendar, window: month } }
        overrides:
          - value: 192.0.2.7
            because: contract 81
            says: Nine cents in 24 hours, then locked for 30 minutes, per client.
            lockout: { attempts: 9, within: 24h, lock: 30m }
  - name: closed
    match: { path: /0 }
    refuse: { status: 403, because: Not for the public. }
";

fn rules() -> String {
    let costs = "costs: { cents: { by: account, default: 1, values: { gold: 5 } } }";
    format!("headers: [ietf, draft-03]\n{costs}\n{VERIFY}{}", EVERYTHING.trim_start_matches('\n'))
}

const PROGRAM: &str = "TIDEGATE_SCHEMATHESIS";

/// Runs the program against an API and fails with what it says about a finding.
async fn run(api: &Served, more: &[&str]) {
    let program = env::var_os(PROGRAM).filter(|program| Path::new(program).is_file()).unwrap_or_else(|| {
        panic!("{PROGRAM} has to name the schemathesis program: run ./test, which installs it")
    });
    let output = Command::new(program)
        .arg("run")
        .arg(format!("http://{}/openapi.json", api.address))
        .args(["--checks", "all", "--max-examples", "50", "--no-color"])
        .args(["--generation-deterministic", "--request-timeout", "20"])
        .args(["--workers", "2"])
        .args(more)
        // It keeps what it found where it runs.
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
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
    run(&Served::api(&rules()).await, &[]).await;
}

#[tokio::test]
async fn the_api_behind_a_token_is_what_it_says_it_is() {
    let api = Served::start(api::service(limiter(&rules()), Some(token("schemathesis")))).await;
    run(&api, &["--header", "Authorization: Bearer 0123456789abcdef-a-secret"]).await;
}

//! The example policies in the gateway, held against their test files over HTTP.
//!
//! Each test of a file runs in a gateway of its own, with a listener, the layer and the forwarding service that
//! `tidegate serve` runs, before a service on another socket. Only the clock is not real: it is set to the instant a step
//! names. Clients are introduced by PROXY protocol headers, as behind a load balancer.

mod clock;
mod hold;
mod wire;
mod world;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tidegate::policy_file::suite::Suite;

use hold::Tally;
use world::World;

/// The examples that are run here.
const EXAMPLES: [&str; 5] = ["internal", "login-pci", "otp-payments", "public-api", "quillon"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// Runs an example's tests and returns what could be held against it.
async fn run(example: &str) -> Tally {
    let name = format!("{example}.test.yaml");
    let text = std::fs::read_to_string(folder().join(&name)).unwrap();
    let suite = Suite::parse(&name, &text).unwrap_or_else(|problems| panic!("{problems}"));
    let policy = tidegate::files::load(&folder().join(&suite.policy)).unwrap().policy;
    suite.check_names(&policy).unwrap_or_else(|problems| panic!("{problems}"));
    let mut all = Tally::default();
    for case in &suite.cases {
        let mut world = World::of(&policy, case).await;
        for step in &case.steps {
            world.step(step, &format!("{name}:{}: {}", step.place, case.name)).await;
        }
        all.add(world.end(&format!("{name}: {}", case.name)).await);
    }
    assert_eq!(all.skipped, 0, "{name}: steps that cannot come over HTTP");
    all
}

/// Guards against an example that nobody runs.
#[test]
fn every_test_file_of_the_examples_is_run_here() {
    let files = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name());
    let names: BTreeSet<String> = files.filter_map(|name| name.into_string().ok()).collect();
    let tested: Vec<_> = names.iter().filter_map(|name| name.strip_suffix(".test.yaml")).collect();
    assert_eq!(tested, EXAMPLES);
}

#[tokio::test]
async fn internal() {
    assert_eq!(run("internal").await.left_out(), [""; 0]);
}

/// A right password gives back what the verdict had taken: the number that is expected between the two is shown to
/// nobody.
#[tokio::test]
async fn login_pci() {
    let tally = run("login-pci").await;
    let [one] = tally.left_out()[..] else { panic!("{:?}", tally.left_out()) };
    assert!(one.contains("a right password forgets the wrong ones") && one.ends_with(": remaining"), "{one}");
}

#[tokio::test]
async fn otp_payments() {
    assert_eq!(run("otp-payments").await.left_out(), [""; 0]);
}

#[tokio::test]
async fn public_api() {
    assert_eq!(run("public-api").await.left_out(), [""; 0]);
}

#[tokio::test]
async fn quillon() {
    assert_eq!(run("quillon").await.left_out(), [""; 0]);
}

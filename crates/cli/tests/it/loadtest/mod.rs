//! `tidegate loadtest` at the real faces and stores: every request is accounted for, and what a limit admits comes out right.

mod json;
mod refused;
mod service;

use std::path::PathBuf;

use rustix::process::Signal;
use serde_json::Value;
use tidegate_redis_kit::soon;

use crate::page::Page;
use crate::process::{Folder, Running, run, text, tidegate};
use crate::service::Service;
use crate::shared::server;

/// Five for everybody, and no more for as long as a test goes on.
const FIVE: &str = "token_bucket: { capacity: 5, refill: 1 per 1h }";

/// Starts a process with every face.
fn serve(folder: &Folder, service: &Service) -> Running {
    let limit = format!(
        "{{ name: each, says: \"Five at once, then one every hour, per client ip.\", key: client_ip, {FIVE} }}"
    );
    let policy = format!(
        "tidegate: 1
gateway: {{ listen: 127.0.0.1:0, upstream: \"http://{}\" }}
api: {{ listen: 127.0.0.1:0 }}
envoy: {{ listen: 127.0.0.1:0, timeout: 2s }}
rules:
  - name: web
    match: {{ path: /** }}
    limits: [ {limit} ]
  - name: shop
    match: {{ domain: shop, descriptor: [ remote_address ] }}
    limits: [ {limit} ]
",
        service.address
    );
    let mut command = tidegate(["serve", "--log", "json"]);
    command.arg(folder.file("policy.yaml", policy));
    Running::start(command)
}

/// What every test here shares: short, nothing warmed up, and so patient that a busy machine loses no request.
const SHORT: [&str; 7] = ["--quiet", "--duration", "1s", "--warm-up", "0s", "--timeout", "30s"];

fn tested(args: &[&str]) -> Value {
    let output = run(["loadtest"].iter().chain(args).chain(&SHORT).chain(&["--json", "-"]));
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    adds_up(&report);
    report
}

/// Every request came to something, and was counted once.
fn adds_up(report: &Value) {
    for phase in report["phases"].as_array().unwrap() {
        for class in phase["classes"].as_object().unwrap().values() {
            let of = |name: &str| class[name].as_u64().unwrap();
            assert_eq!(of("requests"), of("admitted") + of("refused") + of("errors"), "{class:#}");
            assert_eq!((of("requests"), of("errors")), (of("offered"), 0), "{class:#}");
            let latency = |name: &str| class["latency_us"][name].as_f64().unwrap();
            assert!(latency("p50") <= latency("p99") && latency("p99") <= latency("max"), "{class:#}");
        }
    }
}

fn admitted(report: &Value) -> u64 {
    let phases = report["phases"].as_array().unwrap();
    let classes = phases.iter().flat_map(|phase| phase["classes"].as_object().unwrap().values());
    classes.map(|class| class["admitted"].as_u64().unwrap()).sum()
}

const OPEN: [&str; 6] = ["--rate", "100", "--flood-rate", "300", "--connections", "8"];

/// Guards against users who are one to the limiter, and a flood that is many: of one key exactly its five pass, and the service
/// behind has seen just the requests that the report calls admitted.
#[test]
fn a_gateway_lets_five_of_the_flooding_address_pass_and_the_report_says_so() {
    let (folder, service) = (Folder::new("loadtest-gateway"), Service::at_once());
    let mut served = serve(&folder, &service);
    let url = format!("http://{}/some/path", served.address("gateway"));
    let report = tested(&[&[&*url, "--shape", "one-key-flood"][..], &OPEN].concat());
    assert_eq!(report["classes"]["flood"]["admitted"], 5, "{report:#}");
    assert!(report["classes"]["flood"]["refused"].as_u64().unwrap() > 100, "{report:#}");
    // Each of eight connections is a user, with five of his own.
    let others = admitted(&report) - 5;
    assert!((20..=40).contains(&others), "{others} of users");
    assert_eq!(admitted(&report), service.served());
    assert_eq!(report["target"], url);
    let verdict = report["verdict"].to_string();
    assert!(
        verdict.contains("too few for a p99: ") && verdict.contains("of users' requests refused; before")
    );
    assert!(
        report["slowdown"].is_f64() && report["verdict"][0].as_str().unwrap().contains("everyone else"),
        "{report:#}"
    );

    let by_field = tested(
        &[&[&*url, "--shape", "many-key-flood", "--key-header", "X-Forwarded-For"][..], &OPEN].concat(),
    );
    // The policy trusts no proxy: whatever the field says, all came from one address.
    assert_eq!(admitted(&by_field), 5, "{by_field:#}");
    // Where addresses are new ones, each passes.
    let by_address = tested(&[
        &*url,
        "--shape",
        "many-key-flood",
        "--rate",
        "50",
        "--flood-rate",
        "50",
        "--connections",
        "4",
    ]);
    let flood = &by_address["classes"]["flood"];
    assert_eq!(
        (flood["admitted"].as_u64(), flood["refused"].as_u64()),
        (flood["requests"].as_u64(), Some(0)),
        "{flood:#}"
    );
}

#[test]
fn the_decision_api_is_asked_about_as_many_clients_as_there_are_users() {
    let (folder, service) = (Folder::new("loadtest-api"), Service::at_once());
    let mut served = serve(&folder, &service);
    served.address("gateway");
    let url = format!("api+http://{}", served.address("decision API"));
    let flooded = tested(&[&[&*url, "--shape", "one-key-flood"][..], &OPEN].concat());
    assert_eq!(flooded["classes"]["flood"]["admitted"], 5, "{flooded:#}");
    // In a closed loop, with a question of one's own; new keys pass, since each comes once.
    let question = r#"{"method":"GET","path":"/x","client":"{address}"}"#;
    let many = tested(&[&*url, "--shape", "many-key-flood", "--question", question, "--connections", "2"]);
    assert_eq!(
        (&many["loop"], many["classes"]["flood"]["refused"].as_u64()),
        (&"closed".into(), Some(0)),
        "{many:#}"
    );
    assert_eq!(service.served(), 0, "nothing was forwarded");
}

/// Guards against a test that measures nothing and says that nothing was refused: of a domain that no rule has, and of a path.
#[test]
fn what_no_limit_applies_to_is_told_before_every_other_figure() {
    let (folder, service) = (Folder::new("loadtest-nothing"), Service::at_once());
    let policy = format!(
        "tidegate: 1
api: {{ listen: 127.0.0.1:0 }}
envoy: {{ listen: 127.0.0.1:0, timeout: 2s }}
gateway: {{ listen: 127.0.0.1:0, upstream: \"http://{}\" }}
rules:
  - name: web
    match: {{ path: /some }}
    limits: [ {{ name: each, says: \"Five per client ip.\", key: client_ip, {FIVE} }} ]
  - name: tried
    match: {{ path: /tried }}
    limits: [ {{ name: each, says: \"Five per client ip.\", key: client_ip, mode: shadow, {FIVE} }} ]
  - name: shop
    match: {{ domain: shop, descriptor: [ remote_address ] }}
    limits: [ {{ name: each, says: \"Five per client ip.\", key: client_ip, {FIVE} }} ]
",
        service.address
    );
    let mut command = tidegate(["serve", "--log", "json"]);
    command.arg(folder.file("policy.yaml", policy));
    let mut served = Running::start(command);
    served.address("gateway");
    let api = format!("api+http://{}", served.address("decision API"));
    let rls = format!("grpc://{}", served.address("Envoy's rate-limit service"));
    let question = |path: &str| format!(r#"{{"path":"{path}","client":"{{address}}"}}"#);
    let (none, some, tried) = (question("/none"), question("/some"), question("/tried"));
    for (is_limited, args) in [
        (false, &[&*api, "--question", &none][..]),
        (false, &[&*api, "--question", &tried]),
        (true, &[&*api, "--question", &some]),
        (false, &[&*rls, "--domain", "nope"]),
        (true, &[&*rls, "--domain", "shop"]),
    ] {
        let report = tested(&[args, &["--rate", "50", "--connections", "2"]].concat());
        let (others, first) = (&report["classes"]["others"], report["verdict"][0].as_str().unwrap());
        let of = |name: &str| others[name].as_u64().unwrap();
        assert_eq!(of("unlimited"), if is_limited { 0 } else { of("requests") }, "{args:?}: {others:#}");
        let says = format!("no limit applied to {0} of {0} requests: ", of("requests"));
        assert_eq!(first.starts_with(&says), !is_limited, "{args:?}: {first}");
    }
}

#[test]
fn envoy_s_service_is_asked_about_descriptors() {
    let (folder, service) = (Folder::new("loadtest-rls"), Service::at_once());
    let mut served = serve(&folder, &service);
    served.address("gateway");
    let url = format!("grpc://{}", served.address("Envoy's rate-limit service"));
    let report = tested(&[&[&*url, "--domain", "shop", "--shape", "one-key-flood"][..], &OPEN].concat());
    assert_eq!(report["classes"]["flood"]["admitted"], 5, "{report:#}");
    let closed = tested(&[&*url, "--domain", "shop", "--users", "3", "--connections", "40"]);
    // Of the three, one has asked before.
    assert!(closed["classes"]["others"]["admitted"].as_u64().unwrap() <= 15, "{closed:#}");
}

#[test]
fn stores_are_asked_themselves_and_a_redis_tells_its_calls() {
    let limit = ["--limit", "token_bucket: {capacity: 5, refill: 1 per 1h}", "--users", "50"];
    let memory = tested(&[&["memory:", "--shape", "one-key-flood"][..], &OPEN, &limit].concat());
    assert_eq!(memory["classes"]["flood"]["admitted"], 5, "{memory:#}");
    let closed = tested(
        &[&["memory:", "--shape", "mix", "--threads", "1", "--connections", "2"][..], &limit].concat(),
    );
    assert!(closed["classes"]["others"]["admitted"].as_u64().unwrap() <= 250, "{closed:#}");

    let redis = server();
    let url = format!("redis://127.0.0.1:{}", redis.port());
    let report = tested(&[&[&*url, "--shape", "one-key-flood"][..], &OPEN, &limit].concat());
    assert_eq!(report["classes"]["flood"]["admitted"], 5, "{report:#}");
    let with = report["phases"].as_array().unwrap().last().unwrap();
    assert!(with["store"]["calls"].as_u64().unwrap() > 0 && report["kind"] == "redis", "{with:#}");
}

/// Guards against calls that no decision took: each of the connections has made sure that a store is there, by a ping.
#[test]
fn what_opening_connections_asks_of_a_store_is_no_call_of_a_decision() {
    let redis = server();
    let url = format!("redis://127.0.0.1:{}", redis.port());
    let report = tested(&[&*url, "--rate", "20", "--connections", "64"]);
    let of = |pointer: &str| report.pointer(pointer).and_then(Value::as_u64).unwrap();
    // The script may have to be loaded.
    let most = of("/classes/others/requests") + 2;
    assert!((1..=most).contains(&of("/phases/0/store/calls")), "{report:#}");
}

/// Guards against errors of a store's own patience, fifty milliseconds in a gateway: how slow it is shall be told.
#[test]
fn a_redis_that_stalls_is_waited_for_as_long_as_it_is_said() {
    let redis = server();
    redis.ask("CLIENT PAUSE 700 ALL");
    let url = format!("redis://127.0.0.1:{}", redis.port());
    tested(&[&*url, "--rate", "20", "--connections", "1"]);
}

/// Guards against coordinated omission: of four hundred requests that come evenly in two seconds, a hundred come while a service
/// stalls for half a second, and half of those have to wait a quarter of a second or more. A client that counts from when it
/// sends finds one.
#[test]
fn requests_that_came_while_a_service_stalled_are_counted_with_their_wait() {
    let service = service::that_stalls();
    let url = format!("http://{}/?who={{key}}", service.address);
    let stalled = ["--rate", "200", "--schedule", "constant", "--connections", "1", "--duration", "2s"];
    let more = ["--warm-up", "0s", "--timeout", "30s", "--quiet", "--json", "-"];
    let output = run(["loadtest", &url].iter().chain(&stalled).chain(&more));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    adds_up(&report);
    let others = &report["classes"]["others"];
    assert!(others["requests"] == 400 && service.served() == 400, "{others:#}");
    assert!(others["latency_us"]["p90"].as_f64().unwrap() >= 250_000.0, "{others:#}");
    assert!(others["service_us"]["max"].as_f64().unwrap() >= 500_000.0, "{others:#}");
}

/// A service of ten milliseconds a request answers a hundred a second over one connection, by no machine more. So patient as here,
/// a step that falls far behind has neither errors nor a p99 that is too high: only what was decided in it tells.
#[test]
fn a_ramp_finds_no_more_than_a_service_can_answer() {
    let service = service::of_ten_milliseconds();
    let url = format!("http://{}/?who={{key}}", service.address);
    let args =
        ["--shape", "ramp", "--rate", "10", "--duration", "7s", "--connections", "1", "--ramp-p99", "1m"];
    let more = ["--timeout", "1m", "--min-rate", "120", "--quiet", "--json", "-"];
    let output = run(["loadtest", &url].iter().chain(&args).chain(&more));
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let told = &report["classes"]["others"]["rate"];
    assert!(report["capacity"]["rate"].as_f64() <= told.as_f64(), "{report:#}");
    let rate = report["capacity"]["rate"].as_f64().unwrap();
    assert!(rate > 0.0 && rate <= 110.0, "{report:#}");
    assert!(report["capacity"]["limited_by"].is_string(), "{report:#}");
    assert!(report["verdict"][0].as_str().unwrap().contains("a second"), "{report:#}");
}

/// Guards against a ramp that ends with the first hiccup of a machine: one request stalls a step at eighty a second, and far more
/// are borne.
#[test]
fn a_step_that_failed_is_tried_once_more_before_a_ramp_ends() {
    let service = service::that_stalls_long();
    let url = format!("http://{}/?who={{key}}", service.address);
    let args = ["--shape", "ramp", "--rate", "20", "--schedule", "constant", "--connections", "32"];
    let more = ["--duration", "2s", "--ramp-p99", "500ms", "--warm-up", "0s", "--quiet", "--json", "-"];
    let output = run(["loadtest", &url].iter().chain(&args).chain(&more));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let phases = report["phases"].as_array().unwrap();
    assert!(phases.iter().any(|phase| phase["name"] == "80/s again"), "{report:#}");
    assert!(report["capacity"]["rate"].as_f64().unwrap() > 100.0, "{report:#}");
    assert!(phases.iter().all(|phase| phase["seconds"].as_f64().unwrap() > 0.4), "{report:#}");
}

/// Guards against a target that is blamed for what its tester could not send.
#[test]
fn a_generator_that_cannot_send_so_much_says_so() {
    let service = Service::at_once();
    let url = format!("http://{}/?who={{key}}", service.address);
    let rate = ["--rate", "400000", "--threads", "1", "--duration", "1s", "--timeout", "500ms"];
    let output = run(["loadtest", &url].iter().chain(&rate).chain(&["--quiet", "--json", "-"]));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["generator_limited"], true, "{report:#}");
    assert!(report["verdict"].to_string().contains("the generator was the bottleneck"), "{report:#}");
}

#[test]
fn what_was_expected_and_is_not_so_is_told_and_is_exit_code_one() {
    let args = ["memory:", "--rate", "100", "--duration", "1s", "--min-rate", "1000000", "--max-p99", "1h"];
    let output = run(["loadtest"].iter().chain(&args));
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("NOT AS EXPECTED: at least 1,000,000 a second"), "{told}");
    assert!(told.contains("\nas expected: p99 of users at most 3600 s"), "{told}");
    // A step of CI that fails says why, and not what is well.
    let quiet = run(["loadtest"].iter().chain(&args).chain(&["--quiet"]));
    let stderr = text(&quiet.stderr);
    assert_eq!((quiet.status.code(), text(&quiet.stdout)), (Some(1), ""), "{stderr}");
    assert!(
        stderr.starts_with("NOT AS EXPECTED: at least 1,000,000 a second") && stderr.lines().count() == 1,
        "{stderr}"
    );
}

/// Guards against a test that has to be waited for, and against one that loses what it has measured.
#[test]
fn an_interrupt_ends_it_with_what_was_measured() {
    let (service, folder) = (Service::at_once(), Folder::new("loadtest-interrupt"));
    let url = format!("http://{}/?who={{key}}", service.address);
    let json = folder.path("report.json");
    let mut command = tidegate(["loadtest", &url, "--rate", "50", "--duration", "10m", "--warm-up", "0s"]);
    command.arg("--json").arg(&json);
    let mut testing = Running::start(command);
    soon("a request", || (service.served() > 3).then_some(()));
    testing.signal(Signal::INT);
    assert_eq!(testing.end().code(), Some(0), "{:#?}", testing.logged);
    let report: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    assert!(
        report["interrupted"] == true && report["classes"]["others"]["admitted"].as_u64().unwrap() > 3,
        "{report:#}"
    );
}

#[test]
fn the_page_on_load_tests_runs() {
    Page::read("docs/loadtest.md").on_free_ports([8080, 8081, 8083, 8084]).runs();
}

/// A page of a report is whole, and shows what the report says.
#[test]
fn a_page_is_written_beside_the_table() {
    let folder = Folder::new("loadtest-html");
    let path: PathBuf = folder.path("report.html");
    let output =
        run(["loadtest", "memory:", "--rate", "500", "--duration", "1s", "--html", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let page = std::fs::read_to_string(path).unwrap();
    let verdict = text(&output.stdout).lines().last().unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"), "{page:.200}");
    assert!(page.contains(verdict), "{verdict}");
}

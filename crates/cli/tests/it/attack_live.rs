//! `tidegate attack --against` at the real gateway: it agrees where the gateway does what the policy says, and finds where
//! it does not.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Output, Stdio};
use std::thread;

use rustix::process::Signal;
use serde_json::Value;

use crate::process::{Folder, Running, run, text, tidegate};
use crate::service::Service;
use crate::shared::nobody;

/// Signs in every third caller of `/sign-in` and tells the others 401, has had enough of every second caller of `/busy`, and
/// answers all others.
fn answers(path: &str, nth: u64) -> &'static str {
    match path {
        "/sign-in" if !nth.is_multiple_of(3) => "401 Unauthorized",
        "/busy" if nth.is_multiple_of(2) => "429 Too Many Requests",
        "/busy" => "503 Service Unavailable",
        _ => "200 OK",
    }
}

/// One rule for every algorithm and anchor, and what else a limit can be.
const LIMITS: [(&str, &str, &str, &str); 9] = [
    ("clock", "account", "", "fixed_window: { limit: 5, window: 1s }"),
    ("first-hit", "account", "", "fixed_window: { limit: 5, window: 2s, anchor: first_hit }"),
    ("log", "account", "", "sliding_log: { limit: 6, window: 2s }"),
    ("counter", "client", "", "sliding_counter: { limit: 8, window: 2s }"),
    ("bucket", "client", "", "token_bucket: { capacity: 4, refill: 2 per 1s }"),
    ("queue", "global", "", "leaky_bucket: { rate: 20 per 1s, queue: 10 }"),
    ("lock", "account", "", "lockout: { attempts: 3, within: 2s, lock: 2s }"),
    (
        "sign-in",
        "account",
        "count: { failures: true, success: { status: 200 } }",
        "sliding_log: { limit: 4, window: 2s }",
    ),
    ("busy", "account", "", "token_bucket: { capacity: 5, refill: 2 per 1s }"),
];

fn policy(upstream: SocketAddr, limits: &[(&str, &str, &str, &str)]) -> String {
    let head = format!(
        "tidegate: 1
gateway: {{ listen: 127.0.0.1:0, upstream: \"http://{upstream}\" }}
keys: {{ account: {{ json: /account }}, client: {{ client_ip: {{ ipv4: 32, ipv6: 64 }} }} }}
rules:
"
    );
    let rules = limits.iter().map(|(name, key, more, quota)| {
        format!(
            "  - name: {name}
    match: {{ method: POST, path: /{name} }}
    limits:
      - name: it
        says: What {name} has.
        key: {key}
        {more}
        {quota}
"
        )
    });
    head + &rules.collect::<Vec<_>>().concat()
}

struct Gateway {
    running: Running,
    url: String,
}

impl Gateway {
    fn start(file: &Path) -> Self {
        let mut command = tidegate(["serve", "--log", "json"]);
        command.arg(file);
        let mut running = Running::start(command);
        let url = format!("http://{}", running.address("gateway"));
        Self { running, url }
    }

    fn attack(&self, file: &Path, more: &[&str]) -> Output {
        let mut command = tidegate(["attack", "--against", &self.url, "--json"]);
        command.args(more).arg(file).output().unwrap()
    }
}

fn report(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn rows<'r>(report: &'r Value, rule: &'r str) -> impl Iterator<Item = &'r Value> {
    report["rows"].as_array().unwrap().iter().filter(move |row| row["rule"] == rule)
}

fn sum<'r>(rows: impl Iterator<Item = &'r Value>, member: &str) -> u64 {
    rows.map(|row| row["followed"][member].as_u64().unwrap()).sum()
}

/// Attacks again and again, each time a fresh gateway, until answers came fast enough beside the limits' windows for every
/// attack to mean something: a machine that runs other tests as well stands still at times.
fn told(attack: impl Fn() -> Output) -> (Output, Value) {
    for _ in 0..10 {
        let output = attack();
        let report = report(&output);
        if sum(report["rows"].as_array().unwrap().iter(), "untold") == 0 {
            return (output, report);
        }
    }
    panic!("in ten attacks answers always took too long to tell anything");
}

/// The bench's promise: what it simulates is what the gateway does. A limit that was never full would agree with anything,
/// so at each of them something passed and something was refused.
#[test]
fn every_algorithm_at_the_gateway_does_what_the_simulation_says() {
    let (folder, service) = (Folder::new("live-agrees"), Service::start(answers));
    let file = folder.file("policy.yaml", policy(service.address, &LIMITS));
    let (output, report) =
        told(|| Gateway::start(&file).attack(&file, &["--for", "6s", "--requests", "6000"]));
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""), "{report:#}");
    for (rule, ..) in LIMITS {
        let [sent, passed, differing] =
            ["sent", "admitted", "differing"].map(|member| sum(rows(&report, rule), member));
        assert!(passed > 0 && passed < sent && differing == 0, "{rule}: {passed} of {sent}: {report:#}");
    }
    let sent = sum(report["rows"].as_array().unwrap().iter(), "sent");
    assert!(sent <= 6_000, "{sent}");
    let straddled = rows(&report, "clock").any(|row| row["adversary"] == "boundary-straddler");
    assert!(straddled, "{report:#}");
    let by_failures = rows(&report, "sign-in").any(|row| row["adversary"] == "informed");
    assert!(by_failures, "what probes first is played too: {report:#}");
}

/// Nothing but what differs is told as different, with what each of the two says.
#[test]
fn numbers_that_differ_are_found_and_those_that_do_not_are_not_blamed() {
    let (folder, service) = (Folder::new("live-differs"), Service::start(answers));
    let written = folder.file("policy.yaml", policy(service.address, &LIMITS[..3]));
    let mut more = LIMITS;
    more[2].3 = "sliding_log: { limit: 9, window: 2s }";
    let run_by = folder.file("other.yaml", policy(service.address, &more[..3]));
    let only = ["--for", "3s", "--adversary", "burst-and-wait", "--adversary", "greedy"];
    let (output, found) = told(|| Gateway::start(&run_by).attack(&written, &only));
    assert_eq!(output.status.code(), Some(3), "{found:#}");
    for (rule, differs) in [("clock", false), ("first-hit", false), ("log", true)] {
        assert_eq!(sum(rows(&found, rule), "differing") > 0, differs, "{rule}: {found:#}");
    }
    let (gateway, line) = (Gateway::start(&run_by), "log, burst-and-wait: ");
    let output = (0..10)
        .map(|_| {
            let mut command = tidegate(["attack", "--against", &gateway.url, "--rule", "log"]);
            command.args(only).arg(&written).output().unwrap()
        })
        .find(|output| text(&output.stdout).contains(line));
    let output = output.expect("in ten attacks answers always took too long to tell anything");
    let told = text(&output.stdout);
    let line = told.lines().find(|told| told.starts_with(line)).unwrap_or_default();
    assert!(
        line.contains("the gateway let it pass (200), where the simulation says: refused by log/it"),
        "{told}"
    );
    assert!(told.contains("a limit that has one key for everybody counts others too"), "{told}");
    assert_eq!(output.status.code(), Some(3), "{told}");
}

/// What stands for the gateway here counts every request it is sent: a promise about somebody's production is kept to the last.
#[test]
fn no_more_requests_are_sent_than_were_allowed() {
    let (folder, service) = (Folder::new("live-bounded"), Service::start(answers));
    let file = folder.file("policy.yaml", policy(service.address, &LIMITS));
    let url = format!("http://{}", service.address);
    let attack = |requests: &str| {
        let mut command =
            tidegate(["attack", "--json", "--for", "3s", "--against", &url, "--requests", requests]);
        command.arg(&file).output().unwrap()
    };
    let output = attack("100");
    let found = report(&output);
    let sent = sum(found["rows"].as_array().unwrap().iter(), "sent");
    assert_eq!(sent, service.served(), "{found:#}");
    assert!((1..=100).contains(&sent), "{found:#}");
    let skipped = found["skipped"].to_string();
    assert!(skipped.contains("more than are left of --requests"), "{found:#}");

    let output = attack("3");
    assert_eq!(service.served(), sent, "none of them shows a refusal with so few");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).starts_with("error: nothing was sent"), "{output:?}");
}

/// The address 0.0.0.0 leads to this machine, and is no loopback address: a connection would have been seen.
#[test]
fn a_host_that_nobody_calls_his_own_is_not_even_connected_to() {
    let (folder, service) = (Folder::new("live-owned"), Service::start(answers));
    let file = folder.file("policy.yaml", policy(service.address, &LIMITS[..1]));
    let seen = TcpListener::bind("127.0.0.1:0").unwrap();
    seen.set_nonblocking(true).unwrap();
    let attack = |port: u16, more: &[&str]| {
        let mut command = tidegate(["attack", "--for", "2s", "--against", &format!("http://0.0.0.0:{port}")]);
        command.args(more).arg(&file).output().unwrap()
    };
    let refused = attack(seen.local_addr().unwrap().port(), &[]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let stderr = text(&refused.stderr);
    assert!(stderr.contains("another machine") && stderr.contains("--i-own-this 0.0.0.0"), "{stderr}");
    assert_eq!(seen.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    let other = attack(seen.local_addr().unwrap().port(), &["--i-own-this", "127.0.0.1"]);
    assert_eq!(other.status.code(), Some(2), "{other:?}");
    assert_eq!(seen.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);

    attack(service.address.port(), &["--i-own-this", "0.0.0.0"]);
    assert!(service.served() > 0, "it would have gone there");
}

#[test]
fn a_gateway_that_goes_away_ends_the_attack_with_what_happened() {
    let (folder, service) = (Folder::new("live-gone"), Service::start(answers));
    let file = folder.file("policy.yaml", policy(service.address, &LIMITS));
    let gateway = Gateway::start(&file);
    let mut command = tidegate(["attack", "--against", &gateway.url, "--for", "10m"]);
    let attack = command.arg(&file).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while service.served() < 20 {
        thread::yield_now();
    }
    gateway.running.signal(Signal::KILL);
    let output = attack.wait_with_output().unwrap();
    let stderr = text(&output.stderr);
    let told =
        ["it went away", "nothing listens there", "cannot connect"].iter().any(|why| stderr.contains(why));
    assert!(stderr.starts_with(&format!("error: {}: ", gateway.url)) && told, "{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), ""));
}

#[test]
fn where_nothing_listens_it_says_what_to_start() {
    let (folder, service) = (Folder::new("live-nobody"), Service::start(answers));
    let file = folder.file("policy.yaml", policy(service.address, &LIMITS));
    let url = format!("http://127.0.0.1:{}", nobody());
    let output = run(["attack".as_ref(), "--against".as_ref(), url.as_ref(), file.as_os_str()]);
    let expected = format!(
        "error: {url}: nothing listens there; start the gateway with `tidegate serve POLICY`, or name the address it listens \
         on\n"
    );
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(1), expected.as_str()));
}

/// Guards against a report that says all is well of attacks that could not have shown anything.
#[test]
fn what_takes_longer_than_there_is_time_for_is_told_with_the_time_it_takes() {
    let (folder, service) = (Folder::new("live-slow"), Service::start(answers));
    let slow = [
        ("everyone", "global", "", "sliding_log: { limit: 5, window: 1h }"),
        ("each", "account", "", "token_bucket: { capacity: 4, refill: 1 per 10m }"),
    ];
    let file = folder.file("policy.yaml", policy(service.address, &slow));
    let gateway = Gateway::start(&file);
    let mut command = tidegate(["attack", "--against", &gateway.url, "--for", "2s"]);
    let output = command.arg(&file).output().unwrap();
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(told.contains("not played: everyone, greedy: it takes 2h of its own"), "{told}");
    assert!(!told.lines().any(|line| line.starts_with("everyone ")), "{told}");
    assert!(told.contains("attacks saw less than two windows of their limits; --for 80m would"), "{told}");
}

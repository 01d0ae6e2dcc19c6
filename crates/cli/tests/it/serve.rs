//! `tidegate serve`: from the start to a drained end.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use crate::http::{get, send};
use crate::process::{Folder, Running, run, run_with_input, text, tidegate};
use crate::upstream::Upstream;

/// A policy of every face, with one limit that a test can reach.
fn policy(upstream: &Upstream) -> String {
    format!(
        "tidegate: 1
gateway: {{ listen: 127.0.0.1:0, upstream: \"http://{}\" }}
api: {{ listen: 127.0.0.1:0 }}
health: {{ listen: 127.0.0.1:0 }}
rules:
  - name: everything
    match: {{ path: /** }}
    limits:
      - name: per-client
        says: Two at once, then one every hour, per client.
        key: client_ip
        token_bucket: {{ capacity: 2, refill: 1 per 1h }}
",
        upstream.address
    )
}

fn start(file: &PathBuf, more: &[&str]) -> Running {
    let mut command = tidegate(["serve", "--log", "json"]);
    command.args(more).arg(file);
    Running::start(command)
}

/// The whole promise of a drain: what was admitted is answered, what comes later is not taken, and the end is clean.
#[test]
fn a_request_under_way_is_answered_after_sigterm() {
    let (folder, upstream) = (Folder::new("drain"), Upstream::start());
    let mut served = start(&folder.file("policy.yaml", policy(&upstream)), &[]);
    let gateway = served.address("gateway");
    let waiting = send(gateway, "GET", "/slow", "");
    upstream.wait();

    served.signal(Signal::TERM);
    served.log("draining");
    upstream.release();
    let answer = waiting.answer();
    assert_eq!((answer.status, answer.body.as_str()), (200, "finished"));
    assert_eq!(served.end().code(), Some(0), "{:#?}", served.logged);
    assert!(TcpStream::connect(gateway).is_err(), "the port is free again");
}

#[test]
fn a_limit_is_enforced_and_every_line_of_the_log_is_json() {
    let (folder, upstream) = (Folder::new("enforced"), Upstream::start());
    let file = folder.file("policy.yaml", policy(&upstream));
    let mut served = start(&file, &["--log-level", "trace"]);
    let (gateway, api, health) =
        (served.address("gateway"), served.address("decision API"), served.address("health"));
    for _ in 0..2 {
        upstream.release();
        assert_eq!(get(gateway, "/").status, 200);
    }
    let refused = get(gateway, "/");
    let wait: u32 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!(refused.status == 429 && (3_000..=3_600).contains(&wait), "{refused:?}");
    assert_eq!(get(api, "/v1/policy").status, 200);
    assert_eq!(get(health, "/nothing-here").status, 404);

    served.signal(Signal::INT);
    assert_eq!(served.end().code(), Some(0));
    for line in &served.logged {
        let event: serde_json::Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(event["level"].is_string() && event["message"].is_string(), "{line}");
    }
}

#[test]
fn a_second_signal_ends_it_at_once_and_says_so() {
    let (folder, upstream) = (Folder::new("twice"), Upstream::start());
    let mut served = start(&folder.file("policy.yaml", policy(&upstream)), &[]);
    let waiting = send(served.address("gateway"), "GET", "/slow", "");
    upstream.wait();
    served.signal(Signal::INT);
    served.log("draining");
    served.signal(Signal::INT);
    assert_eq!(served.end().code(), Some(1), "requests were lost, and the code must say so");
    assert!(served.logged.iter().any(|line| line.contains("cut off")), "{:#?}", served.logged);
    drop(waiting);
}

#[test]
fn requests_past_the_drain_timeout_are_cut_counted_and_in_the_exit_code() {
    let (folder, upstream) = (Folder::new("timeout"), Upstream::start());
    let policy = policy(&upstream).replace("upstream:", "drain_timeout: 1ms, upstream:");
    let mut served = start(&folder.file("policy.yaml", policy), &[]);
    let waiting = send(served.address("gateway"), "GET", "/slow", "");
    upstream.wait();
    served.signal(Signal::TERM);
    let cut: serde_json::Value = serde_json::from_str(&served.log("cut off requests")).unwrap();
    assert_eq!((&cut["face"], &cut["requests"]), (&"gateway".into(), &1.into()), "{cut}");
    assert_eq!(served.end().code(), Some(1));
    drop(waiting);
}

/// Guards against clients that hold the last descriptor: none would be left for the upstream, and every request a 502.
#[test]
fn idle_connections_leave_descriptors_for_the_upstream() {
    let (folder, upstream) = (Folder::new("descriptors"), Upstream::start());
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 64; exec \"$0\" serve --log json \"$1\""]);
    command.arg(env!("CARGO_BIN_EXE_tidegate")).arg(folder.file("policy.yaml", policy(&upstream)));
    let mut served = Running::start(command);
    let warned: serde_json::Value = serde_json::from_str(&served.log("too few file descriptors")).unwrap();
    assert_eq!((&warned["limit"], &warned["taken"]), (&64.into(), &16.into()), "{warned}");
    let gateway = served.address("gateway");

    let mut first = TcpStream::connect(gateway).unwrap();
    let idle: Vec<_> = (0..64).map(|_| TcpStream::connect(gateway).unwrap()).collect();
    upstream.release();
    first.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    first.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    drop(idle);
}

#[test]
fn shadow_mode_is_loud() {
    let (folder, upstream) = (Folder::new("shadow"), Upstream::start());
    let whole = policy(&upstream).replace("tidegate: 1\n", "tidegate: 1\nmode: shadow\n");
    let one = policy(&upstream)
        .replace("        key: client_ip\n", "        key: client_ip\n        mode: shadow\n");
    for (name, policy, needle) in
        [("whole.yaml", whole, "NOTHING IS REFUSED"), ("one.yaml", one, "everything/per-client")]
    {
        let mut served = start(&folder.file(name, policy), &["--log-level", "warn"]);
        let line: serde_json::Value = serde_json::from_str(&served.log("SHADOW")).unwrap();
        assert_eq!(line["level"], "WARN");
        assert!(line.to_string().contains(needle), "{line}");
        served.signal(Signal::TERM);
        served.end();
    }
}

#[test]
fn a_service_manager_is_told_when_it_is_ready_and_when_it_stops() {
    let (folder, upstream) = (Folder::new("notify"), Upstream::start());
    let path = folder.path("notify.sock");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    let told = || {
        let mut message = [0; 256];
        let length = manager.recv(&mut message).unwrap();
        text(&message[..length]).trim_end().to_owned()
    };
    let mut command = tidegate(["serve"]);
    command.arg(folder.file("policy.yaml", policy(&upstream))).env("NOTIFY_SOCKET", &path);
    let mut served = Running::start(command);
    assert_eq!(told(), "READY=1");
    served.signal(Signal::TERM);
    assert_eq!(told(), "STOPPING=1");
    assert_eq!(served.end().code(), Some(0));
    // By the way: logs for people carry no colour where no terminal shows it.
    assert!(
        served.logged.iter().any(|line| line.contains(" INFO the gateway listens ")),
        "{:#?}",
        served.logged
    );
}

#[test]
fn an_occupied_port_is_named_with_its_face_and_what_to_do() {
    let (folder, upstream) = (Folder::new("occupied"), Upstream::start());
    let occupant = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = occupant.local_addr().unwrap().to_string();
    let policy = policy(&upstream).replacen("127.0.0.1:0", &address, 1);
    let file = folder.file("policy.yaml", policy);
    // The filter leaves the message alone on standard error: it is no log.
    let output = tidegate(["serve"]).arg(file).env("RUST_LOG", "off").output().unwrap();
    let expected =
        format!("error: gateway: {address} is in use; stop what listens there, or choose another `listen`\n");
    assert_eq!(text(&output.stderr), expected);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_policy_with_problems_is_refused_with_all_of_them() {
    let output = run(["serve", "wrong.yaml"]);
    let stderr = text(&output.stderr);
    assert!(stderr.starts_with("error: the policy cannot be used\nwrong.yaml:4:5: "), "{stderr}");
    let (_, problems) = stderr.split_once('\n').unwrap();
    assert_eq!(problems, text(&run(["check", "wrong.yaml"]).stdout));
    assert_eq!(output.status.code(), Some(2));
    for unreadable in ["missing.yaml", "not-yaml.yaml"] {
        assert_eq!(run(["serve", unreadable]).status.code(), Some(2), "{unreadable}");
    }
    assert_eq!(run_with_input(["serve", "-"], b"tidegate: 1\n").status.code(), Some(2));
}

/// Filters go by the environment unless the user says a level; one that cannot be read is not silently dropped.
#[test]
fn the_environment_filters_the_log() {
    let (folder, upstream) = (Folder::new("filter"), Upstream::start());
    let file = folder.file("policy.yaml", policy(&upstream));
    let output = tidegate(["serve"]).arg(&file).env("RUST_LOG", "tidegate=nonsense").output().unwrap();
    assert!(
        text(&output.stderr).starts_with("error: RUST_LOG=\"tidegate=nonsense\" cannot be read: "),
        "{output:?}"
    );
    assert_eq!(output.status.code(), Some(1));

    let mut command = tidegate(["serve", "--log", "json", "--log-level", "info"]);
    command.arg(&file).env("RUST_LOG", "off");
    let mut served = Running::start(command);
    // Were the filter stronger than the wish, no address would ever be logged.
    served.address("gateway");
    served.signal(Signal::TERM);
    assert_eq!(served.end().code(), Some(0));
}

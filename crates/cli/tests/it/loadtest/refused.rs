//! What is not tested, and what is said then.

use std::process::Command;

use crate::process::{run, text, tidegate};
use crate::service::Service;
use crate::shared::{nobody, server};

#[test]
fn another_s_machine_is_not_tested() {
    for scheme in ["http", "api+http", "grpc", "redis"] {
        let output = run(["loadtest", &format!("{scheme}://192.0.2.1:9"), "--domain", "a"]);
        let stderr = text(&output.stderr);
        assert!(stderr.contains("another machine") && stderr.contains("--i-own-this 192.0.2.1"), "{stderr}");
        assert_eq!(output.status.code(), Some(2), "{stderr}");
    }
}

#[test]
fn a_target_that_does_not_answer_is_exit_code_three_with_what_to_do() {
    let nobody = nobody();
    for (target, advice) in [
        (format!("http://127.0.0.1:{nobody}/"), "`tidegate serve POLICY`"),
        (format!("api+http://127.0.0.1:{nobody}"), "`api` listens"),
        (format!("redis://127.0.0.1:{nobody}"), "start a redis-server"),
    ] {
        let output = run(["loadtest", &target, "--duration", "1s"]);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{stderr}");
        assert!(stderr.contains(&target[..12]) && stderr.contains(advice), "{stderr}");
    }
    // One that answers, but decides nothing: another kind of service.
    let service = Service::at_once();
    let url = format!("api+http://{}", service.address);
    let output = run(["loadtest", &url, "--rate", "20", "--duration", "1s", "--timeout", "1s"]);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("no request was decided (status: an answer that cannot be read)"), "{stderr}");
}

/// Guards whoever has a path wrong, or a service that is down: what came is named, and where.
#[test]
fn a_gateway_that_answers_another_status_is_told_with_it_and_the_path() {
    let service = Service::start(|path, _| if path == "/there" { "200 OK" } else { "404 Not Found" });
    let url = format!("http://{}/not-there?x={{key}}", service.address);
    let output = run(["loadtest", &url, "--rate", "20", "--duration", "1s"]);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains(&url) && stderr.contains("(status: HTTP 404)"), "{stderr}");
}

/// Guards against a Redis that is said not to answer, and against a password in a log.
#[test]
fn a_redis_with_a_password_is_told_with_what_to_do_instead() {
    let redis = server();
    redis.ask("CONFIG SET requirepass a-secret");
    let url = format!("redis://127.0.0.1:{}", redis.port());
    for url in [url, format!("redis://user:a-secret@127.0.0.1:{}", redis.port())] {
        let output = run(["loadtest", &url, "--duration", "1s"]);
        let stderr = text(&output.stderr);
        assert!(output.status.code() == Some(2) && stderr.contains("test the gateway before it"), "{stderr}");
        assert!(!stderr.contains("a-secret"), "{stderr}");
    }
}

#[test]
fn what_makes_no_sense_is_exit_code_two_with_what_to_write() {
    let gateway = "http://127.0.0.1:1/";
    for (args, needle) in [
        (&["nonsense"][..], "http://127.0.0.1:8080/path"),
        (&["https://127.0.0.1/"], "TLS is not spoken"),
        (&[gateway, "--rate", "0"], "above 0"),
        (&[gateway, "--rate", "NaN"], "above 0"),
        (&[gateway, "--flood-rate", "5"], "--rate"),
        (&[gateway, "--rate", "5", "--flood-rate", "5"], "--shape"),
        (&[gateway, "--users", "5"], "--connections"),
        (&[gateway, "--domain", "a"], "--domain says nothing about"),
        (&[gateway, "--limit", "a"], "--limit says nothing about"),
        (&[gateway, "--header", "nonsense"], "NAME: VALUE"),
        (&[gateway, "--key-header", "X-Key: fixed"], "{key}"),
        (&[gateway, "--max-slowdown", "2"], "--shape"),
        (&[gateway, "--pid", "4294967295"], "--pid 4294967295"),
        (&[gateway, "--skew", "11"], "0 to 10"),
        (&["http://[::1]:1/"], "--key-header"),
        (&["grpc://127.0.0.1:1"], "--domain shop"),
        (&["grpc://127.0.0.1:1", "--domain", "a", "--descriptor", "b"], "KEY=VALUE"),
        (&["api+http://127.0.0.1:1", "--question", "{"], "no JSON"),
        (&["api+http://127.0.0.1:1", "--question", "{}"], "{address}"),
        (&["memory:", "--limit", "token_bucket: {capacity: 4}"], "refill"),
        (&["memory:", "--connections", "0"], "1..=60000"),
        (&["memory:", "--max-p99", "5"], "500us"),
    ] {
        let output = run(["loadtest"].iter().chain(args));
        let stderr = text(&output.stderr);
        assert!(output.status.code() == Some(2) && stderr.contains(needle), "{args:?}: {stderr}");
    }
}

/// Guards a target that is said not to answer while its tester has run out of descriptors.
#[test]
fn more_connections_than_the_system_gives_are_refused_before_anything_is_asked() {
    let program = tidegate([""; 0]).get_program().to_owned();
    let url = format!("http://127.0.0.1:{}/", nobody());
    let script = r#"ulimit -n 100 && exec "$0" loadtest "$1" --connections "$2""#;
    let run = |connections: &str| {
        Command::new("sh").args(["-c", script]).arg(&program).args([&*url, connections]).output().unwrap()
    };
    let output = run("60");
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("--connections 60: that takes 124 file descriptors"), "{stderr}");
    assert!(stderr.contains("ulimit -n"), "{stderr}");
    // So many there are; and then nobody answers.
    assert_eq!(run("30").status.code(), Some(3));
}

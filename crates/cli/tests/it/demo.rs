//! `tidegate demo`, end to end: what it prints is true, and the limits hold.

use std::net::{SocketAddr, TcpListener};
use std::process::Command;
use std::time::Instant;

use rustix::process::Signal;

use crate::http::{Answer, get, post, send};
use crate::process::{Folder, Running, run, text, tidegate};

struct Demo {
    running: Running,
    printed: Vec<String>,
    gateway: SocketAddr,
    api: SocketAddr,
    health: SocketAddr,
}

impl Demo {
    fn start() -> Self {
        Self::start_with(&[])
    }

    fn start_with(more: &[&str]) -> Self {
        let mut command = tidegate(["demo", "--listen", "127.0.0.1:0"]);
        command.args(more);
        let mut running = Running::start(command);
        let printed = running.printed("Ctrl-C");
        let address = |face: &str| {
            let line = printed.iter().find(|line| line.trim_start().starts_with(face)).unwrap();
            let (_, rest) = line.split_once("http://").unwrap();
            rest.split_whitespace().next().unwrap().parse().unwrap()
        };
        let (gateway, api, health) = (address("gateway"), address("decision API"), address("health"));
        Self { running, printed, gateway, api, health }
    }

    fn verify(&self, account: &str, challenge: &str, code: &str) -> Answer {
        let body = serde_json::json!({ "account": account, "challenge": challenge, "code": code });
        post(self.gateway, "/otp/verify", &body.to_string())
    }

    fn end(mut self) {
        self.running.signal(Signal::INT);
        assert_eq!(self.running.end().code(), Some(0), "{:#?}", self.running.logged);
    }
}

#[test]
fn the_fifth_guess_is_refused_with_the_words_and_another_account_is_untouched() {
    let demo = Demo::start();
    let began = Instant::now();
    let mut passed = 0;
    let refused = loop {
        let answer = demo.verify("odalys", "c1", "000000");
        if answer.status == 429 {
            break answer;
        }
        assert_eq!((answer.status, &answer.json()["result"]), (200, &"wrong".into()));
        passed += 1;
        // Four at once, and one more for every ten seconds that a machine under load may have taken.
        assert!(passed <= 4 + began.elapsed().as_secs() / 10, "{passed} after {:?}", began.elapsed());
    };
    assert!(passed >= 4, "{passed}: {refused:?}");
    // Ten seconds after the last that came back, rounded up; on a machine that was held up since, that much less.
    let least = 10_u64.saturating_sub(began.elapsed().as_secs()).max(1);
    let waits: Vec<_> = (least..=10).map(|wait| wait.to_string()).collect();
    let wait = refused.header("retry-after").unwrap();
    assert!(refused.status == 429 && waits.iter().any(|one| one == wait), "{refused:?}");
    let standing = format!("\"verify/per-account\";r=0;t={wait}");
    assert_eq!(refused.header("ratelimit"), Some(standing.as_str()), "{refused:?}");
    let policies = refused.header("ratelimit-policy").unwrap();
    assert!(policies.contains("\"verify/per-account\";q=4;w=40"), "{policies}");
    let problem = refused.json();
    assert_eq!(problem["says"], "You can try four times quickly, then once every ten seconds, per account.");

    let other = demo.verify("bertil", "c2", "246810");
    assert_eq!((other.status, &other.json()["result"]), (200, &"ok".into()));
    demo.end();
}

/// Were a refused request charged to the limits that would have let it pass, challenge c1 would be used up.
#[test]
fn a_refused_request_has_used_up_nothing_of_the_other_limits() {
    let demo = Demo::start();
    for _ in 0..4 {
        assert_eq!(demo.verify("odalys", "c1", "0").status, 200);
    }
    for _ in 0..3 {
        assert_eq!(demo.verify("odalys", "c1", "0").status, 429);
    }
    assert_eq!(demo.verify("cosima", "c1", "0").status, 200);
    assert_eq!(demo.verify("cosima", "c1", "0").status, 429);
    demo.end();
}

/// All twenty are sent before one answer is read: eleven at least fit (one goes on, ten wait), and what waits is
/// answered and not dropped.
#[test]
fn twenty_reports_at_once_are_queued_as_far_as_they_fit_and_the_rest_is_refused() {
    let demo = Demo::start();
    let sent: Vec<_> = (0..20).map(|_| send(demo.gateway, "GET", "/reports", "")).collect();
    let statuses: Vec<_> = sent.into_iter().map(|one| one.answer().status).collect();
    assert!(statuses.iter().all(|status| matches!(status, 200 | 429)), "{statuses:?}");
    assert!(statuses.iter().filter(|status| **status == 200).count() >= 11, "{statuses:?}");
    demo.end();
}

#[test]
fn every_endpoint_of_the_example_is_there() {
    let demo = Demo::start();
    assert!(get(demo.gateway, "/").body.contains("POST /otp/verify"));
    let sent = post(demo.gateway, "/otp/send", r#"{"phone":"+12025550143"}"#);
    assert_eq!((sent.status, &sent.json()["challenge"]), (200, &"c1".into()), "{sent:?}");
    let recovery = post(demo.gateway, "/account/recover", r#"{"account":"odalys"}"#);
    assert_eq!(recovery.status, 200, "{recovery:?}");
    demo.end();
}

/// A guide whose lines do not work is worse than none: its lines are run as they are printed.
#[test]
fn the_lines_it_prints_work_as_they_are() {
    let demo = Demo::start();
    let shell = |step: u32| {
        let heading = format!("{step}. ");
        let from = demo.printed.iter().skip_while(|line| !line.starts_with(&heading));
        let block = from.skip_while(|line| !line.is_empty()).skip(1).take_while(|line| !line.is_empty());
        let script = block.map(String::as_str).collect::<Vec<_>>().join("\n");
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        assert!(output.status.success() && !script.is_empty(), "{script}: {output:?}");
        text(&output.stdout).to_owned()
    };
    let guesses = shell(1);
    assert!(guesses.starts_with("200\n200\n200\n200\n429\nHTTP/1.1 429 Too Many Requests\r\n"), "{guesses}");
    assert!(shell(2).starts_with("HTTP/1.1 200 OK\r\n"));
    let challenge = shell(3);
    assert_eq!(challenge.matches("edith 200\n").count(), 4, "{challenge}");
    assert!(challenge.ends_with("edith 429\nedith 429\ncosima 200\ncosima 429\n"), "{challenge}");
    let reports = shell(4);
    assert!(reports.lines().count() == 20 && reports.matches("200 after ").count() >= 11, "{reports}");
    let decision: serde_json::Value = serde_json::from_str(&shell(5)).unwrap();
    assert_eq!(decision["allowed"], true, "{decision}");
    let overridden = shell(6);
    assert!(
        overridden.contains("verify/per-account") && overridden.contains("trying it out"),
        "{overridden}"
    );
    assert!(shell(7).contains("ready"));
    demo.end();
}

#[test]
fn the_other_faces_answer() {
    let demo = Demo::start();
    assert_eq!(get(demo.health, "/readyz").status, 200);
    assert_eq!(get(demo.api, "/v1/policy").status, 200);
    demo.end();
}

/// A log that nobody reads any more must not take the service with it.
#[test]
fn it_goes_on_when_its_logs_cannot_be_written() {
    let mut demo = Demo::start_with(&["--log-level", "trace"]);
    demo.running.close_logs();
    assert_eq!(demo.verify("odalys", "c1", "0").status, 200);
    assert_eq!(get(demo.api, "/v1/policy").status, 200);
    demo.end();
}

#[test]
fn an_occupied_port_comes_with_the_way_to_choose_another() {
    let occupant = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = occupant.local_addr().unwrap().to_string();
    let output = run(["demo", "--listen", &address]);
    let stderr = text(&output.stderr);
    assert!(stderr.starts_with(&format!("error: gateway: {address} is in use")), "{stderr}");
    assert!(stderr.contains("tidegate demo --listen "), "{stderr}");
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), ""));
}

#[test]
fn the_policy_it_prints_is_one_to_begin_with() {
    let folder = Folder::new("print");
    let printed = run(["demo", "--print-policy"]);
    let file = folder.file("policy.yaml", &printed.stdout);
    let checked = run(["check".as_ref(), file.as_os_str()]);
    assert_eq!(checked.status.code(), Some(0), "{checked:?}");
}

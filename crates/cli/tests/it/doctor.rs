//! `tidegate doctor`: what is not as it should be is told, with what mends it.

use std::net::TcpListener;
use std::path::Path;
use std::process::Output;

use serde_json::Value;
use tidegate_redis_kit::Server;
use tidegate_store_redis::{NOTE_RIGHTS, RIGHTS};

use crate::process::{Folder, run, text};
use crate::shared::{nobody, policy, policy_at, server};

/// Returns what is told about something, and how the command ended.
fn doctor(policy: &Path) -> (String, Option<i32>) {
    let output = run(["doctor".as_ref(), policy.as_os_str()]);
    assert_eq!(text(&output.stderr), "");
    (text(&output.stdout).to_owned(), output.status.code())
}

fn line<'t>(told: &'t str, start: &str) -> &'t str {
    let line = told.lines().find(|line| line.starts_with(start));
    line.unwrap_or_else(|| panic!("no line begins with {start:?}:\n{told}"))
}

/// Sets up the user of docs/redis.md, with some rights.
fn user(server: &Server, rights: &str) {
    server.ask(&format!("ACL SETUSER limiter reset on >word ~tg:* resetchannels -@all {rights}"));
}

const AS_USER: &str = "    username: limiter\n    password_file: redis-password";

fn as_user(folder: &Folder, server: &Server) -> std::path::PathBuf {
    folder.file("redis-password", "word\n");
    policy(folder, server.port(), AS_USER)
}

/// Guards the documented rights against being too few, and the doctor against finding something where nothing is.
#[test]
fn a_store_as_documented_with_the_documented_rights_is_fit() {
    let (folder, server) = (Folder::new("doctor-fit"), server());
    user(&server, &format!("{RIGHTS} {NOTE_RIGHTS} +info"));
    let (told, code) = doctor(&as_user(&folder, &server));
    assert!(told.lines().all(|line| line.starts_with("ok ")), "{told}");
    for about in ["listen", "server", "rights", "eviction", "memory", "clock", "secret", "decision"] {
        assert!(told.contains(&format!("ok     {about} ")), "{about} is not in:\n{told}");
    }
    assert_eq!(code, Some(0));
}

/// Without the right to ask how the server is set up nothing is wrong, and nothing may be claimed either.
#[test]
fn what_the_user_may_not_ask_is_a_warning() {
    let (folder, server) = (Folder::new("doctor-info"), server());
    user(&server, RIGHTS);
    let (told, code) = doctor(&as_user(&folder, &server));
    assert!(line(&told, "warn   memory").ends_with("replicas need min-replicas-to-write"), "{told}");
    assert!(!told.contains("eviction "), "{told}");
    assert_eq!(code, Some(0));
}

/// A right that the doctor does not try is missed at three in the morning; and its remedy has to be one.
#[test]
fn each_right_that_is_missing_is_told_with_the_command_that_gives_it() {
    let (folder, server) = (Folder::new("doctor-rights"), server());
    let file = as_user(&folder, &server);
    for missing in RIGHTS.split(' ') {
        let rest: Vec<&str> = RIGHTS.split(' ').filter(|right| *right != missing).collect();
        user(&server, &rest.join(" "));
        let (told, code) = doctor(&file);
        let remedy = line(&told, "FAIL   rights").rsplit("; ").next().unwrap();
        assert_eq!((remedy, code), (&*format!("ACL SETUSER limiter {missing}"), Some(1)), "{told}");
        assert!(!told.contains("decision"), "what keeps it from deciding has been told:\n{told}");
        server.ask(remedy);
        let (told, code) = doctor(&file);
        assert_eq!(code, Some(0), "{missing}:\n{told}");
    }
}

#[test]
fn keys_that_the_user_may_not_touch_are_told_with_the_command_that_lets_it() {
    let (folder, server) = (Folder::new("doctor-keys"), server());
    server.ask(&format!("ACL SETUSER limiter reset on >word ~other:* {RIGHTS}"));
    let (told, code) = doctor(&as_user(&folder, &server));
    assert!(line(&told, "FAIL   rights").ends_with("; ACL SETUSER limiter ~tg:*"), "{told}");
    assert_eq!(code, Some(1));
}

/// A wrong password is told as what it is, and never shown.
#[test]
fn a_wrong_password_is_told_and_not_shown() {
    let (folder, server) = (Folder::new("doctor-password"), server());
    user(&server, RIGHTS);
    let file = as_user(&folder, &server);
    folder.file("redis-password", "quite another\n");
    let (told, code) = doctor(&file);
    assert!(line(&told, "FAIL   server").contains("assword"), "{told}");
    assert!(!told.contains("quite another"), "{told}");
    assert_eq!(code, Some(1));
}

/// A server that forgets counts when its memory is short hands out fresh quotas, to whoever makes it short.
#[test]
fn a_server_that_evicts_is_told() {
    let folder = Folder::new("doctor-eviction");
    let server = Server::start(&["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"]);
    let file = policy(&folder, server.port(), "");
    let (told, code) = doctor(&file);
    assert!(line(&told, "FAIL   eviction").contains("allkeys-lru forgets counts"), "{told}");
    assert_eq!(code, Some(1));
    server.ask("CONFIG SET maxmemory-policy noeviction");
    assert_eq!(doctor(&file).1, Some(0));
}

#[test]
fn a_server_without_a_bound_or_nearly_full_is_a_warning() {
    let folder = Folder::new("doctor-memory");
    let server = Server::start(&[]);
    let file = policy(&folder, server.port(), "");
    let (told, code) = doctor(&file);
    assert!(line(&told, "warn   memory").contains("without a maxmemory"), "{told}");
    assert_eq!(code, Some(0));
    let used = server.info("used_memory").unwrap();
    server.ask(&format!("CONFIG SET maxmemory {}", used + used / 10));
    let (told, _) = doctor(&file);
    assert!(line(&told, "warn   memory").contains("raise maxmemory"), "{told}");
}

/// A replica answers everything but writes: a policy that names one would refuse everybody at the first request.
#[test]
fn a_replica_is_no_store() {
    let (folder, server) = (Folder::new("doctor-replica"), server());
    server.ask(&format!("REPLICAOF 127.0.0.1 {}", nobody()));
    let (told, code) = doctor(&policy(&folder, server.port(), ""));
    assert!(line(&told, "FAIL   server").contains("it is a replica"), "{told}");
    assert_eq!(code, Some(1));
}

/// A cluster's node refuses most keys of somebody who knows nothing of clusters.
#[test]
fn a_node_of_a_cluster_that_is_named_alone_is_told_with_the_url_to_write() {
    let folder = Folder::new("doctor-node");
    let server = Server::start(&["--cluster-enabled", "yes"]);
    let (told, code) = doctor(&policy(&folder, server.port(), ""));
    assert!(line(&told, "FAIL   server").contains("redis+cluster://"), "{told}");
    assert_eq!(code, Some(1));
}

/// Two secrets are two sets of counts: every limit is twice what it says.
#[test]
fn another_secret_than_the_other_instances_is_told() {
    let (folder, server) = (Folder::new("doctor-secret"), server());
    let file = policy(&folder, server.port(), "");
    assert_eq!(doctor(&file).1, Some(0));
    folder.file("keys.secret", "another than on every instance\n");
    let (told, code) = doctor(&file);
    assert!(line(&told, "FAIL   secret").ends_with("DEL tg:secret"), "{told}");
    assert_eq!(code, Some(1));
    server.ask("DEL tg:secret");
    assert_eq!(doctor(&file).1, Some(0));
}

#[test]
fn a_server_that_is_not_there_is_told() {
    let folder = Folder::new("doctor-absent");
    let (told, code) = doctor(&policy(&folder, nobody(), ""));
    assert!(line(&told, "FAIL   server").contains("Connection refused"), "{told}");
    assert_eq!(code, Some(1));
}

/// One that hangs takes connections and never answers: the doctor must not wait with it. A hang of the doctor hangs the test.
#[test]
fn a_server_that_hangs_is_told_too() {
    let (folder, server) = (Folder::new("doctor-hang"), server());
    server.freeze();
    let (told, code) = doctor(&policy(&folder, server.port(), ""));
    assert!(line(&told, "FAIL   server").contains("timed out"), "{told}");
    assert_eq!(code, Some(1));
}

#[test]
fn json_has_the_same_findings() {
    let (folder, server) = (Folder::new("doctor-json"), Server::start(&[]));
    let file = policy(&folder, server.port(), "");
    let output: Output = run(["doctor".as_ref(), "--json".as_ref(), file.as_os_str()]);
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["level"], "warn");
    let findings = told["findings"].as_array().unwrap();
    let memory = findings.iter().find(|finding| finding["about"] == "memory").unwrap();
    assert_eq!(memory["level"], "warn");
    assert!(memory["found"].as_str().unwrap().contains("without a maxmemory"), "{memory}");
    assert!(memory["remedy"].as_str().unwrap().contains("set maxmemory"), "{memory}");
    assert_eq!(output.status.code(), Some(0));
}

fn in_memory(folder: &Folder, lines: &str) -> std::path::PathBuf {
    let text = format!(
        "tidegate: 1
{lines}
rules:
  - name: all
    match: {{ path: /** }}
    limits:
      - {{ name: one, says: \"Ten a minute, for everyone together.\", key: global, sliding_log: {{ limit: 10, window: 1m }} }}
"
    );
    folder.file("policy.yaml", text)
}

#[test]
fn an_address_that_is_taken_is_told_and_one_that_is_free_is_let_go_of() {
    let folder = Folder::new("doctor-listen");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let free = nobody();
    let lines =
        format!("api: {{ listen: {} }}\nhealth: {{ listen: 127.0.0.1:{free} }}", taken.local_addr().unwrap());
    let (told, code) = doctor(&in_memory(&folder, &lines));
    assert!(line(&told, "FAIL   listen").contains("api: "), "{told}");
    assert!(line(&told, "ok     listen").contains("health: "), "{told}");
    assert_eq!(code, Some(1));
    TcpListener::bind(("127.0.0.1", free)).unwrap();
}

#[test]
fn files_and_folders_that_cannot_be_used_are_told() {
    let folder = Folder::new("doctor-files");
    let lines = "gateway: { listen: 127.0.0.1:0, upstream: \"http://127.0.0.1:9\", tls: { certificate: none.pem, key: none.key } }
api: { listen: 127.0.0.1:0, token_file: token }
store: { memory: { snapshot: { file: no-folder/limits.snapshot } } }
instances: 3";
    folder.file("token", "short");
    let (told, code) = doctor(&in_memory(&folder, lines));
    let wrong: Vec<&str> = told.lines().filter(|line| line.starts_with("FAIL")).collect();
    assert_eq!(wrong.len(), 3, "{told}");
    assert!(wrong[0].contains("token") && wrong[1].contains("none.pem"), "{told}");
    assert!(wrong[2].contains("snapshot") && wrong[2].contains("make the folder"), "{told}");
    assert!(line(&told, "warn   store").contains("3 instances"), "{told}");
    assert!(line(&told, "warn   upstream").contains("127.0.0.1:9: "), "{told}");
    assert_eq!(code, Some(1));
}

#[test]
fn a_policy_that_cannot_be_used_ends_it() {
    let output = run(["doctor", "missing.yaml"]);
    assert_eq!(output.status.code(), Some(2));
    let output = run(["doctor", "wrong.yaml"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("wrong.yaml:4:5: "), "{output:?}");
}

/// A file without a certificate trusts nobody, and the server's certificate would be blamed for it.
#[test]
fn a_file_of_authorities_that_holds_none_or_is_not_there_is_told() {
    let folder = Folder::new("doctor-authorities");
    let tls = |file: &str| {
        let url = format!("rediss://127.0.0.1:{}", nobody());
        doctor(&policy_at(&folder, &url, &format!("    ca_file: {file}")))
    };
    let (told, code) = tls("keys.secret");
    assert!(
        line(&told, "FAIL   store").contains("keys.secret holds no certificate; it has to have"),
        "{told}"
    );
    assert_eq!(code, Some(1));
    let (told, code) = tls("nowhere.pem");
    assert!(
        line(&told, "FAIL   store").ends_with("; write its path as it is from the policy's folder"),
        "{told}"
    );
    assert_eq!(code, Some(1));
}

/// "It fails" is no help at night: what is to be done about it has to stand beside it.
#[test]
fn a_server_that_does_not_serve_is_told_with_what_mends_it() {
    let (folder, server) = (Folder::new("doctor-remedies"), server());
    let remedy = |file: &Path| {
        let (told, code) = doctor(file);
        assert_eq!(code, Some(1), "{told}");
        line(&told, "FAIL   server").rsplit("; ").next().unwrap().to_owned()
    };
    assert!(remedy(&policy(&folder, nobody(), "")).starts_with("start it"));
    server.ask("CONFIG SET maxmemory 1");
    assert!(remedy(&policy(&folder, server.port(), "")).starts_with("raise maxmemory"));
    server.ask("CONFIG SET maxmemory 0");
    user(&server, RIGHTS);
    let file = as_user(&folder, &server);
    folder.file("redis-password", "another word\n");
    assert!(remedy(&file).contains("restart without an aclfile"));
    let tls = policy_at(&folder, &format!("rediss://127.0.0.1:{}", server.port()), "");
    assert!(remedy(&tls).starts_with("look whether it speaks TLS there"));
}

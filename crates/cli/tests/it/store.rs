//! `tidegate store`: what a gateway has counted is shown and forgotten, by the names that a person knows.

use std::path::Path;

use serde_json::Value;

use crate::http::post;
use crate::process::{Folder, Running, run, text, tidegate};
use crate::shared::{nobody, policy, server};

const ASKED: &str = r#"{"method":"POST","path":"/otp/verify","keys":{"account":"Ada"}}"#;

/// Runs a command of the store's and returns what it says, and how it ended.
fn store(command: &str, policy: &Path, more: &[&str]) -> (String, Option<i32>) {
    let mut args = vec!["store".as_ref(), command.as_ref(), policy.as_os_str()];
    args.extend(more.iter().map(std::ffi::OsStr::new));
    let output = run(args);
    (format!("{}{}", text(&output.stdout), text(&output.stderr)), output.status.code())
}

/// Serves the policy and has it decide so often; returns whether the last was allowed.
fn decided(policy: &Path, times: usize) -> bool {
    let mut command = tidegate(["serve", "--log", "json"]);
    command.arg(policy);
    let mut serving = Running::start(command);
    let api = serving.address("API");
    let mut allowed = false;
    for _ in 0..times {
        let answer = post(api, "/v1/check", ASKED).json();
        assert!(answer["degraded"].is_null(), "{answer}");
        allowed = answer["allowed"].as_bool().unwrap();
    }
    allowed
}

/// Guards the key against being another than the gateway's, in spelling, encoding, secret or prefix; and a reset against
/// forgetting less or more than it says.
#[test]
fn what_a_gateway_counted_is_shown_and_forgotten() {
    let (folder, server) = (Folder::new("store-counted"), server());
    let file = policy(&folder, server.port(), "");
    assert!(!decided(&file, 3));

    let (told, code) = store("inspect", &file, &["verify/per-account", "account= ADA"]);
    assert_eq!(code, Some(0), "{told}");
    for needle in [
        "2 of 2 used, 0 left; one more in ",
        "as if new in ",
        "token_bucket: capacity 2, refill 1 per 1h\n",
        "in Redis: 74673a",
    ] {
        assert!(told.contains(needle), "{needle:?} is not in:\n{told}");
    }
    let (told, code) = store("inspect", &file, &["--json", "verify/everyone"]);
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!((&told["states"][0]["used"], &told["states"][0]["in_policy"]), (&2.into(), &true.into()));
    assert!(told["ttl_millis"].as_u64().unwrap() > 0 && told["bytes"].as_u64().unwrap() > 60, "{told}");
    assert_eq!(code, Some(0));

    let (told, code) = store("reset", &file, &["verify/per-account", "account=ada"]);
    assert_eq!(
        (told.lines().next(), code),
        (Some("verify/per-account, account=ada: forgotten (2 of 2 used)"), Some(0))
    );
    let (told, code) = store("inspect", &file, &["verify/per-account", "account=ada"]);
    assert!(told.contains("nothing is counted"), "{told}");
    assert_eq!(code, Some(1));
    let (told, code) = store("reset", &file, &["verify/per-account", "account=ada"]);
    assert!(told.contains("nothing to forget"), "{told}");
    assert_eq!(code, Some(1));
    let (told, _) = store("inspect", &file, &["verify/everyone"]);
    assert!(told.contains("2 of 600 used"), "the other limit is untouched:\n{told}");
    assert!(decided(&file, 2), "as new");
}

/// After a change of numbers the old ones must not pass for the policy's.
#[test]
fn what_was_counted_under_other_numbers_is_told_under_those() {
    let (folder, server) = (Folder::new("store-numbers"), server());
    let file = policy(&folder, server.port(), "");
    assert!(decided(&file, 1));
    let changed = std::fs::read_to_string(&file).unwrap();
    let changed = changed.replace("Two at once", "Five at once").replace("capacity: 2", "capacity: 5");
    std::fs::write(&file, changed).unwrap();
    let (told, _) = store("inspect", &file, &["verify/per-account", "account=ada"]);
    assert!(told.contains("1 of 2 used, 1 left"), "{told}");
    assert!(told.contains("capacity 2, refill 1 per 1h, which the policy no longer says"), "{told}");
    assert!(
        told.contains("an override of a running gateway is why (`tidegate override` lists them)"),
        "{told}"
    );
}

/// A value of somebody else's keeps a key refused until it is gone, and nobody wants to type its name.
#[test]
fn a_value_that_is_none_of_ours_is_told_and_removed() {
    let (folder, server) = (Folder::new("store-foreign"), server());
    let file = policy(&folder, server.port(), "");
    let of = ["verify/per-account", "account=ada"];
    let (told, _) = store("inspect", &file, &[of[0], of[1], "--json"]);
    let told: Value = serde_json::from_str(&told).unwrap();
    let name = told["redis_key_hex"].as_str().unwrap();
    let name: Vec<u8> =
        (0..name.len()).step_by(2).map(|at| u8::from_str_radix(&name[at..at + 2], 16).unwrap()).collect();
    for command in ["SET", "SADD"] {
        redis::cmd(command).arg(&name).arg("junk").exec(&mut server.connection()).unwrap();
        let (told, code) = store("inspect", &file, &of);
        assert!(told.contains("none of Tidegate's"), "{command}: {told}");
        assert_eq!(code, Some(0));
        let (told, code) = store("reset", &file, &of);
        assert!(told.contains("forgotten (a value that was none of Tidegate's)"), "{command}: {told}");
        assert_eq!(code, Some(0));
        assert_eq!(store("inspect", &file, &of).1, Some(1));
    }
}

#[test]
fn a_ping_tells_whether_the_store_answers() {
    let (folder, server) = (Folder::new("store-ping"), server());
    let (told, code) = store("ping", &policy(&folder, server.port(), ""), &[]);
    assert!(told.starts_with("the store answers and decides, in "), "{told}");
    assert_eq!(code, Some(0));
    let (told, code) = store("ping", &policy(&folder, nobody(), ""), &[]);
    assert!(told.starts_with("error: the store cannot be reached: ") && told.contains("refused"), "{told}");
    assert!(told.contains("`tidegate doctor ") && told.contains("policy.yaml` looks"), "{told}");
    assert_eq!(code, Some(1));
    // It answers, and nothing can be counted.
    server.ask("CONFIG SET maxmemory 1");
    let (told, code) = store("ping", &policy(&folder, server.port(), ""), &[]);
    assert!(told.contains("Redis is full: raise maxmemory"), "{told}");
    assert_eq!(code, Some(1));
}

/// Under another secret than the gateways' everybody seems to have nothing counted, and whoever is to be unlocked stays
/// locked.
#[test]
fn a_secret_that_is_not_the_gateways_is_told() {
    let (folder, server) = (Folder::new("store-secret"), server());
    let file = policy(&folder, server.port(), "");
    decided(&file, 1);
    let of = ["verify/per-account", "account=ada"];
    let asked: [(&str, &[&str]); 3] = [("inspect", &of), ("reset", &of), ("ping", &[])];
    for (command, more) in &asked[..1] {
        let (told, _) = store(command, &file, more);
        assert!(!told.contains("warning"), "{told}");
    }
    folder.file("keys.secret", "another than the gateway has\n");
    for (command, more) in asked {
        let (told, _) = store(command, &file, more);
        assert!(told.contains("give this policy the key_secret_file that they have"), "{command}: {told}");
    }
}

/// Without the right to ask, what would tell it is told.
#[test]
fn a_right_that_inspect_lacks_is_named() {
    let (folder, server) = (Folder::new("store-pttl"), server());
    let file = policy(&folder, server.port(), "");
    decided(&file, 1);
    server.ask("ACL SETUSER default -pttl");
    let (told, code) = store("inspect", &file, &["verify/per-account", "account=ada"]);
    assert!(told.contains("told to a user with the right +pttl"), "{told}");
    assert_eq!(code, Some(0));
}

/// A slip must not pass for a key on which nothing is counted.
#[test]
fn a_limit_or_a_key_that_is_not_there_is_told_with_those_that_are() {
    let folder = Folder::new("store-slips");
    let file = policy(&folder, nobody(), "");
    let slips: [(&[&str], &str); 5] = [
        (&["verify/per-acount", "account=ada"], "verify/per-account, verify/everyone"),
        (&["verify/per-account", "acount=ada"], "it reads account"),
        (&["verify/per-account"], "account is missing or empty"),
        (&["verify/everyone", "account=ada"], "counts everyone together"),
        (&["verify/per-account", "account=ada", "account=bob"], "account is given twice"),
    ];
    for command in ["inspect", "reset"] {
        for (args, words) in slips {
            let (told, code) = store(command, &file, args);
            assert!(told.contains(words), "{words:?} is not in: {told}");
            assert_eq!(code, Some(2), "{args:?}: {told}");
        }
        let (told, code) = store(command, &file, &["verify/per-account", "account=ada"]);
        assert!(told.contains("the store cannot be reached"), "{told}");
        assert_eq!(code, Some(2), "neither there nor not there: {told}");
    }
}

/// What is in a process's memory is in no other's.
#[test]
fn a_memory_store_is_asked_elsewhere() {
    let folder = Folder::new("store-memory");
    let file = policy(&folder, nobody(), "");
    let text = std::fs::read_to_string(&file).unwrap();
    let (before, rest) = text.split_once("store:").unwrap();
    let (_, after) = rest.split_once("api:").unwrap();
    let text = format!("{before}admin: {{ listen: 127.0.0.1:8083 }}\napi:{after}");
    let file = folder.file("memory.yaml", text);
    for (command, more) in
        [("ping", &[][..]), ("reset", &["verify/everyone"]), ("inspect", &["verify/everyone"])]
    {
        let (told, code) = store(command, &file, more);
        assert!(told.contains("POST http://127.0.0.1:8083/reset with {\"limit\""), "{told}");
        assert_eq!(code, Some(2));
    }
}

//! `tidegate override`, and `tidegate store` by the operator's endpoint: the real command at a real gateway.

use std::path::Path;

use serde_json::Value;

use crate::http::{post, send};
use crate::page::Page;
use crate::process::{Folder, Running, run, text, tidegate};
use crate::shared::{nobody, policy, server};

const TOKEN: &str = "a token of the operator's";

const POLICY: &str = "tidegate: 1
api: { listen: 127.0.0.1:0 }
admin: { listen: 127.0.0.1:0, token_file: token }
keys: { account: { json: /account, normalize: [trim, lowercase] } }
rules:
  - name: verify
    class: verify
    match: { method: POST, path: /otp/verify }
    on_store_failure: deny
    limits:
      - { name: per-account, says: \"Two at once, then one every hour, per account.\", key: account, token_bucket: { capacity: 2, refill: 1 per 1h } }
";

/// The page is what people copy from in the night.
#[test]
fn the_page_on_overrides_runs() {
    Page::read("docs/overrides.md").on_free_ports([8081, 8083]).runs();
}

/// A gateway that runs, and its operator.
struct Night {
    serving: Running,
    api: std::net::SocketAddr,
    admin: String,
    folder: Folder,
}

impl Night {
    fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        folder.file("token", TOKEN.replace(' ', "-"));
        let file = folder.file("policy.yaml", POLICY);
        let mut command = tidegate(["serve", "--log", "json"]);
        command.arg(file);
        let mut serving = Running::start(command);
        let api = serving.address("API");
        let admin = format!("http://{}", serving.address("endpoint"));
        Self { serving, api, admin, folder }
    }

    /// Runs a command with the endpoint and its token, and returns what it says and how it ended.
    fn says(&self, args: &[&str]) -> (String, Option<i32>) {
        let token = self.folder.path("token");
        let asked = ["--admin", &self.admin, "--token-file", token.to_str().unwrap()];
        said(&[args, &asked].concat())
    }

    fn allows(&self, account: &str) -> bool {
        let call = format!(r#"{{"method":"POST","path":"/otp/verify","keys":{{"account":"{account}"}}}}"#);
        post(self.api, "/v1/check", &call).json()["allowed"].as_bool().unwrap()
    }
}

fn said(args: &[&str]) -> (String, Option<i32>) {
    let output = run(args);
    (format!("{}{}", text(&output.stdout), text(&output.stderr)), output.status.code())
}

/// Guards the way from the command to what is refused, and against a reason that paints on a terminal or forges a line of the log.
#[test]
fn an_override_is_made_listed_logged_and_removed() {
    let mut night = Night::new("override-night");
    let because = "a bot\u{1b}[2J\nWARN forged";
    let make = [
        "override",
        "verify/per-account",
        "--mode",
        "refuse",
        "--key",
        "account= ADA",
        "--for",
        "1h",
        "--because",
        because,
    ];
    let (told, code) = night.says(&make);
    assert_eq!(code, Some(0), "{told}");
    assert!(
        told.starts_with("verify/per-account, for hmac:") && told.contains(": mode refuse until 2"),
        "{told}"
    );
    assert!(told.contains("\\u001b[2J") && !told.contains('\u{1b}'), "{told:?}");
    assert!(!night.allows("ada") && night.allows("bob"));
    let line = night.serving.log("an override was put");
    let line: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&line["level"], &line["peer"]), (&"WARN".into(), &"127.0.0.1".into()));
    assert_eq!(line["because"], "a bot\\u{1b}[2J\\nWARN forged");
    let (told, code) = night.says(&["override", "--json"]);
    let list: Value = serde_json::from_str(&told).unwrap();
    assert_eq!((&list["overrides"][0]["mode"], code), (&"refuse".into(), Some(0)));
    let again = night.says(&make).0;
    assert!(again.contains("in the place of the one before"), "{again}");
    let remove = ["override", "--remove", "verify/per-account", "--key", "ada"];
    let (told, code) = night.says(&remove);
    assert!(told.contains("removed (mode refuse)") && code == Some(0), "{told}");
    assert!(night.allows("ada"));
    let (told, code) = night.says(&remove);
    assert!(told.contains("there is no override of verify/per-account hmac:"), "{told}");
    assert_eq!(code, Some(1), "nothing is wrong but that there is none");
    assert_eq!(
        night.says(&["override"]),
        ("no overrides: the policy files are what holds\n".to_owned(), Some(0))
    );
}

/// What cannot be says what can, and what is missing is said before anybody is asked.
#[test]
fn what_is_wrong_is_told_with_the_remedy() {
    let night = Night::new("override-wrong");
    let more = ["--for", "1h", "--because", "x"];
    for (args, code, says) in [
        (&["override", "verify/per-acount", "--limit", "1"][..], 2, "did you mean \"verify/per-account\"?"),
        (&["override", "verify/per-account", "--limit", "0"], 2, "`refuse` as the mode"),
        (&["override", "verify/per-account", "--terms", "x"], 2, "terms:1:1: the limit has to be a mapping"),
        (
            &["override", "verify/per-account", "--limit", "1", "--key", "a=1", "--key", "a=2"],
            2,
            "a is given twice",
        ),
        (&["override", "verify/per-account", "--limit", "1", "--key", "a=1", "--key", "b"], 2, "has no name"),
        (&["override", "verify/per-account", "--limit", "1", "--key", "user=1"], 2, "it reads account"),
        (&["override", "verify/per-account", "--limit", "1", "--mode", "off"], 2, "cannot be used with"),
        (&["override", "verify/per-account", "--mode", "on"], 2, "possible values: shadow, off, refuse"),
    ] {
        let (told, ended) = night.says(&[args, &more].concat());
        assert!(told.contains(says), "{args:?}: {told}");
        assert_eq!(ended, Some(code), "{args:?}: {told}");
    }
    for (args, says) in [
        (&["override", "verify/per-account", "--limit", "1", "--for", "1h"][..], "--because"),
        (&["override", "verify/per-account", "--limit", "1", "--because", "x"], "--for"),
        (&["override", "--limit", "1", "--for", "1h", "--because", "x"], "RULE/LIMIT"),
        (&["override", "verify/per-account"], "give one of --limit, --terms, --mode and --remove"),
        (&["override", "--admin", "127.0.0.1:1"], "http://127.0.0.1:8083"),
        (&["store", "inspect", "policy.yaml", "a/b", "--token-file", "token"], "give --admin URL"),
    ] {
        let (told, ended) = said(args);
        assert!(told.contains(says) && ended == Some(2), "{args:?}: {told}");
    }
    let (told, code) = said(&["override", "--admin", &night.admin]);
    assert!(told.contains("demands a token") && code == Some(2), "{told}");
    let nobody = format!("http://127.0.0.1:{}", nobody());
    let (told, code) = said(&["override", "--admin", &nobody]);
    assert!(told.contains(&nobody) && told.contains("--admin URL") && code == Some(1), "{told}");
}

/// The endpoint and its token are taken from a policy file, as other commands take what they need.
#[test]
fn a_policy_file_says_where_the_endpoint_is() {
    let night = Night::new("override-policy");
    let port = night.admin.rsplit(':').next().unwrap();
    let listens =
        POLICY.replace("admin: { listen: 127.0.0.1:0", &format!("admin: {{ listen: 127.0.0.1:{port}"));
    let file = night.folder.file("named.yaml", listens);
    let (told, code) = said(&["override", "--policy", file.to_str().unwrap()]);
    assert_eq!((told.as_str(), code), ("no overrides: the policy files are what holds\n", Some(0)));
    let without = POLICY.replace("admin: { listen: 127.0.0.1:0, token_file: token }\n", "");
    let file = night.folder.file("without.yaml", without);
    let (told, code) = said(&["override", "--policy", Path::to_str(&file).unwrap()]);
    assert!(told.contains("has no operator's endpoint") && code == Some(2), "{told}");
}

/// Counts in memory, or under a secret that is not here, are seen and forgotten by asking who has them.
#[test]
fn a_running_process_tells_what_it_has_counted_and_forgets_it() {
    let night = Night::new("store-admin");
    assert!(night.allows("ada") && night.allows("ada") && !night.allows("ada"));
    let inspect = ["store", "inspect", "verify/per-account", "account= Ada"];
    let (told, code) = night.says(&inspect);
    assert_eq!(code, Some(0), "{told}");
    for needle in [
        "verify/per-account, account= Ada (hmac:",
        "2 of 2 used, 0 left; one more in ",
        "; as if new in ",
        "token_bucket: capacity 2, refill 1 per 1h",
    ] {
        assert!(told.contains(needle), "{needle:?} is not in:\n{told}");
    }
    let json = night.says(&["store", "inspect", "verify/per-account", "account=ada", "--json"]).0;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["states"][0]["used"], &json["counted"]), (&2.into(), &true.into()));
    let reset = ["store", "reset", "verify/per-account", "account=ADA"];
    assert_eq!(
        night.says(&reset),
        ("verify/per-account, account=ADA: forgotten (2 of 2 used)\n".to_owned(), Some(0))
    );
    assert!(night.allows("ada"));
    let (told, code) = night.says(&["store", "inspect", "verify/per-account", "account=eve"]);
    assert!(told.contains("nothing is counted") && code == Some(1), "{told}");
    let (told, code) = night.says(&["store", "reset", "verify/per-account", "account=eve"]);
    assert!(told.contains("nothing to forget") && code == Some(1), "{told}");
    let (told, code) = night.says(&["store", "inspect", "verify/per-acount", "account=eve"]);
    assert!(told.contains("verify/per-account") && code == Some(2), "{told}");
}

/// Guards against a blocked key of which it is said that nothing is counted, and another that is told of the block.
#[test]
fn a_blocked_key_is_told_as_one_and_nobody_else_is() {
    let night = Night::new("override-inspect");
    let block = ["override", "verify/per-account", "--mode", "refuse", "--key", "mallory", "--for", "1h"];
    let (told, code) = night.says(&[&block[..], &["--because", "a bot"]].concat());
    assert_eq!(code, Some(0), "{told}");
    for needle in [
        "  Refuses everything, per account.\n",
        " → sliding_log: limit 0, window 1s: tighter than the file\n",
    ] {
        assert!(told.contains(needle), "{needle:?} is not in:\n{told}");
    }
    // A bare value is enough for a limit that counts on one thing.
    let (told, code) = night.says(&["store", "inspect", "verify/per-account", "mallory"]);
    assert!(told.contains("  overridden for this key: mode refuse until 2"), "{told}");
    assert!(told.contains(", because a bot; every request is refused\n  nothing is counted\n"), "{told}");
    assert_eq!(code, Some(0), "it is refused, and that is an answer");
    assert!(night.allows("ada"));
    let (told, code) = night.says(&["store", "inspect", "verify/per-account", "ada"]);
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("1 of 2 used") && told.lines().count() == 3, "{told}");
    let (told, code) = night.says(&["override", "--remove", "verify/per-acount"]);
    assert!(told.contains("did you mean \"verify/per-account\"?") && code == Some(1), "{told}");
}

/// A slip of a zero is told before it has cost anything.
#[test]
fn a_looser_limit_is_told_as_one() {
    let night = Night::new("override-looser");
    let more = ["--for", "1h", "--because", "x"];
    for (number, says) in
        [("200", "  2 → 200: looser than the file\n"), ("1", "  2 → 1: tighter than the file\n")]
    {
        let (told, code) =
            night.says(&[&["override", "verify/per-account", "--limit", number], &more[..]].concat());
        assert!(told.contains(says) && code == Some(0), "{told}");
    }
    let (told, _) = night.says(&[&["override", "verify/per-account", "--mode", "off"], &more[..]].concat());
    assert!(told.contains("looser than the file"), "{told}");
}

/// One rule for where a running process is asked: a limit that is no file is asked for where the variable says.
#[test]
fn a_limit_in_the_place_of_a_file_is_asked_for_at_the_variable() {
    let night = Night::new("store-variable");
    let ask = |words: &[&str], at: &str| {
        let token = night.folder.path("token");
        let mut command = tidegate(["store"]);
        command.args(words).arg("--token-file").arg(token).env("TIDEGATE_ADMIN", at);
        let output = command.output().unwrap();
        (format!("{}{}", text(&output.stdout), text(&output.stderr)), output.status.code())
    };
    assert!(night.allows("ada"));
    let (told, code) = ask(&["inspect", "verify/per-account", "account=ada"], &night.admin);
    assert!(told.contains("1 of 2 used") && code == Some(0), "{told}");
    let nobody = format!("http://127.0.0.1:{}", nobody());
    let (told, code) = ask(&["reset", "verify/per-account", "ada"], &nobody);
    assert!(told.contains(&nobody) && told.contains("--admin URL") && code == Some(1), "{told}");
    let (told, code) = said(&["store", "inspect", "missing/policy", "verify/per-account", "ada"]);
    assert!(told.contains("missing/policy") && code == Some(2), "a file that is not there: {told}");
    let (told, code) = said(&["store", "inspect", "missing.yaml"]);
    assert!(told.contains("missing.yaml") && code == Some(2), "{told}");
}

/// What is wrong with a key is told in the words of the command, with what to type.
#[test]
fn a_key_of_several_parts_is_told_with_the_options_to_type() {
    let night = Night::new("override-parts");
    let limits = POLICY.replace(
        "refill: 1 per 1h } }",
        "refill: 1 per 1h } }\n      - { name: each, says: \"Up to 90 a minute, per account and route.\", \
         key: [account, route], sliding_counter: { limit: 90, window: 1m } }",
    );
    night.folder.file("policy.yaml", limits);
    let admin = night.admin.trim_start_matches("http://").parse().unwrap();
    let token = TOKEN.replace(' ', "-");
    let reload = format!("/reload HTTP/1.1\r\nAuthorization: Bearer {token}\r\nX-Rest:");
    assert_eq!(send(admin, "POST", &reload, "").answer().status, 200);
    let make = ["override", "verify/each", "--limit", "1", "--for", "1h", "--because", "x"];
    let (told, code) = night.says(&[&make[..], &["--key", "10.0.0.66"]].concat());
    assert_eq!(code, Some(2), "{told}");
    for needle in [
        "the limit counts on several values, each given by its name: account, route",
        "write `--key account=10.0.0.66 --key route=/otp/verify`",
        "a route is a pattern of the rule's match: /otp/verify",
    ] {
        assert!(told.contains(needle), "{needle:?} is not in:\n{told}");
    }
    let (told, code) = night.says(&["store", "inspect", "verify/each", "account=ada"]);
    assert!(told.contains("write `account=ada route=/otp/verify`") && code == Some(2), "{told}");
    assert!(!told.contains("keys"), "{told}");
}

/// Guards against overrides that are gone with a store's data, and nobody is told.
#[test]
fn a_store_that_has_lost_its_data_is_told() {
    let redis = server();
    let folder = Folder::new("override-lost");
    let file = policy(&folder, redis.port(), "admin: { listen: 127.0.0.1:0 }\n");
    let mut command = tidegate(["serve", "--log", "json"]);
    command.arg(file);
    let mut serving = Running::start(command);
    let admin = format!("http://{}", serving.address("endpoint"));
    let make = [
        "override",
        "verify/per-account",
        "--limit",
        "1",
        "--for",
        "1h",
        "--because",
        "x",
        "--admin",
        &admin,
    ];
    let (told, code) = said(&make);
    assert_eq!(code, Some(0), "{told}");
    redis.ask("FLUSHALL");
    let line = serving.log("the store holds none any more of the overrides");
    let line: Value = serde_json::from_str(&line).unwrap();
    let message = line.to_string();
    assert_eq!(line["level"], "WARN");
    assert!(
        message.contains("verify/per-account: limit 1") && message.contains("`tidegate override`"),
        "{message}"
    );
}

/// A web page in the operator's browser gets nowhere.
#[test]
fn a_call_that_names_its_origin_is_turned_away() {
    let night = Night::new("override-origin");
    let address = night.admin.trim_start_matches("http://").parse().unwrap();
    // The client of these tests sends no token, so that the order is seen as well.
    for (method, path) in [("PUT", "/v1/overrides"), ("GET", "/v1/policy"), ("GET", "/v1/why?path=/")] {
        assert_eq!(send(address, method, path, "{}").answer().status, 401, "{path}");
    }
    let path = "/v1/overrides HTTP/1.1\r\nOrigin: http://evil.example\r\nX-Rest:";
    assert_eq!(send(address, "PUT", path, "{}").answer().status, 403);
}

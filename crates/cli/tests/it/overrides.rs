//! `tidegate override`, and `tidegate store` by the operator's endpoint: the real command at a real gateway.

use std::path::Path;

use serde_json::Value;

use crate::http::{post, send};
use crate::page::Page;
use crate::process::{Folder, Running, run, text, tidegate};
use crate::shared::nobody;

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

/// A web page in the operator's browser gets nowhere.
#[test]
fn a_call_that_names_its_origin_is_turned_away() {
    let night = Night::new("override-origin");
    let address = night.admin.trim_start_matches("http://").parse().unwrap();
    // The client of these tests sends no token, so that the order is seen as well.
    assert_eq!(send(address, "PUT", "/v1/overrides", "{}").answer().status, 401);
    let path = "/v1/overrides HTTP/1.1\r\nOrigin: http://evil.example\r\nX-Rest:";
    assert_eq!(send(address, "PUT", path, "{}").answer().status, 403);
}

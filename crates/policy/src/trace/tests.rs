use http::HeaderMap;
use proptest::prelude::*;

use super::*;
use crate::{Request, parse_embedded};

const RULES: &str = r#"
tidegate: 1
rules:
  - name: any
    match: {}
    limits: [{ name: l, says: One a minute., key: global, sliding_log: { limit: 1, window: 1m } }]
  - name: exact
    match: [{ method: POST, host: a.example, path: "/a/{id}" }, { method: PUT, path: /b }]
    except: [{ client: [198.51.100.0/24] }, { client: [192.0.2.0/24], path: /a/free }]
    limits: [{ name: l, says: One a minute., key: global, sliding_log: { limit: 1, window: 1m } }]
  - name: strict
    match: { path: /c, case: sensitive, trailing_slash: keep }
    limits: [{ name: l, says: One a minute., key: global, sliding_log: { limit: 1, window: 1m } }]
"#;

fn policy() -> Policy {
    let rules = RULES.replace("match: {}", "match: { path: /** }");
    parse_embedded("trace.yaml", &rules).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Returns what a rule says of a request, `METHOD host /path`, from 192.0.2.7.
fn said(rule: &str, line: &str) -> String {
    let policy = policy();
    let headers = HeaderMap::new();
    let parts: Vec<_> = line.split(' ').collect();
    let request = Request {
        method: parts[0],
        host: Some(parts[1]),
        path: parts[2],
        query: None,
        headers: &headers,
        peer: Some("192.0.2.7".parse().unwrap()),
        body: None,
    };
    let seen = policy.see(&request).unwrap();
    let trace = policy.trace(&seen);
    trace.iter().find(|one| one.rule.name == rule).unwrap().fit.to_string()
}

/// Guards against a reason that names another condition than the first that fails.
#[test]
fn the_first_condition_that_fails_is_named_for_each_match() {
    let table = [
        ("any", "GET a.example /x", "applies by /**"),
        ("exact", "POST a.example /a/7", "applies by /a/{id}"),
        ("exact", "GET a.example /a/7", "is for POST, and this is GET; or is for PUT, and this is GET"),
        (
            "exact",
            "POST b.example:80 /a/7",
            "is for a.example, and this is for b.example; or is for PUT, and this is POST",
        ),
        ("exact", "PUT a.example /a", "is for POST, and this is PUT; or is for /b, and this is /a"),
        (
            "exact",
            "POST a.example /a/free",
            "leaves it out by exception 2: client 192.0.2.0/24, path /a/free",
        ),
        ("strict", "GET x /C", "is for /c, and this is /C; only letter case or `;parameters` differ"),
        ("strict", "GET x /c/", "is for /c, and this is /c; only the slash at the end differs"),
        ("strict", "GET x /d", "is for /c, and this is /d"),
    ];
    for (rule, line, expected) in table {
        assert_eq!(said(rule, line), expected, "{rule}: {line}");
    }
}

/// Guards against a reason that does not say which descriptor is wanted, what was found, and where they part.
#[test]
fn of_a_descriptor_it_is_told_what_is_wanted_and_where_it_differs() {
    let limits =
        "limits: [{ name: l, says: One a minute., key: global, sliding_log: { limit: 1, window: 1m } }]";
    let text = format!(
        "tidegate: 1\nrules:\n  - {{ name: login, match: {{ domain: shop, descriptor: [{{ key: path, value: \"/login*\" }}, user] }}, \
         {limits} }}\n  - {{ name: pages, match: {{ path: /** }}, {limits} }}\n"
    );
    let policy = parse_embedded("trace.yaml", &text).unwrap_or_else(|problems| panic!("{problems}"));
    let headers = HeaderMap::new();
    let said = |domain: &str, entries: &[(&str, &str)]| {
        let seen = policy.see_descriptor(crate::Descriptor { domain, entries }, &headers, None);
        policy.trace(&seen).iter().map(|one| one.fit.to_string()).collect::<Vec<_>>()
    };
    let wanted = "is for domain shop, descriptor (path=/login*, user), and this";
    let [path, user] = [("path", "/login"), ("user", "ada")];
    for (domain, entries, why) in [
        ("mall", vec![path, user], "is of domain mall"),
        ("shop", vec![path], "has 1 entry, not 2"),
        ("shop", vec![user, path], "has the entries in another order"),
        ("shop", vec![path, ("role", "a")], "has role where user should be"),
        ("shop", vec![("path", "/x"), user], "has path=/x"),
    ] {
        let [login, pages] = <[String; 2]>::try_from(said(domain, &entries)).unwrap();
        assert_eq!(login, format!("{wanted} {why}"));
        assert_eq!(pages, "is for requests, and this is a descriptor of Envoy");
    }
    assert_eq!(said("shop", &[path, user])[0], "applies by domain shop, descriptor (path=/login*, user)");
    let request = Request {
        method: "GET",
        host: None,
        path: "/login",
        query: None,
        headers: &headers,
        peer: None,
        body: None,
    };
    let seen = policy.see(&request).unwrap();
    let of_a_request = policy.trace(&seen)[0].fit.to_string();
    assert_eq!(
        of_a_request,
        "is for Envoy's descriptors (domain shop, descriptor (path=/login*, user)), and this is a request"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Guards against a trace that says of a rule what the decision does not do, or gives no reason.
    #[test]
    fn what_applies_is_what_matches(
        method in "GET|POST|PUT|HEAD",
        host in "a\\.example|b",
        path in "/[ab]?/?(free|[c-dC]|7)?/?",
        client in "192\\.0\\.2\\.7|198\\.51\\.100\\.1|203\\.0\\.113\\.1",
    ) {
        let policy = policy();
        let headers = HeaderMap::new();
        let peer = Some(client.parse().unwrap());
        let request =
            Request { method: &method, host: Some(&host), path: &path, query: None, headers: &headers, peer, body: None };
        let seen = policy.see(&request).unwrap();
        let trace = policy.trace(&seen);
        let applying: Vec<_> =
            trace.iter().filter_map(|one| Some((one.fit.matched()?.index, one.fit.matched()?.facts.route()))).collect();
        let matching: Vec<_> = policy.matching(&seen).map(|one| (one.index, one.facts.route())).collect();
        prop_assert_eq!(applying, matching);
        prop_assert_eq!(trace.len(), policy.rules.len());
        for one in &trace {
            prop_assert!(!one.fit.to_string().is_empty(), "{}", one.rule.name);
        }
    }
}

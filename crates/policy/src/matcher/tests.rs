//! Which requests a rule's conditions hold for.

use http::HeaderMap;

use crate::request::Request;
use crate::{Policy, parse};

/// A policy of one rule with these members.
fn policy(rule: &str) -> Policy {
    let text = format!(
        "tidegate: 1\nhealth: {{ listen: 127.0.0.1:0 }}\nrules:\n  - {{ name: r, {rule}, on_store_failure: deny, \
         limits: [{{ name: l, says: One., key: global, sliding_log: {{ limit: 1, window: 1m }} }}] }}\n"
    );
    parse("test.yaml", &text).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Whether the rule applies to `METHOD host path`, sent by 192.0.2.1 unless the host is followed by `@peer`.
fn applies(policy: &Policy, request: &str) -> bool {
    let mut words = request.split(' ');
    let (method, host, path) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
    let (host, peer) = host.split_once('@').unwrap_or((host, "192.0.2.1"));
    let headers = HeaderMap::new();
    let peer = Some(peer.parse().unwrap());
    let request =
        Request { method, host: Some(host), path, query: None, headers: &headers, peer, body: None };
    let seen = policy.see(&request).unwrap();
    policy.matching(&seen).next().is_some()
}

fn check(rule: &str, rows: &[(&str, bool)]) {
    let policy = policy(rule);
    for (request, expected) in rows {
        assert_eq!(applies(&policy, request), *expected, "{rule}: {request}");
    }
}

/// Guards methods: the one that servers answer alike, and letters in another case.
#[test]
fn methods_are_compared_as_servers_do() {
    check(
        "match: { method: get, path: /a }",
        &[("GET h /a", true), ("HEAD h /a", true), ("get h /a", true), ("POST h /a", false)],
    );
    check("match: { method: [POST, HEAD] }", &[("GET h /a", false), ("POST h /a", true), ("HEAD h /", true)]);
}

/// Guards IPv6 hosts: a spelling that the server behind takes for the same host must not go around a limit.
#[test]
fn every_spelling_of_an_ipv6_host_is_that_host() {
    for host in ["\"2001:DB8::0:1\"", "\"[2001:db8::1]\""] {
        check(
            &format!("match: {{ host: {host} }}"),
            &[
                ("GET [2001:db8::1] /", true),
                ("GET [2001:db8:0:0::1]:8080 /", true),
                ("GET [2001:0DB8::0001] /", true),
                ("GET [2001:db8::2] /", false),
                ("GET 2001 /", false),
            ],
        );
    }
}

/// Guards hosts: ports, case, the trailing dot, and names that only end alike.
#[test]
fn hosts_are_compared_without_port_and_case() {
    check(
        "match: { host: [api.example.com, \"*.example.org\", \"::1\"] }",
        &[
            ("GET api.example.com /", true),
            ("GET API.example.com.:8443 /", true),
            ("GET xapi.example.com /", false),
            ("GET a.example.org /", true),
            ("GET a.b.Example.Org /", true),
            ("GET example.org /", false),
            ("GET .example.org /", false),
            ("GET badexample.org /", false),
            ("GET [::1]:80 /", true),
            ("GET  /", false),
        ],
    );
}

/// Guards patterns: whole segments, open ends, and the same path under every spelling.
#[test]
fn patterns_match_whole_segments() {
    check(
        "match: { path: [\"/a/{id}/b\", /c/**, /] }",
        &[
            ("GET h /a/1/b", true),
            ("GET h /a//1/./b/", true),
            ("GET h /a/b", false),
            ("GET h /a/1/b/c", false),
            ("GET h /a/1/2/b", false),
            ("GET h /c", true),
            ("GET h /c/", true),
            ("GET h /c/d/e", true),
            ("GET h /cd", false),
            ("GET h /C", false),
            ("GET h /", true),
            ("GET h //", true),
            ("GET h /x/..", true),
            ("GET h /x", false),
        ],
    );
    check(
        "match: { path: \"/caf\u{e9}/%41\" }",
        &[("GET h /caf%c3%a9/A", true), ("GET h /caf%c3%a9/a", false)],
    );
}

/// Guards the spellings that only some servers take for the same path, where an account is at stake.
#[test]
fn case_and_slash_are_as_the_class_or_the_rule_says() {
    check(
        "class: verify, match: { path: /otp/Verify }",
        &[
            ("POST h /OTP/verify", true),
            ("POST h /otp/verify;a=b", true),
            ("POST h /otp;x/verify", true),
            ("POST h /otp/verify/", true),
        ],
    );
    check("class: verify, match: { path: /otp/verify, case: sensitive }", &[("POST h /OTP/verify", false)]);
    check(
        "match: { path: /a/b, case: ignore, trailing_slash: keep }",
        &[("GET h /A/b", true), ("GET h /a/b/", false)],
    );
    check("match: { path: /a/b/, trailing_slash: keep }", &[("GET h /a/b", false), ("GET h /a/b/", true)]);
    // A dot segment at the end leads to the slash.
    check(
        "match: { path: /a/b/, trailing_slash: keep }",
        &[
            ("GET h /a/b/.", true),
            ("GET h /a/b/c/..", true),
            ("GET h /a/b/%2e", true),
            ("GET h /a/./b", false),
        ],
    );
    check("match: { path: /, trailing_slash: keep }", &[("GET h //", true), ("GET h /a/..", true)]);
}

/// Guards exceptions: all their conditions hold, for the client that was seen, under both readings of the path.
#[test]
fn an_exception_holds_only_where_all_of_it_does() {
    check(
        "match: { path: /** }, except: [{ client: [198.51.100.0/24], method: GET }, { path: /health/** }]",
        &[
            ("GET h@198.51.100.7 /a", false),
            ("GET h@::ffff:198.51.100.7 /a", false),
            ("POST h@198.51.100.7 /a", true),
            ("GET h@198.51.101.7 /a", true),
            ("GET h /health/live", false),
            ("GET h /Health/live", true),
            ("GET h /health/../a", true),
        ],
    );
    check("match: { path: /** }, except: { path: /a/b }", &[("GET h /a/b", false), ("GET h /a;x/b", true)]);
}

/// Guards against an exception that is never one for a descriptor, which has no method, host or path.
#[test]
fn a_client_is_left_out_of_a_rule_for_descriptors() {
    let rule = "match: { domain: shop, descriptor: [remote_address] }, except: [{ client: 192.0.2.0/24 }]";
    let policy = policy(rule);
    let headers = HeaderMap::new();
    for (address, applies) in
        [("192.0.2.1", false), ("::ffff:192.0.2.1", false), ("198.51.100.1", true), ("", true)]
    {
        let entries = [("remote_address", address)];
        let descriptor = crate::Descriptor { domain: "shop", entries: &entries };
        let seen = policy.see_descriptor(descriptor, &headers, None);
        assert_eq!(policy.matching(&seen).next().is_some(), applies, "{address}");
    }
}

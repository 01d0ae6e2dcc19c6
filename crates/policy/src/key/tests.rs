//! What keys read from requests, and what they refuse to read.

use http::{HeaderMap, HeaderName, HeaderValue};

use super::{Presence, json, normalize};
use crate::request::{ReadyKeys, Request};
use crate::{Ambiguous, Policy, parse};

/// A policy whose one limit counts on `key`, as YAML.
fn policy(key: &str) -> Policy {
    let text = format!(
        "tidegate: 1\nhealth: {{ listen: 127.0.0.1:0 }}\nkeys:\n  client: {{ client_ip: {{ ipv4: 24 }} }}\n  \
         account: {{ json: /account }}\n  field: {{ form: account }}\n  either: {{ first_of: [account, field, client] }}\n\
         rules:\n  - name: r\n    match: {{ path: [\"/u/{{id}}\", /**] }}\n    limits:\n      - name: l\n        \
         says: One.\n        key: {key}\n        sliding_log: {{ limit: 1, window: 1m }}\n"
    );
    // A path parameter is only allowed where every path has it.
    let text = if key.contains("path:") { text.replace(", /**", "") } else { text };
    parse("test.yaml", &text).unwrap_or_else(|problems| panic!("{problems}"))
}

/// What stands in a request besides its method.
#[derive(Default, Clone, Copy)]
struct Given<'a> {
    path: &'a str,
    query: &'a str,
    headers: &'a [(&'a str, &'a [u8])],
    body: &'a [u8],
    ready: &'a [(&'a str, &'a str)],
}

const JSON: &[(&str, &[u8])] = &[("content-type", b"application/json; charset=utf-8")];
const FORM: &[(&str, &[u8])] = &[("content-type", b"application/x-www-form-urlencoded")];

/// The bytes of the key, `None` when it is missing, or why the request is refused.
fn read(key: &str, given: Given<'_>) -> Result<Option<Vec<u8>>, Ambiguous> {
    let policy = policy(key);
    let mut headers = HeaderMap::new();
    for (name, value) in given.headers {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        headers.append(name, HeaderValue::from_bytes(value).unwrap());
    }
    let ready: ReadyKeys =
        given.ready.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    let request = Request {
        method: "POST",
        host: None,
        path: given.path,
        query: Some(given.query),
        headers: &headers,
        peer: Some("192.0.2.77".parse().unwrap()),
        body: Some(given.body),
    };
    let seen = policy.see_at(&request, Some(&ready), tidegate_algorithms::Timestamp::default())?;
    let matched = policy.matching(&seen).next().expect("the rule matches");
    let mut out = Vec::new();
    let present = matched.rule.limits[0].key.read(&matched.facts, &mut out)?;
    Ok((present == Presence::Present).then_some(out))
}

/// The bytes of a key of one text, as `read` gives them.
#[allow(clippy::unnecessary_wraps, reason = "it stands beside what `read` returns")]
fn text(value: &str) -> Result<Option<Vec<u8>>, Ambiguous> {
    let mut out = vec![1];
    out.extend_from_slice(&u32::try_from(value.len()).unwrap().to_le_bytes());
    out.extend_from_slice(value.as_bytes());
    Ok(Some(out))
}

fn json_body(body: &str) -> Given<'_> {
    Given { headers: JSON, body: body.as_bytes(), ..Given::default() }
}

/// Guards against a document that we read one way and another parser another way.
#[test]
fn a_json_value_is_read_in_one_way_or_refused() {
    let key = "{ json: /account }";
    for (body, value) in [
        (r#"{"account": "alice"}"#, "alice"),
        (r#" {"x": [1, {"account": 2}], "account": "al\u0069ce", "y": null} "#, "alice"),
        (r#"{"account": 7}"#, "7"),
        (r#"{"account": "7"}"#, "7"),
        (r#"{"account": -7}"#, "-7"),
        (r#"{"account": 18446744073709551615}"#, "18446744073709551615"),
        (r#"{"accounts": "x", "account": "bob"}"#, "bob"),
        ("{\"account\": \"\u{1F600}\"}", "\u{1F600}"),
    ] {
        assert_eq!(read(key, json_body(body)), text(value), "{body}");
    }
    for body in [
        "",
        "{}",
        "[]",
        "null",
        "7",
        r#""account""#,
        r#"{"account": null}"#,
        r#"{"account": ""}"#,
        r#"[["account"]]"#,
    ] {
        assert_eq!(read(key, json_body(body)), Ok(None), "{body}");
    }
    for body in [
        r#"{"account": "a", "account": "b"}"#,
        r#"{"account": "a", "\u0061ccount": "a"}"#,
        r#"{"account": "a", "Account": "b"}"#,
        r#"{"ACCOUNT": "a"}"#,
        r#"{"account\u0000x": "a", "account": "b"}"#,
        r#"{"account": null, "account": "b"}"#,
        r#"{"account": 1.0}"#,
        r#"{"account": 1e0}"#,
        r#"{"account": -0}"#,
        r#"{"account": 18446744073709551616}"#,
        r#"{"account": true}"#,
        r#"{"account": ["a"]}"#,
        r#"{"account": {"a": "b"}}"#,
        r#"{"account": "a\u0000b"}"#,
        r#"{"account": "a\nb"}"#,
        r#"{"account": "\ud800"}"#,
        r#"{"account": "a"} x"#,
        r#"{"account": "a"}{"account": "b"}"#,
        r#"{"account": "a",}"#,
        r#"{'account': "a"}"#,
        r#"{"account": "a" /* c */}"#,
        r#"{"account": NaN}"#,
        r#"{"account": 01}"#,
        "\u{feff}{\"account\": \"a\"}",
        "account=a",
        "{",
    ] {
        let refused = read(key, json_body(body));
        assert_eq!(refused.as_ref().map_err(Ambiguous::part), Err("json /account"), "{body}: {refused:?}");
    }
    let invalid = Given { headers: JSON, body: b"{\"x\": \"\xff\", \"account\": \"a\"}", ..Given::default() };
    assert!(read(key, invalid).is_err(), "the ignored part is no UTF-8");
}

/// Guards the way down a document: each step is compared without case, arrays by index.
#[test]
fn a_json_pointer_is_followed_step_by_step() {
    for (pointer, body, value) in [
        ("/user/name", r#"{"user": {"name": "alice", "Nom": "x"}, "users": 1}"#, "alice"),
        ("/list/1/id", r#"{"list": [{"id": "a"}, {"id": "b"}, {"id": "c"}]}"#, "b"),
        ("/a~1b/c~0d", r#"{"a/b": {"c~d": "x"}}"#, "x"),
        ("/0", r#"["first", "second"]"#, "first"),
    ] {
        assert_eq!(read(&format!("{{ json: {pointer} }}"), json_body(body)), text(value), "{pointer}");
    }
    for (pointer, body) in [
        ("/user/name", r#"{"user": {"name": "a"}, "User": {"name": "b"}}"#),
        ("/user/name", r#"{"user": {"name": "a", "NAME": "b"}}"#),
        ("/user/name", r#"{"user": {"name": "a"}, "user": {}}"#),
        ("/task", "{\"tas\u{212a}\": \"a\"}"),
        ("/user", "{\"u\u{17f}er\": \"a\"}"),
    ] {
        assert!(read(&format!("{{ json: {pointer} }}"), json_body(body)).is_err(), "{pointer} {body}");
    }
    for (pointer, body) in
        [("/user/name", r#"{"user": "x"}"#), ("/list/9", r#"{"list": [1]}"#), ("/list/x", r#"{"list": [1]}"#)]
    {
        assert_eq!(read(&format!("{{ json: {pointer} }}"), json_body(body)), Ok(None), "{pointer} {body}");
    }
    assert_eq!((json::Pointer::read("x"), json::Pointer::read("/a~2")), (None, None));
}

/// Guards against a nested document that overflows the stack: on the pointer's way and beside it.
#[test]
fn deep_nesting_is_answered() {
    let deep = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
    let beside = format!(r#"{{"x": {deep}, "account": "a"}}"#);
    let on_the_way = "{\"account\":".repeat(20_000);
    let pointer = "/account".repeat(500);
    assert!(read("{ json: /account }", json_body(&deep)).is_ok_and(|found| found.is_none()));
    assert!(read("{ json: /account }", json_body(&"[".repeat(20_000))).is_err());
    assert_eq!(read("{ json: /account }", json_body(&beside)), text("a"));
    assert!(read(&format!("{{ json: {pointer} }}"), json_body(&on_the_way)).is_err());
}

/// Guards against a limit that is slipped by sending the body as something else.
#[test]
fn a_body_of_another_kind_is_refused_and_not_missing() {
    fn with<'a>(headers: &'a [(&'a str, &'a [u8])]) -> Given<'a> {
        Given { headers, body: br#"{"account": "a"}"#, ..Given::default() }
    }
    assert_eq!(read("{ json: /account }", with(&[])), text("a"));
    assert_eq!(read("{ json: /account }", with(&[("content-type", b"application/problem+json")])), text("a"));
    for headers in [
        &[("content-type", b"text/plain".as_slice())][..],
        &[("content-type", b"application/x-www-form-urlencoded")],
        &[("content-type", b"application/json;charset=utf-16")],
        &[("content-type", b"application/json"), ("content-type", b"text/plain")],
        &[("content-type", b"application/json"), ("content-encoding", b"gzip")],
        &[("content-type", b"\xff")],
    ] {
        assert!(read("{ json: /account }", with(headers)).is_err(), "{headers:?}");
    }
    assert!(read("{ form: account }", Given { body: b"account=a", ..Given::default() }).is_err(), "no type");
    for (key, headers, said) in [
        (
            "account",
            &[("content-type", b"Application/x-www-form-urlencoded; charset=utf-8".as_slice())][..],
            "account is read from a JSON body, and the content type is application/x-www-form-urlencoded; send \
             `Content-Type: application/json`",
        ),
        (
            "account",
            &[("content-type", b"<script>")],
            "account is read from a JSON body, and the content type is another; send `Content-Type: application/json`",
        ),
        (
            "field",
            &[("content-type", b"application/json")],
            "field is read from a form body, and the content type is application/json; send \
             `Content-Type: application/x-www-form-urlencoded`",
        ),
        (
            "field",
            &[],
            "field is read from a form body, and the content type is not said; send \
             `Content-Type: application/x-www-form-urlencoded`",
        ),
    ] {
        assert_eq!(read(key, with(headers)).unwrap_err().to_string(), said);
    }
    assert!(read("{ form: account }", Given { headers: JSON, ..with(JSON) }).is_err());
}

/// Guards `first_of`: a form and a document are alternatives, which one it was is part of the key, and what is
/// ambiguous in one is not hidden by the next.
#[test]
fn the_first_key_that_is_there_is_taken() {
    let form = Given { headers: FORM, body: b"account=a", ..Given::default() };
    let (json_key, form_key) = (read("either", json_body(r#"{"account": "a"}"#)), read("either", form));
    assert!(json_key.as_ref().is_ok_and(Option::is_some) && form_key.as_ref().is_ok_and(Option::is_some));
    assert_ne!(json_key, form_key);
    let client = read("either", Given::default()).unwrap().unwrap();
    assert_eq!(client, [5, 4, 0, 0, 0, 2, 0, 0, 0, 2, 4, 0, 0, 0, 192, 0, 2, 0]);
    assert!(read("either", json_body(r#"{"account": 1.5}"#)).is_err());
}

/// Guards queries, forms and cookies: one value, decoded in one way.
#[test]
fn repeated_or_undecodable_pairs_are_refused() {
    let query = |query| read("{ query: user }", Given { query, ..Given::default() });
    let form = |body| read("{ form: user }", Given { headers: FORM, body, ..Given::default() });
    for (pairs, value) in [
        ("user=alice", "alice"),
        ("x=1&user=al%69ce&&y", "alice"),
        ("us%65r=alice", "alice"),
        ("user=a+b", "a b"),
        ("user=a%2bb", "a+b"),
        ("user=%C3%A9", "é"),
        ("user=a=b", "a=b"),
        ("x=%zz&user=a", "a"),
    ] {
        assert_eq!(query(pairs), text(value), "{pairs}");
        assert_eq!(form(pairs.as_bytes()), text(value), "{pairs}");
    }
    for pairs in ["", "x=1", "user", "user=", "users=1"] {
        assert_eq!(query(pairs), Ok(None), "{pairs}");
    }
    for pairs in [
        "user=a&user=a",
        "user=a&us%65r=b",
        "user=a&User=b",
        "USER=a",
        "user=%ff",
        "user=%zz",
        "user=%4",
        "user=a%00",
        "%ff=1&user=a",
    ] {
        assert!(query(pairs).is_err(), "{pairs}");
        assert!(form(pairs.as_bytes()).is_err(), "{pairs}");
    }
    assert!(form(b"user=\xff").is_err());
    let both = Given { headers: FORM, query: "user=b", body: b"user=a", ..Given::default() };
    assert!(read("{ form: user }", both).is_err(), "which of the two is read differs");
    assert!(read("{ form: user }", Given { query: "user=b", ..Given::default() }).is_err());
    let cookie = |headers| read("{ cookie: sid }", Given { headers, ..Given::default() });
    assert_eq!(cookie(&[("cookie", b"a=b; sid=\"x%79z\"; c=d")]), text("xyz"));
    assert_eq!(cookie(&[("cookie", b"a=b"), ("cookie", b"sid=100%")]), text("100%"));
    assert_eq!(cookie(&[("cookie", b"ssid=x")]), Ok(None));
    for headers in [
        &[("cookie", b"sid=a; sid=b".as_slice())][..],
        &[("cookie", b"sid=a"), ("cookie", b"sid=a")],
        &[("cookie", b"sid=a; SID=b")],
        &[("cookie", b"sid=\xff")],
    ] {
        assert!(cookie(headers).is_err(), "{headers:?}");
    }
}

/// Guards headers: one line, one spelling.
#[test]
fn a_repeated_header_or_its_twin_is_refused() {
    fn header(headers: &[(&str, &[u8])]) -> Result<Option<Vec<u8>>, Ambiguous> {
        read("{ header: x-api-key }", Given { headers, ..Given::default() })
    }
    assert_eq!(header(&[("x-api-key", b"k")]), text("k"));
    assert_eq!(header(&[("x-api-key", "clé".as_bytes())]), text("clé"));
    assert_eq!(header(&[("x-api-key", b"")]), Ok(None));
    assert_eq!(header(&[]), Ok(None));
    for headers in [
        &[("x-api-key", b"k".as_slice()), ("x-api-key", b"k")][..],
        &[("x-api-key", b"k"), ("x_api_key", b"l")],
        &[("x-api_key", b"l")],
        &[("x-api-key", b"\xff")],
        &[("x-api-key", b"a\tb")],
    ] {
        assert!(header(headers).is_err(), "{headers:?}");
    }
}

/// Guards parameters of the path, the route and the client: no spelling of one makes a second key.
#[test]
fn parts_of_the_request_line_are_read_normalised() {
    let path = |path| read("{ path: id }", Given { path, ..Given::default() });
    assert_eq!(path("//u/./%61lice/"), text("alice"));
    assert_eq!(path("/u/%C3%A9"), text("é"));
    assert_eq!(path("/u/a%20b"), text("a b"));
    let route = |path| read("route", Given { path, ..Given::default() });
    assert_eq!((route("/u/1"), route("/u/2"), route("/x")), (text("/u/{id}"), text("/u/{id}"), text("/**")));
    assert_eq!(read("method", Given::default()), text("POST"));
    assert_eq!(read("global", Given::default()), Ok(Some(vec![0, 0, 0, 0, 0])));
    assert_eq!(read("client_ip", Given::default()), Ok(Some(vec![2, 4, 0, 0, 0, 192, 0, 2, 77])));
}

/// Guards ready-made keys: they are normalised as if they had been read, and only where they are named.
#[test]
fn ready_made_keys_stand_in_for_the_request() {
    let given = Given { ready: &[("account", "alice"), ("client", "198.51.100.9")], ..Given::default() };
    assert_eq!(read("account", given), text("alice"));
    assert_eq!(read("client", given), Ok(Some(vec![2, 4, 0, 0, 0, 198, 51, 100, 0])));
    assert_eq!(read("[account, client]", given).unwrap().unwrap().len(), 5 + 5 + 5 + 4);
    assert_eq!(read("field", given), Ok(None));
    let sources = |key: &str| policy(key).rules[0].limits[0].key.sources().join(" ");
    assert_eq!((sources("either").as_str(), sources("global").as_str()), ("account field client", ""));
    assert!(read("client", Given { ready: &[("client", "localhost")], ..Given::default() }).is_err());
    assert!(read("account", Given { ready: &[("account", "a\0")], ..Given::default() }).is_err());
}

/// Guards spellings of one account: case, width, invisible characters at the ends.
#[test]
fn normalisers_bring_spellings_together() {
    let key = "{ json: /account, normalize: [trim, lowercase] }";
    for spelling in [
        "Alice",
        " alice\t",
        "ALICE",
        "\u{feff}alice\u{200b}",
        "al\u{200b}i\u{ad}c\u{fe0f}e",
        "al\u{61c}i\u{3164}c\u{ffa0}e\u{180f}",
        "ＡＬＩＣＥ",
        "\u{a0}alice\u{3000}",
        "al\u{2170}ce",
    ] {
        let body = serde_json::json!({ "account": spelling }).to_string();
        assert_eq!(read(key, json_body(&body)), text("alice"), "{spelling:?}");
    }
    for (spelling, one) in [
        ("STRASSE", "strasse"),
        ("É", "é"),
        ("E\u{301}", "é"),
        ("\u{130}", "i\u{307}"),
        ("Ǆ", "dž"),
        ("ΣΑΣ", "σασ"),
        ("σας", "σασ"),
    ] {
        let body = serde_json::json!({ "account": spelling }).to_string();
        assert_eq!(read(key, json_body(&body)), text(one), "{spelling:?}");
    }
    assert_eq!(read(key, json_body(r#"{"account": " \u200b "}"#)), Ok(None));
    let hashed = read("{ json: /account, normalize: [lowercase, hash] }", json_body(r#"{"account": "A"}"#));
    let mut expected = vec![4, 32, 0, 0, 0];
    expected.extend_from_slice(&normalize::digest("a"));
    assert_eq!(hashed, Ok(Some(expected)));
}

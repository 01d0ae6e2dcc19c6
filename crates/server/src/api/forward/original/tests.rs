//! What a proxy's fields are read as.

use http::Request;

use super::*;

fn read(fields: &[(&str, &str)]) -> Result<Original, String> {
    read_of([127, 0, 0, 1], fields)
}

fn read_of(peer: [u8; 4], fields: &[(&str, &str)]) -> Result<Original, String> {
    let call = fields.iter().fold(Request::get("/auth"), |call, (name, value)| call.header(*name, *value));
    let (head, ()) = call.body(()).unwrap().into_parts();
    Original::read(head, IpAddr::from(peer)).map_err(|error| error.to_string())
}

#[test]
fn either_pair_of_fields_tells_the_request() {
    for (method, uri) in [("x-forwarded-method", "x-forwarded-uri"), ("x-original-method", "x-original-uri")]
    {
        let original = read(&[(method, "POST"), (uri, "/a%2Fb?c=d"), ("host", "example.com:8443")]).unwrap();
        let request = original.request();
        assert_eq!((request.method, request.path, request.query), ("POST", "/a%2Fb", Some("c=d")));
        assert_eq!((request.host, request.body), (Some("example.com:8443"), None));
    }
}

/// Guards against a proxy that tells no method: every request would be the GET by which it asks.
#[test]
fn what_is_not_told_is_not_guessed() {
    let no_method = read(&[("x-forwarded-uri", "/")]).unwrap_err();
    assert!(no_method.contains("let the proxy set `x-forwarded-method`"), "{no_method}");
    let no_uri = read(&[("x-forwarded-method", "GET")]).unwrap_err();
    assert!(no_uri.contains("let the proxy set `x-forwarded-uri`"), "{no_uri}");
}

/// Guards against a client that writes the field which its proxy does not set.
#[test]
fn fields_that_disagree_are_refused_and_such_that_agree_are_not() {
    let usual = [("x-forwarded-method", "GET"), ("x-forwarded-uri", "/a"), ("x-forwarded-host", "a.test")];
    let with = |name: &'static str, value: &'static str| {
        let mut fields = usual.to_vec();
        fields.push((name, value));
        read(&fields)
    };
    for (name, other) in [
        ("x-original-method", "POST"),
        ("x-original-uri", "/b"),
        ("x-original-uri", "/a?"),
        ("x-forwarded-uri", "/b"),
        ("x-forwarded-host", "b.test"),
    ] {
        let error = with(name, other).unwrap_err();
        assert!(error.contains("say different things") || error.contains("different"), "{name}: {error}");
    }
    for (name, same) in [
        ("x-original-method", "GET"),
        ("x-original-uri", "/a"),
        ("x-forwarded-uri", "/a"),
        ("x-forwarded-host", "a.test"),
    ] {
        assert!(with(name, same).is_ok(), "{name}");
    }
}

#[test]
fn the_host_is_that_of_an_absolute_uri_then_the_forwarded_one_then_the_calls() {
    let fields = |uri, forwarded: Option<&'static str>| {
        let mut fields = vec![("x-forwarded-method", "GET"), ("x-forwarded-uri", uri), ("host", "call.test")];
        fields.extend(forwarded.map(|host| ("x-forwarded-host", host)));
        read(&fields)
    };
    let host = |uri, forwarded| fields(uri, forwarded).unwrap().host;
    assert_eq!(host("/a", None).as_deref(), Some("call.test"));
    assert_eq!(host("/a", Some("said.test")).as_deref(), Some("said.test"));
    assert_eq!(host("http://target.test/a", None).as_deref(), Some("target.test"));
    assert_eq!(host("http://SAID.test/a", Some("said.test")).as_deref(), Some("SAID.test"));
    assert!(fields("http://target.test/a", Some("said.test")).unwrap_err().contains("different things"));
    let absolute = fields("http://target.test/a?b", None).unwrap();
    assert_eq!((absolute.request().path, absolute.request().query), ("/a", Some("b")));
}

#[test]
fn what_is_no_target_is_refused() {
    let long = format!("/{}", "a".repeat(MAX_URI));
    for uri in ["", "a", "example.com:443", "/a b", "/a#b", "//a b", "/\u{e4}", "ftp//", long.as_str()] {
        let error = read(&[("x-forwarded-method", "GET"), ("x-forwarded-uri", uri)]).unwrap_err();
        assert!(error.starts_with("`x-forwarded-uri`"), "{uri}: {error}");
    }
    // Two slashes begin a path, as in a request's own line.
    let slashes = read(&[("x-forwarded-method", "GET"), ("x-forwarded-uri", "//a/b")]).unwrap();
    assert_eq!((slashes.request().path, slashes.request().host), ("//a/b", None));
    for (name, value) in
        [("x-forwarded-method", "G T"), ("x-forwarded-host", "a, b"), ("x-forwarded-host", "")]
    {
        let mut fields = vec![("x-forwarded-uri", "/")];
        if name != "x-forwarded-method" {
            fields.push(("x-forwarded-method", "GET"));
        }
        fields.push((name, value));
        assert!(read(&fields).unwrap_err().starts_with(&format!("`{name}`")), "{name}: {value}");
    }
}

fn policy(request_id: &str) -> Policy {
    let text = format!(
        "tidegate: 1\napi: {{ listen: 127.0.0.1:0{request_id} }}\ntrusted_proxies: [127.0.0.0/8]\nfallback: {{ limits: [{{ name: l, \
         says: Ten a minute per client., key: client_ip, sliding_counter: {{ limit: 10, window: 1m }} }}] }}\n"
    );
    tidegate_policy::parse("policy.yaml", &text).unwrap()
}

/// Guards against one request's answer for another's: an id alone is not enough.
#[test]
fn a_request_is_known_again_only_by_its_id_with_all_it_must_have_in_common() {
    let policy = policy(", forward_auth: { request_id: x-request-id }");
    let usual = [
        ("x-request-id", "7"),
        ("x-forwarded-method", "GET"),
        ("x-forwarded-uri", "/a"),
        ("x-forwarded-host", "a.test"),
        ("x-forwarded-for", "192.0.2.7"),
    ];
    let id = |fields: &[(&str, &str)]| read(fields).unwrap().id(&policy);
    let first = id(&usual);
    assert!(first.is_some() && first == id(&usual));
    for (place, other) in [(0, "8"), (1, "POST"), (2, "/a?"), (3, "b.test"), (4, "192.0.2.8")] {
        let mut fields = usual;
        fields[place].1 = other;
        assert!(id(&fields).is_some_and(|id| Some(id) != first), "{other}");
    }
    assert_ne!(read_of([127, 0, 0, 2], &usual).unwrap().id(&policy), first, "of another proxy");
    let mut twice = usual.to_vec();
    twice.push(("x-request-id", "7"));
    assert_eq!(id(&twice), None);
    assert_eq!(id(&usual[1..]), None);
    let mut nameless = usual;
    nameless[0].1 = "";
    assert_eq!(id(&nameless), None);
    assert_eq!(read(&usual).unwrap().id(&self::policy("")), None, "it has to be asked for");
}

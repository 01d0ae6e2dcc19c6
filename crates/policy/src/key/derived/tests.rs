//! What is read from phone numbers, and from Envoy's descriptors.

use http::HeaderMap;

use crate::key::Presence;
use crate::request::{ReadyKeys, Request};
use crate::{Ambiguous, Policy, parse};

/// A policy whose one limit counts on `key`.
fn policy(key: &str) -> Policy {
    let text = format!(
        "tidegate: 1\nhealth: {{ listen: 127.0.0.1:0 }}\nkeys:\n  fallback: {{ first_of: [country, client_ip] }}\n  \
         country: {{ phone_country: phone }}\n  block: {{ phone_prefix: phone }}\n  secret: {{ phone_prefix: phone, normalize: hash }}\n  \
         anywhere: {{ phone_country: number }}\n  number: {{ first_of: [phone, typed] }}\n  \
         phone: {{ json: /phone, normalize: [{{ e164: US }}, hash] }}\n  typed: {{ form: phone, normalize: [trim, e164] }}\n  \
         source: {{ descriptor: source_cluster, normalize: lowercase }}\n\
         rules:\n  - {{ name: r, match: {{ path: /** }}, limits: [{{ name: l, says: One., key: {key}, \
         sliding_log: {{ limit: 1, window: 1m }} }}] }}\n"
    );
    parse("test.yaml", &text).unwrap_or_else(|problems| panic!("{problems}"))
}

/// The bytes of a key of a policy, with a body and ready-made keys.
fn read(key: &str, body: &str, ready: &[(&str, &str)]) -> Result<Option<Vec<u8>>, Ambiguous> {
    let policy = policy(key);
    let mut headers = HeaderMap::new();
    let kind = if body.starts_with('{') { "application/json" } else { "application/x-www-form-urlencoded" };
    headers.insert("content-type", http::HeaderValue::from_static(kind));
    let request = Request {
        method: "POST",
        host: None,
        path: "/",
        query: None,
        headers: &headers,
        peer: Some("192.0.2.7".parse().unwrap()),
        body: Some(body.as_bytes()),
    };
    let ready: ReadyKeys = ready.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    let seen = policy.see_at(&request, Some(&ready), tidegate_algorithms::Timestamp::default())?;
    let matched = policy.matching(&seen).next().unwrap();
    let mut out = Vec::new();
    let present = matched.rule.limits[0].key.read(&matched.facts, &mut out)?;
    Ok((present == Presence::Present).then_some(out))
}

#[allow(clippy::unnecessary_wraps, reason = "it stands beside what `read` returns")]
fn text(value: &str) -> Result<Option<Vec<u8>>, Ambiguous> {
    let length = u32::try_from(value.len()).unwrap().to_le_bytes();
    Ok(Some([&[1], length.as_slice(), value.as_bytes()].concat()))
}

/// Guards limits by country and by block: they are there whenever the number is, in whichever way it comes.
#[test]
fn a_number_gives_its_country_and_its_block() {
    let body = r#"{"phone": "(416) 555-0123"}"#;
    assert_eq!(read("country", body, &[]), text("CA"));
    assert_eq!(read("block", body, &[]), text("+1416555"));
    assert_eq!(read("anywhere", body, &[]), text("CA"));
    assert_eq!(read("anywhere", "phone=%2B33+6+12+34+56+78", &[]), text("FR"));
    let hashed = read("secret", body, &[]).unwrap().unwrap();
    assert_eq!((hashed[0], hashed.len()), (4, 37));
    for key in ["country", "block", "secret"] {
        assert_eq!(read(key, "{}", &[]), Ok(None), "{key}");
        assert_eq!(read(key, r#"{"phone": null}"#, &[]), Ok(None), "{key}");
        let refused = read(key, r#"{"phone": "911"}"#, &[]).unwrap_err();
        assert_eq!(refused.to_string(), "phone is not a phone number", "{key}");
    }
    // A body of another kind gives way to the next of a `first_of`, and a number that is none does not.
    assert_eq!(read("fallback", "phone=x", &[]).unwrap().unwrap()[5..10], [1, 0, 0, 0, 2]);
    assert!(read("fallback", r#"{"phone": "911"}"#, &[]).is_err());
    assert!(read("country", "phone=x", &[]).is_err());
    for key in ["country", "block", "anywhere", "fallback"] {
        assert!(policy(key).rules[0].limits[0].needs_body(), "{key}");
    }
}

/// Guards ready-made keys: the number's serves what is read from it, a value of its own goes before, and none is taken
/// as it stands.
#[test]
fn a_ready_made_number_serves_its_country() {
    assert_eq!(read("country", "", &[("phone", "416 555 0123")]), text("CA"));
    assert_eq!(read("country", "", &[("phone", "416 555 0123"), ("country", "FR")]), text("FR"));
    assert_eq!(read("country", "", &[("country", "001")]), text("001"));
    assert_eq!(read("block", "", &[("block", "+1416555")]), text("+1416555"));
    assert_eq!(read("country", "", &[("country", "")]), Ok(None));
    for (key, value) in [("country", "France"), ("country", "fr"), ("block", "1416555"), ("block", "+1 416")]
    {
        assert!(read(key, "", &[(key, value)]).is_err(), "{key} {value}");
    }
    assert!(read("country", "", &[("phone", "911")]).is_err());
    let sources = |key: &str| policy(key).rules[0].limits[0].key.sources().join(" ");
    assert_eq!(sources("[country, block, phone]"), "phone country block");
    assert_eq!(sources("anywhere"), "phone typed anywhere");
    assert_eq!(sources("source"), "source_cluster");
}

/// Guards a descriptor: it goes by its own name, and stands in no request.
#[test]
fn a_descriptor_is_given_or_missing() {
    assert_eq!(read("source", "", &[("source_cluster", "Web")]), text("web"));
    assert_eq!(read("source", "", &[("source", "web")]), Ok(None));
    assert_eq!(read("source", "source_cluster=web", &[]), Ok(None));
    assert!(!policy("source").rules[0].limits[0].needs_body());
}

/// Guards tables by country: what a file writes is what a request gives, or is refused.
#[test]
fn a_written_value_is_what_a_request_gives() {
    let written = |key: &str, value: &str| policy(key).rules[0].limits[0].key.parts[0].written(value);
    assert_eq!(written("country", "FR"), Ok(vec!["FR".to_owned()]));
    assert_eq!(written("block", "+336123"), Ok(vec!["+336123".to_owned()]));
    assert_eq!(written("phone", "416 555 0123"), Ok(vec!["+14165550123".to_owned()]));
    assert_eq!(written("source", "WEB"), Ok(vec!["web".to_owned()]));
    for (key, value) in [("country", "France"), ("country", "NO "), ("block", "33"), ("phone", "911")] {
        assert!(written(key, value).is_err(), "{key} {value}");
    }
}

//! Tokens as issuers sign them and as attackers send them, against a policy whose key is a claim.

use std::fmt::Write as _;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{HeaderMap, HeaderName, HeaderValue};
use ring::{hmac, signature};
use tidegate_algorithms::Timestamp;

use crate::{Ambiguous, Policy, Presence, Problems, Reading, Request, Surroundings};

/// Keys of each kind, and a token of each algorithm, of a library that is not ours: `vectors/make.py` made them.
const KEYS: &str = include_str!("vectors/keys.json");
const TOKENS: &str = include_str!("vectors/tokens.txt");
/// The seconds at which those tokens begin and end.
const BEGINS: u64 = 1_700_000_000;
const ENDS: u64 = 1_700_003_600;

/// One file, under every name.
struct OneFile(String);

impl Surroundings for OneFile {
    fn file(&self, _: &str) -> Result<Vec<u8>, String> {
        Ok(self.0.clone().into_bytes())
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }
}

/// A policy whose one limit counts on `user`, which is `jwt` as YAML, or else on the client.
fn load(jwt: &str, keys: &str) -> Result<Policy, Problems> {
    let text = format!(
        "tidegate: 1\nhealth: {{ listen: 127.0.0.1:0 }}\nkeys:\n  user: {{ jwt: {jwt} }}\n  caller: {{ first_of: [user, client_ip] }}\n\
         rules:\n  - name: r\n    match: {{ path: /** }}\n    limits:\n      - {{ name: a, says: One., key: user, sliding_log: {{ limit: 1, window: 1m }} }}\n      \
         - {{ name: b, says: One., key: caller, sliding_log: {{ limit: 1, window: 1m }} }}\n"
    );
    Reading::of(&OneFile(keys.to_owned())).parse("test.yaml", &text)
}

const JWT: &str = "{ claim: sub, jwks_file: keys.json }";

/// The value that a policy's key reads from a request with some fields at an instant.
fn read_with(
    policy: &Policy,
    fields: &[(&str, &str)],
    now: Option<u64>,
) -> Result<Option<String>, Ambiguous> {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        headers.append(HeaderName::try_from(*name).unwrap(), HeaderValue::try_from(*value).unwrap());
    }
    let peer = Some("192.0.2.7".parse().unwrap());
    let request =
        Request { method: "GET", host: None, path: "/", query: None, headers: &headers, peer, body: None };
    let seen = match now {
        Some(seconds) => {
            policy.see_at(&request, None, Timestamp::saturating_from_micros(seconds * 1_000_000))?
        }
        None => policy.see(&request)?,
    };
    let matched = policy.matching(&seen).next().unwrap();
    let mut both = Vec::new();
    for limit in &matched.rule.limits {
        let mut out = Vec::new();
        let present = limit.key.read(&matched.facts, &mut out)? == Presence::Present;
        both.push(present.then_some(out));
    }
    let text = both[0].as_ref().map(|bytes| String::from_utf8(bytes[5..].to_vec()).unwrap());
    // What stands in for a token that does not hold is the next of the `first_of`.
    assert_eq!(both[1].as_ref().unwrap()[5], u8::from(text.is_none()));
    Ok(text)
}

fn read(policy: &Policy, token: &str) -> Option<String> {
    read_with(policy, &[("authorization", &format!("Bearer {token}"))], Some(BEGINS)).unwrap()
}

/// A token of our own making: header, claims and what signs both.
fn token(header: &str, claims: &str, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
    let signed = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
    let signature = sign(signed.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// Signs as the issuer does, under the Ed25519 key of the set.
fn ed(message: &[u8]) -> Vec<u8> {
    signature::Ed25519KeyPair::from_seed_unchecked(&[9; 32]).unwrap().sign(message).as_ref().to_vec()
}

fn issued(claims: &str) -> String {
    token(r#"{"alg":"EdDSA","kid":"ed"}"#, claims, ed)
}

fn hs(secret: &[u8]) -> impl Fn(&[u8]) -> Vec<u8> {
    move |message| hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message).as_ref().to_vec()
}

/// Files that count how often they are read.
struct Counted(std::sync::atomic::AtomicUsize);

impl Surroundings for Counted {
    fn file(&self, _: &str) -> Result<Vec<u8>, String> {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok(KEYS.as_bytes().to_vec())
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }
}

/// Guards the price of a signature: many keys and limits that read one token read one file, and verify it once.
#[test]
fn one_token_is_verified_once_for_all_who_read_it() {
    let files = Counted(std::sync::atomic::AtomicUsize::new(0));
    let limit = |name: &str, key: &str| {
        format!(
            "      - {{ name: {name}, says: One., key: {key}, sliding_log: {{ limit: 1, window: 1m }} }}\n"
        )
    };
    let text = format!(
        "tidegate: 1\nhealth: {{ listen: 127.0.0.1:0 }}\nkeys:\n  user: {{ jwt: {{ claim: sub, jwks_file: k }} }}\n  \
         tenant: {{ jwt: {{ claim: /tenant/id, jwks_file: k }} }}\n  strict: {{ jwt: {{ claim: sub, jwks_file: k, issuer: x }} }}\n\
         rules:\n  - name: r\n    match: {{ path: /** }}\n    limits:\n{}{}{}{}{}",
        limit("a", "user"),
        limit("b", "[tenant, user]"),
        limit("c", "{ jwt: { claim: iss, jwks_file: k } }"),
        limit("d", "strict"),
        limit("e", "user"),
    );
    let policy = Reading::of(&files).parse("test.yaml", &text).unwrap();
    assert_eq!(files.0.load(std::sync::atomic::Ordering::Relaxed), 1);
    let mut headers = HeaderMap::new();
    let field = format!("Bearer {}", TOKENS.lines().next().unwrap());
    headers.insert("authorization", HeaderValue::try_from(field).unwrap());
    let request = Request {
        method: "GET",
        host: None,
        path: "/",
        query: None,
        headers: &headers,
        peer: None,
        body: None,
    };
    let seen = policy.see_at(&request, None, Timestamp::saturating_from_micros(BEGINS * 1_000_000)).unwrap();
    let matched = policy.matching(&seen).next().unwrap();
    let mut present = Vec::new();
    for limit in &matched.rule.limits {
        present.push(limit.key.read(&matched.facts, &mut Vec::new()).unwrap() == Presence::Present);
    }
    assert_eq!(present, [true, true, true, false, true]);
    // One for those that ask the same of it, and one for the issuer that it is not from.
    assert_eq!(matched.facts.tokens().list.lock().unwrap().len(), 2);
}

/// Guards each algorithm against a library that is not ours, and the field's scheme against its spellings.
#[test]
fn a_verified_claim_is_the_key() {
    let policy = load(JWT, KEYS).unwrap();
    assert_eq!(TOKENS.lines().count(), 12);
    for token in TOKENS.lines() {
        assert_eq!(read(&policy, token).as_deref(), Some("alice"), "{token}");
        // The token without its last letter, with another one in its claims, and with a signature of another's.
        let cut = &token[..token.len() - 1];
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let other = format!("{}x.{signature}", &signed[..signed.len() - 1]);
        for bad in [cut, &other, signed, &format!("{signed}."), &format!("{token}.x"), &format!("{token}=")] {
            assert_eq!(read(&policy, bad), None, "{bad}");
        }
    }
    let good = TOKENS.lines().next().unwrap();
    for (field, found) in [
        (format!("bearer   {good} "), true),
        (format!("Basic {good}"), false),
        (good.to_owned(), false),
        ("Bearer".to_owned(), false),
        ("Bearer ".to_owned(), false),
        (format!("Bearer {good}, Bearer {good}"), false),
    ] {
        let read = read_with(&policy, &[("authorization", &field)], Some(BEGINS)).unwrap();
        assert_eq!(read.is_some(), found, "{field}");
    }
    let twice = format!("Bearer {good}");
    let refused = read_with(&policy, &[("authorization", &twice), ("authorization", &twice)], Some(BEGINS));
    assert_eq!(refused.unwrap_err().to_string(), "user is there more than once");
    let policy = load("{ claim: sub, jwks_file: k, header: x-token }", KEYS).unwrap();
    assert_eq!(read_with(&policy, &[("x-token", good)], Some(BEGINS)).unwrap().as_deref(), Some("alice"));
    assert_eq!(read_with(&policy, &[("x-token", &twice)], Some(BEGINS)).unwrap(), None);
    assert!(read_with(&policy, &[("x-token", good), ("x_token", good)], Some(BEGINS)).is_err());
}

/// Guards against a token that chooses how it is verified: without a signature, by another algorithm than the key's, or
/// with a public key as the secret.
#[test]
fn a_token_does_not_choose_how_it_is_verified() {
    let policy = load(JWT, KEYS).unwrap();
    let keys: serde_json::Value = serde_json::from_str(KEYS).unwrap();
    let members = |index: usize, name: &str| {
        URL_SAFE_NO_PAD.decode(keys["keys"][index][name].as_str().unwrap()).unwrap()
    };
    let claims = r#"{"sub":"alice"}"#;
    assert_eq!(read(&policy, &issued(claims)).as_deref(), Some("alice"));
    for alg in ["none", "None", "NONE", "", "HS1", "RS256 ", "ES512"] {
        for signature in [b"".as_slice(), b"x"] {
            let forged = token(&format!(r#"{{"alg":"{alg}"}}"#), claims, |_| signature.to_vec());
            assert_eq!(read(&policy, &forged), None, "{alg}");
        }
    }
    // The public keys are known to everybody, in each of their forms.
    let x = members(3, "x");
    let secrets = [
        x.clone(),
        keys["keys"][3]["x"].as_str().unwrap().into(),
        members(0, "n"),
        KEYS.as_bytes().to_vec(),
        Vec::new(),
    ];
    for secret in secrets {
        for kid in ["ed", "rsa", "p256", "oct", "nobody"] {
            let forged = token(&format!(r#"{{"alg":"HS256","kid":"{kid}"}}"#), claims, hs(&secret));
            assert_eq!(read(&policy, &forged), None, "{kid}");
        }
    }
    // A good signature under a header that says something else of it.
    for header in [
        r#"{"alg":"ES256","kid":"ed"}"#,
        r#"{"alg":"HS256","kid":"ed"}"#,
        r#"{"alg":"EdDSA","kid":"rsa"}"#,
        r#"{"alg":"EdDSA","kid":"nobody"}"#,
        r#"{"alg":"EdDSA","kid":7}"#,
        r#"{"alg":"EdDSA","kid":null}"#,
        r#"{"alg":"EdDSA","crit":["exp"],"exp":9}"#,
        r#"{"alg":"EdDSA","alg":"EdDSA"}"#,
        r#"{"alg":["EdDSA"]}"#,
        r#"{"kid":"ed"}"#,
        r#"["EdDSA"]"#,
        "",
    ] {
        assert_eq!(read(&policy, &token(header, claims, ed)), None, "{header}");
    }
    // A key of the sender's own, beside or instead of ours.
    let own = format!(r#"{{"alg":"HS256","jwk":{{"kty":"oct","k":"{}"}}}}"#, URL_SAFE_NO_PAD.encode([7; 64]));
    assert_eq!(read(&policy, &token(&own, claims, hs(&[7; 64]))), None);
    assert!(
        read(&policy, &token(r#"{"alg":"Ed25519"}"#, claims, ed)).is_some(),
        "without an id all are tried"
    );
    // The key of its algorithm only, where the set says so.
    let only = KEYS.replace(r#""kid": "oct","#, r#""kid": "oct", "alg": "HS512","#);
    let signed = token(r#"{"alg":"HS256","kid":"oct"}"#, claims, hs(&[5; 64]));
    assert!(read(&policy, &signed).is_some());
    assert_eq!(read(&load(JWT, &only).unwrap(), &signed), None);
}

/// Guards every letter of a token: none can be changed, dropped or doubled.
#[test]
fn a_token_is_good_as_it_was_signed_only() {
    let policy = load(JWT, KEYS).unwrap();
    let token = TOKENS
        .lines()
        .find(|line| line.contains(&URL_SAFE_NO_PAD.encode(r#"{"alg": "EdDSA"#)[..18]))
        .unwrap();
    assert!(read(&policy, token).is_some());
    for at in 0..token.len() {
        let (before, letter, after) = (&token[..at], &token[at..=at], &token[at + 1..]);
        for other in ["A", "B", "-", "_", ".", "=", "+", "/", " ", "%", "", &letter.repeat(2)] {
            let changed = format!("{before}{other}{after}");
            // A space at an end is none of the token.
            if changed.trim_matches(' ') != token {
                assert_eq!(read(&policy, &changed), None, "{other:?} at {at}");
            }
        }
    }
}

/// Guards the times of a token, which are held against the request's own instant, and not known without one.
#[test]
fn a_token_holds_in_its_time_only() {
    let policy = load(JWT, KEYS).unwrap();
    let good = format!("Bearer {}", TOKENS.lines().next().unwrap());
    for (now, holds) in [
        (Some(BEGINS - 61), false),
        (Some(BEGINS - 60), true),
        (Some(ENDS + 59), true),
        (Some(ENDS + 60), false),
        (Some(u64::from(u32::MAX)), false),
        (Some(0), false),
        (None, false),
    ] {
        let read = read_with(&policy, &[("authorization", &good)], now).unwrap();
        assert_eq!(read.is_some(), holds, "{now:?}");
    }
    for (dates, holds) in [
        ("", true),
        (r#","exp":1700000000.9"#, true),
        (r#","exp":1.7e9"#, true),
        (r#","exp":9e99"#, false),
        (r#","exp":-1"#, false),
        (r#","exp":1699999940"#, false),
        (r#","exp":"1700003600""#, false),
        (r#","exp":null"#, false),
        (r#","nbf":1700000061"#, false),
        (r#","nbf":true"#, false),
        (r#","exp":9223372036854775807,"nbf":-9223372036854775808"#, true),
    ] {
        assert_eq!(read(&policy, &issued(&format!(r#"{{"sub":"a"{dates}}}"#))).is_some(), holds, "{dates}");
    }
}

/// Guards against a token that another service's issuer signed, or that is for another service.
#[test]
fn a_token_is_from_and_for_whom_the_file_says() {
    for (more, claims, holds) in [
        ("issuer: me", r#""iss":"me""#, true),
        ("issuer: me", r#""iss":"Me""#, false),
        ("issuer: me", r#""iss":["me"]"#, false),
        ("issuer: me", r#""x":"me""#, false),
        ("audience: api", r#""aud":"api""#, true),
        ("audience: api", r#""aud":["web","api"]"#, true),
        ("audience: [web, api]", r#""aud":"web""#, true),
        ("audience: api", r#""aud":"apis""#, false),
        ("audience: api", r#""aud":[]"#, false),
        ("audience: api", r#""aud":{"api":1}"#, false),
        ("audience: api", r#""iss":"api""#, false),
        ("issuer: me, audience: api", r#""iss":"me""#, false),
        ("issuer: me, audience: api", r#""iss":"me","aud":"api""#, true),
    ] {
        let policy = load(&format!("{{ claim: sub, jwks_file: k, {more} }}"), KEYS).unwrap();
        let read = read(&policy, &issued(&format!(r#"{{"sub":"a",{claims}}}"#)));
        assert_eq!(read.is_some(), holds, "{more} {claims}");
    }
}

/// Guards claims that can be read in two ways, and those that are no one's name.
#[test]
fn a_claim_is_text_or_a_whole_number() {
    for (claim, claims, value) in [
        ("sub", r#"{"sub":7}"#, Some("7")),
        ("sub", r#"{"sub":-7}"#, Some("-7")),
        ("sub", r#"{"sub":18446744073709551615}"#, Some("18446744073709551615")),
        ("sub", r#"{"sub":"é"}"#, Some("é")),
        ("https://x.example/id", r#"{"https://x.example/id":"a"}"#, Some("a")),
        ("/tenant/id", r#"{"tenant":{"id":7}}"#, Some("7")),
        ("/groups/0", r#"{"groups":["a"]}"#, Some("a")),
        ("/a~1b", r#"{"a/b":"x"}"#, Some("x")),
        ("tenant", r#"{"tenant":{"id":7}}"#, None),
        ("sub", r#"{"Sub":"a"}"#, None),
        ("sub", r#"{"sub":""}"#, None),
        ("sub", r#"{"sub":1.5}"#, None),
        ("sub", r#"{"sub":1e3}"#, None),
        ("sub", r#"{"sub":true}"#, None),
        ("sub", r#"{"sub":null}"#, None),
        ("sub", r#"{"sub":["a"]}"#, None),
        ("sub", r#"{"sub":"a","sub":"b"}"#, None),
        ("sub", r#"{"sub":"a","s\u0075b":"a"}"#, None),
        ("sub", r#"{"sub":"a","x":[{"y":1,"y":1}]}"#, None),
        ("sub", r#"["sub","a"]"#, None),
        ("sub", r#"{"sub":"a"}x"#, None),
        ("sub", r#"{"sub":"a""#, None),
        ("sub", "", None),
    ] {
        let policy = load(&format!("{{ claim: \"{claim}\", jwks_file: k }}"), KEYS).unwrap();
        assert_eq!(read(&policy, &issued(claims)).as_deref(), value, "{claim} of {claims}");
    }
    let policy = load(JWT, KEYS).unwrap();
    let deep = format!(r#"{{"sub":"a","x":{}{}}}"#, "[".repeat(4_000), "]".repeat(4_000));
    assert_eq!(read(&policy, &issued(&deep)), None);
}

/// Guards the work that a token can cause: neither a long one nor a crowd of keys is gone through.
#[test]
fn what_a_token_costs_is_bounded() {
    let policy = load(JWT, KEYS).unwrap();
    let long = |bytes: usize| issued(&format!(r#"{{"sub":"a","x":"{}"}}"#, "x".repeat(bytes)));
    assert!(read(&policy, &long(8_000)).is_some());
    assert_eq!(read(&policy, &long(20_000)), None);
    // Eight keys that may have signed it are tried, and the ninth is not; with its id it is the only one.
    let mut keys = String::new();
    for index in 0..9_u8 {
        let secret = URL_SAFE_NO_PAD.encode([index; 32]);
        let _ = write!(
            keys,
            r#"{}{{"kty":"oct","kid":"{index}","k":"{secret}"}}"#,
            if index == 0 { "" } else { "," }
        );
    }
    let policy = load(JWT, &format!(r#"{{"keys":[{keys}]}}"#)).unwrap();
    let signed =
        |kid: &str, index| token(&format!(r#"{{"alg":"HS256"{kid}}}"#), r#"{"sub":"a"}"#, hs(&[index; 32]));
    assert!(read(&policy, &signed("", 7)).is_some());
    assert_eq!(read(&policy, &signed("", 8)), None);
    assert!(read(&policy, &signed(r#","kid":"8""#, 8)).is_some());
}

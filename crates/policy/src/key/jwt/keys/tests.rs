//! Sets of keys as people write them.

use super::*;

/// Guards against a set that verifies nothing, or what it should not, without anybody noticing.
#[test]
fn a_set_without_a_key_of_use_is_refused() {
    let strong = URL_SAFE_NO_PAD.encode([3; 32]);
    let weak_rsa = URL_SAFE_NO_PAD.encode([0xff; 128]);
    let x = URL_SAFE_NO_PAD.encode([1; 32]);
    let said = |file: &str| KeySet::read("keys.json", file.as_bytes()).expect_err("it is refused").why;
    for (file, words) in [
        (String::new(), "cannot be read as JSON"),
        ("-----BEGIN PUBLIC KEY-----\n".to_owned(), "is a PEM file"),
        (r#"{"keys":[]}"#.to_owned(), "has no key in it"),
        (r#"{"keys":{}}"#.to_owned(), "has no list `keys`"),
        (r#"{"jwks_uri":"https://x.example"}"#.to_owned(), "describes the issuer"),
        ("[]".to_owned(), "cannot be read as JSON: it is no object"),
        (format!(r#"{{"kty":"oct","k":"{strong}"}}"#), "is one key and not a set"),
        (r#"{"keys":[],"keys":[]}"#.to_owned(), "stands twice"),
    ] {
        assert!(said(&file).contains(words), "{file}: {}", said(&file));
    }
    for (key, words) in [
        (format!(r#"{{"kty":"RSA","n":"{weak_rsa}","e":"AQAB"}}"#), "under 2,048"),
        (r#"{"kty":"RSA","n":"AQAB"}"#.to_owned(), "lacks a member"),
        (format!(r#"{{"kty":"oct","k":"{strong}","use":"enc"}}"#), "is for encryption"),
        (format!(r#"{{"kty":"oct","k":"{strong}","key_ops":["sign"]}}"#), "is not for verifying"),
        (format!(r#"{{"kty":"oct","k":"{strong}","alg":"none"}}"#), "algorithm that is not known"),
        (format!(r#"{{"kty":"oct","k":"{strong}","alg":"HS512"}}"#), "wrong kind or size"),
        (format!(r#"{{"kty":"oct","k":"{strong}","alg":"RS256"}}"#), "wrong kind or size"),
        (format!(r#"{{"kty":"oct","k":"{strong}=="}}"#), "not base64url"),
        (r#"{"kty":"oct","k":"c2hvcnQ"}"#.to_owned(), "is too short"),
        (r#"{"kty":"oct","k":""}"#.to_owned(), "is too short"),
        (format!(r#"{{"kty":"OKP","crv":"X25519","x":"{x}"}}"#), "is on a curve other"),
        (format!(r#"{{"kty":"EC","crv":"P-521","x":"{x}","y":"{x}"}}"#), "is on a curve other"),
        (format!(r#"{{"kty":"EC","crv":"P-384","x":"{x}","y":"{x}"}}"#), "of the wrong length"),
        (format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{x}","d":"{x}"}}"#), "holds a private key"),
        (r#"{"kty":"AKP"}"#.to_owned(), "is of a kind that is not known"),
        ("7".to_owned(), "is no object"),
    ] {
        let said = said(&format!(r#"{{"keys":[{key}]}}"#));
        assert!(said.contains(words), "{key}: {said}");
        assert!(!said.contains(&strong), "{said}");
    }
    // What is not of use is passed over beside a key that is.
    let beside = format!(r#"{{"keys":[{{"kty":"AKP"}},{{"kty":"oct","kid":"a","k":"{strong}"}}]}}"#);
    let set = KeySet::read("keys.json", beside.as_bytes()).ok().expect("one key is of use");
    assert_eq!(format!("{set:?}"), r#"KeySet { path: "keys.json", keys: 1 }"#, "the secret is not shown");
    let candidates = |algorithm, id| set.candidates(algorithm, id).count();
    assert_eq!((candidates(Algorithm::Hs256, Some("a")), candidates(Algorithm::Hs256, None)), (1, 1));
    assert_eq!((candidates(Algorithm::Hs256, Some("b")), candidates(Algorithm::Hs384, None)), (0, 0));
    let many = vec![r#"{"kty":"AKP"}"#; 101].join(",");
    assert!(said(&format!(r#"{{"keys":[{many}]}}"#)).contains("over 100 keys"));
}

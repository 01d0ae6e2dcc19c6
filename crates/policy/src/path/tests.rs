//! Spellings of paths, and what becomes of them.

use super::normalize;
use crate::policy::EncodedSlash::{Keep, Refuse};

/// Guards against a spelling that reaches a handler without its limits.
#[test]
fn spellings_of_one_path_come_together() {
    for (raw, path, loose) in [
        ("/otp/verify", "/otp/verify", "/otp/verify"),
        ("/otp/verify/", "/otp/verify", "/otp/verify"),
        ("//otp///verify//", "/otp/verify", "/otp/verify"),
        ("/otp/./verify", "/otp/verify", "/otp/verify"),
        ("/x/../otp/y/../verify", "/otp/verify", "/otp/verify"),
        ("/../../otp/verify", "/otp/verify", "/otp/verify"),
        ("/otp/%2e/%2E%2e/otp/verify", "/otp/verify", "/otp/verify"),
        ("/otp/%76erif%79", "/otp/verify", "/otp/verify"),
        ("/OTP/Verify", "/OTP/Verify", "/otp/verify"),
        ("/otp;a=b/verify;jsessionid=1", "/otp;a=b/verify;jsessionid=1", "/otp/verify"),
        ("/%c5%bfend/to%E2%84%AAen", "/%C5%BFend/to%E2%84%AAen", "/send/token"),
        ("/caf%c3%a9", "/caf%C3%A9", "/caf%c3%a9"),
        ("/café", "/caf%C3%A9", "/caf%c3%a9"),
        ("/a%20b", "/a%20b", "/a%20b"),
        ("/.well-known/x", "/.well-known/x", "/.well-known/x"),
        ("/a%252e", "/a%252e", "/a%252e"),
        ("/", "/", "/"),
        ("/..", "/", "/"),
        ("", "/", "/"),
        ("*", "/", "/"),
    ] {
        let normal = normalize(raw, Refuse).unwrap_or_else(|error| panic!("{raw}: {error}"));
        assert_eq!((normal.reading(false).text(), normal.reading(true).text()), (path, loose), "{raw}");
    }
}

/// Guards against a path that we read one way and the server behind us another.
#[test]
fn a_path_with_two_readings_is_refused() {
    for raw in [
        "/otp%2Fverify",
        "/otp%2fverify",
        "/otp%5Cverify",
        "/otp\\verify",
        "/otp/%00verify",
        "/otp/verify%0a",
        "/otp/\u{1}",
        "/a b",
        "/%zz",
        "/%",
        "/%4",
        "/%ff",
        "/%c0%af",
        "/x/..;/otp/verify",
        "/x/.;a/y",
        "/x/;a/y",
        "otp/verify",
    ] {
        let refused = normalize(raw, Refuse);
        assert!(refused.is_err(), "{raw}: {refused:?}");
    }
    let kept = normalize("/projects/group%2fname\\x", Keep).unwrap();
    assert_eq!(kept.reading(false).text(), "/projects/group%2Fname%5Cx");
}

//! Requests as a line of text each, and what is made of them.

use super::*;

/// Runs `admit` and returns `target @ host`, or the status of the refusal.
fn run(line: &str, headers: &str) -> String {
    let [method, target, version] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
    let version = match version {
        "1.0" => Version::HTTP_10,
        "1.1" => Version::HTTP_11,
        _ => Version::HTTP_2,
    };
    let mut builder = Request::builder().version(version).method(method).uri(target);
    for (name, value) in headers.split('|').filter_map(|line| line.split_once(": ")) {
        builder = builder.header(name, value);
    }
    let mut request = builder.body(()).unwrap();
    let limits = RequestLimits { max_headers: 3, max_target_bytes: 20, ..RequestLimits::default() };
    if let Err(refusal) = admit(&mut request, &limits) {
        return refusal.status.as_u16().to_string();
    }
    let host = request.headers().get(HOST).map_or("-", |host| host.to_str().unwrap());
    format!("{} @ {host}", request.uri())
}

#[test]
fn targets_and_hosts_are_made_uniform_or_refused() {
    for (line, headers, expected) in [
        ("GET /p?q 1.1", "host: a", "/p?q @ a"),
        ("OPTIONS * 1.1", "host: a", "* @ a"),
        ("GET http://b/p 1.1", "host: a", "/p @ b"),
        ("GET https://b:1 1.1", "host: a", "/ @ b:1"),
        ("GET ftp://b/p 1.1", "host: a", "400"),
        ("GET b:80 1.1", "host: a", "400"),
        ("GET http://u@b/ 1.1", "host: a", "400"),
        ("GET / 1.1", "", "400"),
        ("GET http://b/p 1.1", "", "400"),
        ("GET / 1.1", "host: a|host: a", "400"),
        ("GET / 1.1", "host: a, b", "400"),
        ("GET / 1.1", "host: ", "400"),
        ("GET / 1.1", "host: u@a", "400"),
        ("GET / 1.1", "host: a/b", "400"),
        ("CONNECT b:80 1.1", "host: a", "405"),
        ("GET / 1.0", "", "/ @ -"),
        ("GET / 1.0", "host: a", "/ @ a"),
        ("GET / 1.0", "host: a|host: b", "400"),
        ("GET https://b/p 2", "", "/p @ b"),
        ("GET https://b/p 2", "host: B", "/p @ b"),
        ("GET https://b/p 2", "host: a", "400"),
        ("GET / 2", "", "400"),
    ] {
        assert_eq!(run(line, headers), expected, "{line} {headers}");
    }
}

#[test]
fn sizes_framing_and_expectations_are_checked() {
    for (line, headers, expected) in [
        ("GET /234567890123456789 1.1", "host: a", "/234567890123456789 @ a"),
        ("GET /2345678901234567890? 1.1", "host: a", "414"),
        ("GET / 1.1", "host: a|b: 1|c: 1", "/ @ a"),
        ("GET / 1.1", "host: a|b: 1|c: 1|c: 2", "431"),
        ("GET / 1.1", "host: a|expect: 100-Continue", "/ @ a"),
        ("GET / 1.1", "host: a|expect: 200-ok", "417"),
        ("POST / 1.1", "host: a|transfer-encoding: Chunked", "/ @ a"),
        ("POST / 1.1", "host: a|transfer-encoding: gzip, chunked", "501"),
        ("POST / 1.1", "host: a|transfer-encoding: chunked|transfer-encoding: chunked", "400"),
        ("POST / 1.1", "host: a|transfer-encoding: chunked|content-length: 1", "400"),
    ] {
        assert_eq!(run(line, headers), expected, "{line} {headers}");
    }
}

#[test]
fn cookie_crumbs_of_http2_become_one_field() {
    let mut request = Request::builder()
        .version(Version::HTTP_2)
        .uri("https://a/")
        .header(COOKIE, "a=1")
        .header(COOKIE, "b=2")
        .body(())
        .unwrap();
    admit(&mut request, &RequestLimits::default()).unwrap();
    assert_eq!(request.headers().get_all(COOKIE).iter().collect::<Vec<_>>(), ["a=1; b=2"]);
}

/// Guards against a host that the quick look takes and the reader of authorities does not.
#[test]
fn the_plainest_hosts_are_told_as_the_others_are() {
    let letters = b"aZ0.-_:@[]/%, \xc3";
    let mut plain = 0;
    for number in 0..letters.len().pow(4) {
        let text: Vec<u8> = (0..4)
            .map(|place| letters[number / letters.len().pow(place) % letters.len()])
            .take(1 + number % 4)
            .chain(b":80".iter().copied().filter(|_| number % 7 == 0))
            .collect();
        let is_authority = Authority::try_from(&*text).is_ok() && !text.contains(&b'@');
        assert_eq!(is_host(&text), is_authority, "{}", text.escape_ascii());
        plain += u32::from(is_authority);
    }
    assert!(plain > 100, "{plain}");
}

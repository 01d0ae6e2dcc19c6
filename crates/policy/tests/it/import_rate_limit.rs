//! A `rate-limit` section of a service: read as that service reads it, refused with every slip at its place.

use tidegate_policy::import::{is_rate_limit, rate_limit};
use tidegate_policy::{HeaderStyle, Policy, Presence, Request, ResetUnit, parse};

/// The file of the document that the project began with.
const SEED: &str = "\
rate-limit:
  fallback:
    algorithm: FIXED_COUNTER
    maxRequests: 1000
    windowSize: 60
";

const ALL: &str = "\
server: { port: 8080 }
spring: { data: { redis: { host: localhost, port: 6379 } } }
rate-limit:
  fallback: { algorithm: FIXED_COUNTER, maxRequests: 1000, windowSize: 60 }
  endpoints:
    /api/search: { algorithm: SLIDING_WINDOW, max-requests: 20, window-size: 30 }
    \"[/api/orders]\": { algorithm: token-bucket, capacity: 50, refillRate: 2.5 }
    /api/reports: { algorithm: LEAKY_BUCKET, capacity: 10, flow_rate: 0.5 }
    /api/**: { algorithm: FIXED_COUNTER, maxRequests: 300, windowSize: 60 }
  trusted-proxies: [10.0.0.0/8, 192.0.2.1]
gateway: { listen: 127.0.0.1:8080, upstream: \"${UPSTREAM:-http://127.0.0.1:3000}\" }
management: { endpoints: { web: { exposure: { include: \"*\" } } } }
";

/// Returns what limits a request: the limit's name, its numbers, and the key by which a store knows it.
fn limits(policy: &Policy, path: &str) -> Vec<(String, String, String)> {
    let headers = http::HeaderMap::new();
    let request = Request {
        method: "GET",
        host: None,
        path,
        query: None,
        headers: &headers,
        peer: "192.0.2.7".parse().ok(),
        body: None,
    };
    let seen = policy.see(&request).unwrap();
    let mut matched: Vec<_> = policy.matching(&seen).collect();
    if matched.is_empty() {
        matched.extend(policy.fallback_for(&seen));
    }
    let mut all = Vec::new();
    for one in &matched {
        for limit in &one.rule.limits {
            let mut key = Vec::new();
            assert_eq!(limit.key.read(&one.facts, &mut key), Ok(Presence::Present));
            limit.name_key(&mut key, 0);
            let key = String::from_utf8_lossy(&key).into_owned();
            all.push((limit.name.clone(), limit.terms.numbers.clone(), key));
        }
    }
    all
}

/// The one file that has to run as it is.
#[test]
fn the_seeds_file_is_a_policy() {
    assert!(is_rate_limit(SEED));
    let policy = parse("application.yaml", SEED).unwrap();
    assert_eq!(policy.headers, [HeaderStyle::XRateLimit(ResetUnit::ResetOn)]);
    assert!(
        policy.unread.is_empty() && policy.misleading.is_empty(),
        "{:?} {:?}",
        policy.unread,
        policy.misleading
    );
    let [one] = limits(&policy, "/any/path").try_into().unwrap();
    assert_eq!(one.0, "fallback/per-client");
    assert_eq!(one.1, "limit 1000, window 1m, anchor first_hit");
    assert_eq!(one.2, "rate-limit:192.0.2.7:/any/path");
}

/// A path under two limits would be counted twice, where that service counts it by its own alone.
#[test]
fn every_path_has_the_algorithm_of_its_endpoint_and_no_other() {
    let policy = parse("application.yaml", ALL).unwrap();
    assert!(policy.gateway.is_some());
    assert!(
        policy.unread.is_empty() && policy.misleading.is_empty(),
        "{:?} {:?}",
        policy.unread,
        policy.misleading
    );
    for (path, name, numbers) in [
        ("/api/search", "api-search/per-client", "limit 20, window 30s"),
        ("/api/orders", "api-orders/per-client", "capacity 50, refill 5 per 2s"),
        ("/api/reports", "api-reports/per-client", "rate 1 per 2s, queue 9"),
        ("/api/else/where", "api-all/per-client", "limit 300, window 1m, anchor first_hit"),
        ("/", "fallback/per-client", "limit 1000, window 1m, anchor first_hit"),
    ] {
        let found = limits(&policy, path);
        assert_eq!(found.len(), 1, "{path}: {found:?}");
        assert_eq!((found[0].0.as_str(), found[0].1.as_str()), (name, numbers), "{path}");
    }
    assert_eq!(limits(&policy, "/api/else/where")[0].2, "rate-limit:192.0.2.7:/api/else/where");
    let exact =
        "rate-limit: { endpoints: { /a: { algorithm: FIXED_COUNTER, maxRequests: 1, windowSize: 1 } } }";
    let policy = parse("a.yaml", exact).unwrap();
    assert_eq!(limits(&policy, "/a")[0].2, "rate-limit:192.0.2.7:/a");
    assert_eq!(limits(&policy, "/b"), []);
}

/// The way out of the section must not change what is counted.
#[test]
fn what_is_imported_is_what_is_served() {
    for text in [SEED, ALL] {
        let imported = rate_limit("application.yaml", text).unwrap();
        let (policy, served) =
            (parse("policy.yaml", &imported.text), parse("application.yaml", text).unwrap());
        let policy = policy.unwrap_or_else(|problems| panic!("{problems}\n{}", imported.text));
        assert_eq!(
            (&policy.rules, &policy.fallback, &policy.headers),
            (&served.rules, &served.fallback, &served.headers)
        );
        assert_eq!(policy.trusted, served.trusted);
        assert_eq!(policy.store, served.store);
        if served.gateway.is_some() {
            assert_eq!(policy.gateway, served.gateway);
        }
    }
    let remarks = rate_limit("application.yaml", ALL).unwrap().remarks;
    let told: Vec<String> = remarks.iter().map(|remark| format!("{}: {remark}", remark.place)).collect();
    assert!(told[0].starts_with("2:28: what `spring` says of Redis is not read"), "{told:?}");
    assert!(told.iter().any(|told| told.contains("on_store_failure: allow")), "{told:?}");
    assert!(told.iter().any(|told| told.starts_with("8:5: LEAKY_BUCKET holds")), "{told:?}");
}

/// The endpoints as a list mean the same as a mapping of them.
#[test]
fn endpoints_may_be_a_list() {
    let list = "rateLimit:\n  endpoints:\n    - { path: /a, algorithm: fixed-counter, max_requests: 3, WindowSize: 5 }\n";
    let policy = parse("a.yaml", list).unwrap();
    assert_eq!(limits(&policy, "/a")[0].1, "limit 3, window 5s, anchor first_hit");
}

#[track_caller]
fn refused(text: &str, lines: &[&str]) {
    let expected: Vec<String> = lines.iter().map(|line| format!("a.yaml:{line}")).collect();
    let problems = parse("a.yaml", text).unwrap_err().to_string();
    assert_eq!(problems, expected.join("\n"), "{text}");
    assert_eq!(rate_limit("a.yaml", text).unwrap_err().to_string(), expected.join("\n"), "imported");
}

/// Whoever mends one slip at a time runs the command ten times.
#[test]
fn everything_that_is_wrong_is_told_at_its_place() {
    refused(
        "\
rate-limit:
  fallbck: {}
  fallback: { algorithm: FIXED_CONTER, maxRequests: 0, windowSize: \"${W:60}\" }
  endpoints:
    /a: { algorithm: FIXED_COUNTER, maxReqests: 5, windowSize: 60 }
    /b: { algorithm: FIXED_COUNTER, maxRequests: 0, windowSize: -5, window-size: 1 }
    /c: { algorithm: TOKEN_BUCKET, capacity: many, refillRate: 0, windowSize: 4 }
    /d: { algorithm: LEAKY_BUCKET, capacity: 1.5 }
    e: { algorithm: SLIDING_WINDOW, maxRequests: 5, windowSize: 60 }
    /f?x: { algorithm: SLIDING_WINDOW, maxRequests: \"${MAX:5}\", windowSize: 60 }
    /g: 5
    /h: { maxRequests: 5 }
    \"[/a]\": { algorithm: FIXED_COUNTER, maxRequests: 5, windowSize: 99999999 }
    /i: { algorithm: TOKEN_BUCKET, capacity: 1, refillRate: 0.0000001 }
    /j/{id}: { algorithm: FIXED_COUNTER, maxRequests: 5, windowSize: 60 }
    /j/{name}: { algorithm: FIXED_COUNTER, maxRequests: 5, windowSize: 60 }
",
        &[
            "2:3: unknown member \"fallbck\" in rate-limit; did you mean \"fallback\"?",
            "3:26: the algorithm \"FIXED_CONTER\" is not known; did you mean FIXED_COUNTER?",
            "3:53: maxRequests 0 is zero, and would let nothing through; write one such as 100",
            "3:68: windowSize is filled in by Spring: ${W:60}; write the number itself",
            "5:37: unknown member \"maxReqests\" in the endpoint /a; did you mean \"maxRequests\"?",
            "6:50: maxRequests 0 is zero, and would let nothing through; write one such as 100",
            "6:65: windowSize -5 is negative; write one such as 100",
            "6:69: the endpoint /b has windowSize twice, as `windowSize` and as `window-size`; keep one",
            "7:46: capacity many is no number; write one such as 100",
            "7:64: refillRate 0 is zero, and nothing would ever come back; write one such as 100",
            "7:67: the endpoint /c takes no `windowSize`; it takes algorithm, capacity, refillRate",
            "8:9: the endpoint /d has no `flowRate`; write `flowRate: 10`",
            "8:46: capacity 1.5 is no whole number; write one such as 100",
            "9:5: the path \"e\" does not begin with a slash; write /e",
            "10:5: the path \"/f?x\" has a query or fragment; write the path only: /f",
            "10:53: maxRequests is filled in by Spring: ${MAX:5}; write the number itself",
            "11:9: the endpoint /g has to be a mapping, and this is a single value; write `{ algorithm: FIXED_COUNTER, maxRequests: 100, windowSize: 60 }`",
            "12:9: the endpoint /h has no `algorithm`; write `algorithm: FIXED_COUNTER`",
            "13:69: windowSize 99999999: window 99999999s is out of range; the nearest possible is 400d",
            "14:61: refillRate 0.0000001 is no number of at most 6 digits behind its point; write one such as 100",
            "16:5: the endpoints /j/{id} and /j/{name} hold for the same paths; keep one, or write paths of which one says more than the other",
        ],
    );
}

/// What stands beside the section is the file's own, and its slips are told in the same look.
#[test]
fn what_stands_beside_is_read_as_in_any_policy() {
    let wrong = "rate-limit: { fallback: { algorithm: X } }\ngateway: { listen: nowhere, upstream: http://127.0.0.1:3000 }\n";
    let problems = parse("a.yaml", wrong).unwrap_err().to_string();
    assert!(problems.contains("a.yaml:1:38: the algorithm \"X\""), "{problems}");
    assert!(problems.contains("a.yaml:2:20:"), "{problems}");
    let rules = format!("{SEED}rules: []\n");
    let problems = parse("a.yaml", &rules).unwrap_err().to_string();
    assert!(
        problems.starts_with("a.yaml:6:1: `rules` beside a `rate-limit` section is not read"),
        "{problems}"
    );
    let both = format!("tidegate: 1\n{SEED}");
    assert!(parse("a.yaml", &both).unwrap_err().to_string().contains("unknown key \"rate-limit\""));
    assert!(!is_rate_limit(&both) && !is_rate_limit("a: [") && !is_rate_limit("- rate-limit"));
    let twice = "rate-limit: { fallback: { algorithm: FIXED_COUNTER, maxRequests: 1, windowSize: 1 }, trusted-proxies: [10.0.0.0/8] }\n\
                 trusted_proxies: [10.0.0.0/8]\n";
    let problems = parse("a.yaml", twice).unwrap_err().to_string();
    assert!(problems.contains("trusted"), "{problems}");
}

/// Counts that are silently apart from those of the service's other instances limit nobody as it is meant.
#[test]
fn a_redis_that_only_spring_is_told_of_is_known_to_be_passed_over() {
    let policy = parse("application.yaml", ALL).unwrap();
    let told = policy.store_elsewhere.unwrap();
    assert_eq!((told.place.line, told.place.column), (2, 28));
    assert!(told.remedy.contains("`store: { redis: { url: \"redis://localhost:6379\" } }`"), "{told}");
    for text in [format!("{ALL}store: memory\n"), SEED.to_owned()] {
        assert_eq!(parse("application.yaml", &text).unwrap().store_elsewhere, None);
    }
}

/// A gateway that is passed over for one letter is one that nobody is limited by.
#[test]
fn a_misspelt_member_beside_the_section_is_told_with_all_else() {
    let wrong = format!(
        "{}gatway: {{ listen: 127.0.0.1:8080, upstream: http://127.0.0.1:3000 }}\n",
        SEED.replace("FIXED", "FIXD")
    );
    let problems = parse("a.yaml", &wrong).unwrap_err().to_string();
    assert!(problems.contains("did you mean FIXED_COUNTER?"), "{problems}");
    let told = "a.yaml:6:1: `gatway` beside a `rate-limit` section is not read; did you mean \"gateway\"?";
    assert!(problems.contains(told), "{problems}");
}

/// Whoever takes away what parts the documents of a file has every key of it twice.
#[test]
fn a_file_of_several_profiles_is_told_how_to_be_one_document() {
    let problems =
        parse("a.yaml", &format!("{SEED}---\nspring: {{ config: {{ activate: x }} }}\n{SEED}")).unwrap_err();
    let told = "a.yaml:6:1: a second document begins here; a file is one document: put the profile that runs, with what it \
                takes from the first, into a file of its own";
    assert_eq!(problems.to_string(), told);
}

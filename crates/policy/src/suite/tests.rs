use super::*;
use crate::parse_embedded;

fn suite(text: &str) -> Suite {
    Suite::parse("t.yaml", &format!("tidegate-test: 1\npolicy: p.yaml\n{text}"))
        .unwrap_or_else(|problems| panic!("{problems}"))
}

/// Returns the only request of a file of one step.
fn request(defaults: &str, request: &str) -> Described {
    let text = format!(
        "defaults: {{ {defaults} }}\ntests: [{{ name: t, steps: [{{ request: {{ {request} }}, \
         expect: {{ allowed: true }} }}] }}]"
    );
    suite(&text).cases[0].steps[0].request.clone()
}

/// Guards bodies against being sent otherwise than they are written: order, numbers and text.
#[test]
fn a_json_body_is_sent_as_it_is_written() {
    let table = [
        ("{ b: 1.0, a: 007x, c: -0.50e3 }", r#"{"b":1.0,"a":"007x","c":-0.50e3}"#),
        (
            "{ t: true, f: false, n: null, e: ~, s: \"true\", d: \"1\" }",
            r#"{"t":true,"f":false,"n":null,"e":null,"s":"true","d":"1"}"#,
        ),
        ("[1, two, [], {}, 12345678901234567890123]", r#"[1,"two",[],{},12345678901234567890123]"#),
        (
            "{ \"a\\\"b\": \"\\u00e9\\n\", phone: +1 415 555 }",
            "{\"a\\\"b\":\"é\\n\",\"phone\":\"+1 415 555\"}",
        ),
        ("nullable", r#""nullable""#),
    ];
    for (written, sent) in table {
        let described = request("", &format!("json: {written}"));
        let body = described.request().body.unwrap();
        assert_eq!(std::str::from_utf8(body), Ok(sent), "{written}");
        assert_eq!(described.request().headers["content-type"], "application/json");
    }
}

/// Guards what stands in `defaults` against being lost, or kept where a request says otherwise.
#[test]
fn a_request_says_otherwise_than_the_defaults_member_by_member() {
    let defaults = "method: POST, path: /a?x=1, client: 192.0.2.7, json: { a: 1 }, headers: { x-a: one, x-b: two }, \
                    keys: { account: ada }";
    let same = request(defaults, "");
    let seen = same.request();
    assert_eq!((seen.method, seen.path, seen.query), ("POST", "/a", Some("x=1")));
    assert_eq!(seen.body, Some(&b"{\"a\":1}"[..]));
    let other = request(
        defaults,
        "method: GET, path: /b, headers: { X-A: ~, x-b: [three, \"\"], host: b.example }, form: { q: \"a b&\", r: [one, two] }",
    );
    let seen = other.request();
    assert_eq!((seen.method, seen.path, seen.query, seen.host), ("GET", "/b", None, Some("b.example")));
    assert_eq!(seen.body, Some(&b"q=a%20b%26&r=one&r=two"[..]));
    assert_eq!(seen.headers["content-type"], "application/x-www-form-urlencoded");
    assert!(!seen.headers.contains_key("x-a"));
    assert_eq!(seen.headers.get_all("x-b").iter().collect::<Vec<_>>(), ["three", ""]);
    assert_eq!(other.keys()["account"], "ada");
    assert_eq!(request(defaults, "body: ~").request().body, None);
    let plain = Described::default();
    assert_eq!((plain.request().method, plain.request().path), ("GET", "/"));
}

/// Guards the instants: of a step that says none, of repetitions, of a test with a start of its own.
#[test]
fn steps_stand_in_time() {
    let suite = suite(
        "start: 2027-02-01\ntests:\n\
         - { name: a, steps: [{ at: 1s, repeat: 3, every: 1500us, expect: { admitted: 3 } }, {}, { at: 1h }] }\n\
         - { name: b, start: 2027-02-01T00:00:01Z, steps: [{ after: { allowed: true } }] }",
    );
    let [first, second] = [&suite.cases[0], &suite.cases[1]];
    let instants: Vec<Vec<u64>> =
        first.steps.iter().map(|step| step.instants().map(Span::as_micros).collect()).collect();
    assert_eq!(instants, [vec![1_000_000, 1_001_500, 1_003_000], vec![1_003_000], vec![3_600_000_000]]);
    assert_eq!(second.start.saturating_since(first.start), Span::from_secs(1));
    assert_eq!(second.steps[0].at, Span::ZERO);
}

/// Guards against files that bring the reader down or pass without saying anything.
#[test]
fn slips_are_refused_each_with_its_place() {
    let step =
        |step: &str| format!("tests: [{{ name: t, steps: [{{ {step}, expect: {{ allowed: true }} }}] }}]");
    let table = [
        ("tests: 7".to_owned(), "3:8: tests has to be a list"),
        (step("request: { path: otp }"), "cannot be sent; write it from its slash on"),
        (step("request: { path: \"/a b\" }"), "cannot be sent"),
        (step("request: { query: \"a#b\" }"), "write it percent-encoded, without the question mark"),
        (step("request: { client: localhost }"), "is not an IP address"),
        (step("request: { headers: { x-a: 1, X-A: 2 } }"), "quotes"),
        (step("request: { headers: { x-a: a, X-A: b } }"), "the field x-a is here twice"),
        (step("request: { headers: { \"x a\": a } }"), "is not the name of a header field"),
        (step("request: { json: { a: 012 } }"), "write \"012\" in quotes"),
        (step("request: { cost: 1073741825 }"), "the nearest possible is 1073741824"),
        (step("repeat: 0"), "the nearest possible is 1"),
        (step("every: 1s"), "`every` without `repeat`"),
        (step("at: 01us"), "is not a time"),
        (step("at: 40000d"), "this step ends after the year 2112"),
        (step("answer: 99"), "the nearest possible is 100"),
        (step("answer: { staus: 200 }"), "did you mean \"status\"?"),
        ("tests: [{ name: t, steps: [{ expect: { status: 200, staus: 1 } }] }]".to_owned(), "unknown key \"staus\" in expect"),
        ("tests: [{ name: t, steps: [{ after: { admitted: 1 } }] }]".to_owned(), "unknown key \"admitted\" in after"),
        (
            "tests: [{ name: t, steps: [{ expect: { allowed: true } }] }, { name: t, steps: [{ expect: { allowed: true } }] }]".to_owned(),
            "two tests are called \"t\", the first at 3:9",
        ),
    ];
    for (text, message) in table {
        let problems =
            Suite::parse("t.yaml", &format!("tidegate-test: 1\npolicy: p.yaml\n{text}\n")).unwrap_err();
        assert!(problems.to_string().contains(message), "{text}: {problems}");
    }
    for (text, message) in [
        ("", "t.yaml:1:1: the file is empty; begin it with `tidegate-test: 1`"),
        ("# nothing\n\n", "the file is empty"),
        ("tidegate-test: 2\n", "version 2 is not known"),
        ("policy: p.yaml\n", "the test file has no `tidegate-test`; write `tidegate-test: 1`"),
        ("- a\n", "the test file has to be a mapping"),
    ] {
        let problems = Suite::parse("t.yaml", text).unwrap_err();
        assert!(problems.to_string().contains(message), "{text}: {problems}");
    }
}

/// Guards calls against slips, which would play another call than is written, or expect something of nothing.
#[test]
fn slips_in_calls_are_refused_each_with_its_place() {
    let step = |members: &str, expect: &str| {
        format!("tests: [{{ name: t, steps: [{{ {members}, expect: {{ {expect} }} }}] }}]")
    };
    let call = "domain: shop, descriptors: [{ path: /a }, [[user, ada], [user, bob]]]";
    let allowed = "allowed: true";
    let table = [
        (step("domain: shop", allowed), "has no `descriptors`"),
        (step("descriptors: [{ path: /a }]", allowed), "has no `domain`"),
        (step("domain: shop, descriptors: []", allowed), "the call has no descriptor"),
        (step("domain: shop, descriptors: [{}]", allowed), "the descriptor has no entry"),
        (step("domain: shop, descriptors: [path]", allowed), "a descriptor has to be a mapping"),
        (step("domain: shop, descriptors: [[path]]", allowed), "an entry has to be a pair"),
        (step("domain: shop, descriptors: [[[path]]]", allowed), "an entry is a pair, and this has 1"),
        (step("domain: shop, descriptors: [{ n: 1 }]", allowed), "write \"1\" in quotes"),
        (
            step(&format!("{call}, hits: [1]"), allowed),
            "hits are not as many as descriptors, of which there are 2",
        ),
        (step(&format!("{call}, hits: [1, 2, 3]"), allowed), "write one number for all, or one for each"),
        (
            step(&format!("{call}, request: {{ path: /a }}"), allowed),
            "`request` is beside a call about descriptors",
        ),
        (step(&format!("{call}, answer: 200"), allowed), "`answer` is beside a call about descriptors"),
        (step(call, "descriptors: [ok]"), "1 descriptors are expected something of, and the call has 2"),
        (step(call, "descriptors: [ok, okay]"), "it is one of ok, over, unlimited, unmatched"),
        (step(call, "cost: { a/b: 1 }"), "`cost` is not told of a call about descriptors"),
        (step("peek: true", "descriptors: [ok]"), "`descriptors` is expected of a request"),
    ];
    for (text, message) in table {
        let problems =
            Suite::parse("t.yaml", &format!("tidegate-test: 1\npolicy: p.yaml\n{text}\n")).unwrap_err();
        assert!(problems.to_string().contains(message), "{text}: {problems}");
    }
}

/// Guards what a call is: keys that come twice keep their order, hits are for all or for each, and none is not zero.
#[test]
fn a_call_is_what_is_written() {
    let of = |hits: &str| {
        let text = format!(
            "tests: [{{ name: t, steps: [{{ domain: shop, descriptors: [{{ path: /a, user: \"\" }}, [[user, b], [user, a]]]{hits}, \
             expect: {{ allowed: true }} }}] }}]"
        );
        suite(&text).cases[0].steps[0].call.clone().unwrap()
    };
    let entries: Vec<_> = of("").descriptors.into_iter().map(|one| one.entries).collect();
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    assert_eq!(
        entries,
        [vec![pair("path", "/a"), pair("user", "")], vec![pair("user", "b"), pair("user", "a")]]
    );
    let hits = |text: &str| of(text).descriptors.iter().map(|one| one.hits).collect::<Vec<_>>();
    assert_eq!(hits(""), [None, None]);
    assert_eq!(hits(", hits: 3"), [Some(3), Some(3)]);
    assert_eq!(hits(", hits: [0, 2]"), [Some(0), Some(2)]);
}

/// Guards names against the policy: each kind, with the nearest there is.
#[test]
fn names_that_the_policy_does_not_have_are_refused() {
    let policy = parse_embedded(
        "p.yaml",
        "tidegate: 1\nrules:\n  - name: verify\n    match: { path: /** }\n    limits:\n      \
         - { name: all, says: One a minute per client., key: client_ip, sliding_log: { limit: 1, window: 1m } }\n",
    )
    .unwrap_or_else(|problems| panic!("{problems}"));
    let table = [
        ("matches: verfy", "no rule \"verfy\"; did you mean \"verify\"?"),
        ("limit: verify/al", "no limit \"verify/al\"; did you mean \"verify/all\"?"),
        ("remaining: { all: 1 }", "no limit \"all\"; there are verify/all"),
        ("skipped: [verify/all, nobody]", "no limit \"nobody\""),
        ("plan: { verify/all: free }", "no plan or override of verify/all \"free\"; there is none"),
        ("keys: { client: a }", "no key \"client\""),
    ];
    for (expect, message) in table {
        let suite = suite(&format!("tests: [{{ name: t, steps: [{{ expect: {{ {expect} }} }}] }}]"));
        let problems = suite.check_names(&policy).unwrap_err();
        assert!(problems.to_string().contains(message), "{expect}: {problems}");
        assert!(problems.to_string().starts_with("t.yaml:3:"), "{problems}");
    }
    let good = "matches: verify, limit: none, plan: { verify/all: none }, keys: { client_ip: ~ }";
    assert!(
        suite(&format!("tests: [{{ name: t, steps: [{{ expect: {{ {good} }} }}] }}]"))
            .check_names(&policy)
            .is_ok()
    );
}

/// Guards a call against a domain that no rule is for, which nothing would limit whatever the policy says.
#[test]
fn a_domain_that_the_policy_does_not_have_is_refused() {
    let policy = parse_embedded(
        "p.yaml",
        "tidegate: 1\nrules:\n  - name: all\n    match: { domain: shop }\n    limits:\n      \
         - { name: all, says: One a minute., key: global, sliding_log: { limit: 1, window: 1m } }\n",
    )
    .unwrap_or_else(|problems| panic!("{problems}"));
    let of = |domain: &str, limit: &str| {
        let text = format!(
            "tests: [{{ name: t, steps: [{{ domain: {domain}, descriptors: [{{ path: /a }}], \
             expect: {{ descriptors: [{{ limit: {limit} }}] }} }}] }}]"
        );
        suite(&text).check_names(&policy).map_err(|problems| problems.to_string())
    };
    assert_eq!(of("shop", "all/all"), Ok(()));
    assert!(of("shp", "all/all").unwrap_err().contains("no domain \"shp\"; did you mean \"shop\"?"));
    assert!(of("shop", "all/al").unwrap_err().contains("no limit \"all/al\""));
}

const EXAMPLE: &str = include_str!("../../../../examples/quillon.test.yaml");

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// Guards against a slip in a good file that brings the reader down, or is refused without a place in the file.
    #[test]
    fn a_damaged_file_is_accepted_or_refused_at_a_place(
        at in 0..EXAMPLE.len(),
        cut in 0..12_usize,
        put in "[\\[\\]{}:,&*!|>'\"%@`#\\-? \\t\\nNa0~é]{0,3}",
    ) {
        let floor = |at: usize| (0..=at.min(EXAMPLE.len())).rev().find(|at| EXAMPLE.is_char_boundary(*at)).unwrap();
        let text = format!("{}{put}{}", &EXAMPLE[..floor(at)], &EXAMPLE[floor(at + cut).max(floor(at))..]);
        if let Err(problems) = Suite::parse("t.yaml", &text) {
            let lines = u32::try_from(text.lines().count()).unwrap();
            for problem in problems.list() {
                proptest::prop_assert!((1..=lines + 1).contains(&problem.place.line), "{}", problems);
            }
        }
    }
}

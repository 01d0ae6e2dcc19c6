//! What a request costs and which terms it gets: costs, plans and overrides.

mod members;

use http::{HeaderMap, HeaderName, HeaderValue};
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use tidegate_algorithms::Timestamp;
use tidegate_policy::{Choice, Cost, Limit, Policy, Request, Whose, parse};

const HEAD: &str = "\
tidegate: 1
health: { listen: 8084 }
trusted_proxies: [10.0.0.0/8]
keys:
  api_key: { header: x-api-key, normalize: [trim, hash] }
  account: { json: /account, normalize: [trim, lowercase] }
  country: { header: x-country }
  client: { client_ip: { ipv4: 24, ipv6: 64 } }
  caller: { first_of: [api_key, account, client] }
costs:
  sms_cents: { by: country, default: 25, values: { \"FR\": 5, \"NO\": 7, GB: 4 } }
  batch: { items: /codes }
  whole: { items: \"\" }
  priced: { header: x-cost, from: trusted_proxies, default: 3 }
  search: 5
";

/// A policy of one limit that has these members beside its name.
fn with(members: &str) -> Policy {
    let text = format!(
        "{HEAD}rules:\n  - name: r\n    match: {{ path: /** }}\n    limits:\n      - name: l\n{}",
        members.lines().fold(String::new(), |text, line| format!("{text}        {line}\n"))
    );
    parse("test.yaml", &text).unwrap_or_else(|problems| panic!("{text}\n{problems}"))
}

/// The same with words, key and algorithm where the members are about something else.
fn plain(members: &str) -> Policy {
    with(&format!("says: Ten.\nkey: account\nsliding_log: {{ limit: 10000, window: 1m }}\n{members}"))
}

fn limit(policy: &Policy) -> &Limit {
    &policy.rules[0].limits[0]
}

/// What a request says.
#[derive(Clone, Copy)]
struct Said<'a> {
    headers: &'a [(&'static str, &'a str)],
    body: &'a str,
    peer: &'a str,
    now: Option<u64>,
}

const NOTHING: Said<'static> = Said { headers: &[], body: "", peer: "192.0.2.7", now: Some(0) };
const PROXY: Said<'static> = Said { peer: "10.0.0.1", ..NOTHING };

/// Asks the limit about a request.
fn ask<T>(policy: &Policy, said: Said<'_>, ask: impl FnOnce(&Limit, &tidegate_policy::Facts<'_>) -> T) -> T {
    let mut headers = HeaderMap::new();
    for (name, value) in said.headers {
        headers.append(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
    }
    let request = Request {
        method: "POST",
        host: None,
        path: "/a",
        query: None,
        headers: &headers,
        peer: Some(said.peer.parse().unwrap()),
        body: Some(said.body.as_bytes()),
    };
    let seen = match said.now {
        Some(seconds) => {
            let now = Timestamp::from_micros(seconds * 1_000_000).unwrap();
            policy.see_at(&request, None, now).unwrap()
        }
        None => policy.see(&request).unwrap(),
    };
    let matched = policy.matching(&seen).next().unwrap();
    ask(&matched.rule.limits[0], &matched.facts)
}

fn cost(policy: &Policy, said: Said<'_>) -> Result<u32, String> {
    ask(policy, said, |limit, facts| limit.cost.read(facts).map_err(|error| error.to_string()))
}

fn choose(policy: &Policy, said: Said<'_>) -> Result<Choice, String> {
    ask(policy, said, |limit, facts| limit.choose(facts).map_err(|error| error.to_string()))
}

/// The words of the terms a request gets, which tell them apart.
fn words(policy: &Policy, said: Said<'_>) -> String {
    let variant = choose(policy, said).unwrap().variant;
    let (_, terms) = limit(policy).variants().nth(variant).expect("the choice is one of the variants");
    terms.says.clone()
}

/// Guards a table of costs: values, the default for the rest and for a request without the key.
#[test]
fn a_table_costs_by_the_value_of_its_key() {
    let policy = plain("cost: sms_cents\nunit: cents");
    for (country, units) in [("FR", 5), ("NO", 7), ("GB", 4), ("DE", 25), ("fr", 25), ("", 25)] {
        let said = Said { headers: &[("x-country", country)], ..NOTHING };
        assert_eq!(cost(&policy, said), Ok(units), "{country}");
    }
    assert_eq!(cost(&policy, NOTHING), Ok(25));
    let twice = Said { headers: &[("x-country", "FR"), ("x-country", "NO")], ..NOTHING };
    assert_eq!(cost(&policy, twice), Err("country is there more than once".to_owned()));
    let Cost::Table(table) = &limit(&policy).cost else { panic!("{:?}", limit(&policy).cost) };
    assert_eq!((table.name(), table.by(), table.default_units()), ("sms_cents", "country", 25));
    assert_eq!(table.values().collect::<Vec<_>>(), [("FR", 5), ("NO", 7), ("GB", 4)]);
    assert_eq!((limit(&policy).cost.usual(), limit(&policy).cost.most()), (25, Some(25)));
}

/// Guards a cost in a header: a client that could name its own cost would name 0.
#[test]
fn a_header_costs_only_from_a_trusted_peer() {
    for policy in
        [plain("cost: { header: x-cost, from: trusted_proxies, default: 3 }"), plain("cost: priced")]
    {
        let costs =
            |headers: &[(&'static str, &str)], from: Said<'_>| cost(&policy, Said { headers, ..from });
        for (sent, units) in [("7", 7), ("0", 0), ("1073741824", 1 << 30), ("", 3)] {
            assert_eq!(costs(&[("x-cost", sent)], PROXY), Ok(units), "{sent}");
            assert_eq!(costs(&[("x-cost", sent)], NOTHING), Ok(3), "{sent} from anybody");
        }
        assert_eq!((costs(&[], PROXY), costs(&[], NOTHING)), (Ok(3), Ok(3)));
        for sent in ["-1", "+1", "1.5", "many", "0x10", "1073741825", "99999999999999999999"] {
            let refused = costs(&[("x-cost", sent)], PROXY).unwrap_err();
            assert!(refused.starts_with("header x-cost is "), "{sent}: {refused}");
            assert_eq!(costs(&[("x-cost", sent)], NOTHING), Ok(3), "{sent} from anybody");
        }
        assert!(costs(&[("x-cost", "1"), ("x-cost", "9")], PROXY).is_err(), "two of them");
        assert!(costs(&[("x-cost", "1"), ("x_cost", "9")], PROXY).is_err(), "two spellings");
    }
}

/// Guards batches: each guess of one request counts, however the list is hidden.
#[test]
fn the_items_of_a_list_cost_one_by_one() {
    let (batch, whole) = (plain("cost: batch"), plain("cost: whole"));
    for (body, units) in [
        ("", 1),
        ("{}", 1),
        (r#"{"codes": []}"#, 1),
        (r#"{"codes": ["1"]}"#, 1),
        (r#"{"codes": ["1", 2, null, {}, []]}"#, 5),
        (r#"{"codes": "123456"}"#, 1),
        (r#"{"codes": {"a": 1, "b": 2}}"#, 1),
        (r#"{"codes": null}"#, 1),
        (r#"{"codes": 1.5}"#, 1),
        (r#"{"other": [1, 2, 3]}"#, 1),
        ("[1, 2, 3]", 1),
    ] {
        assert_eq!(cost(&batch, Said { body, ..NOTHING }), Ok(units), "{body}");
    }
    assert_eq!(cost(&whole, Said { body: "[1, [2, 3], 4]", ..NOTHING }), Ok(3));
    assert_eq!(cost(&whole, Said { body: "{\"a\": [1, 2]}", ..NOTHING }), Ok(1));
    for body in [
        r#"{"codes": ["1"], "codes": ["1", "2"]}"#,
        r#"{"codes": ["1"], "Codes": ["1", "2"]}"#,
        r#"{"codes": ["1", "2"#,
        "codes=1&codes=2",
    ] {
        let refused = cost(&batch, Said { body, ..NOTHING }).unwrap_err();
        assert!(refused.starts_with("items of /codes "), "{body}: {refused}");
    }
    let form = Said {
        headers: &[("content-type", "application/x-www-form-urlencoded")],
        body: "codes=1&codes=2",
        ..NOTHING
    };
    assert!(cost(&batch, form).is_err(), "a batch in another kind of body would cost one");
}

/// Guards against a body that is not read although a cost, a plan or a key needs it, and against holding one for nothing.
#[test]
fn a_body_is_read_when_anything_of_a_limit_needs_it() {
    let global = "says: Ten.\nkey: global\nsliding_log: { limit: 100, window: 1m }\n";
    let plans = "plans: { free: { says: Ten., sliding_log: { limit: 10, window: 1m } } }";
    for (members, needs) in [
        (global.to_owned(), false),
        (format!("{global}cost: search"), false),
        (format!("{global}cost: sms_cents"), false),
        (format!("{global}cost: priced"), false),
        (format!("{global}cost: batch"), true),
        (
            format!("key: global\nplan: {{ by: api_key, values: {{ k: free }}, default: free }}\n{plans}"),
            false,
        ),
        (
            format!("key: global\nplan: {{ by: account, values: {{ k: free }}, default: free }}\n{plans}"),
            true,
        ),
        (
            format!("key: global\nplan: {{ header: x-plan, from: trusted_proxies, default: free }}\n{plans}"),
            false,
        ),
        (
            format!(
                "key: account\nplan: {{ header: x-plan, from: trusted_proxies, default: free }}\n{plans}"
            ),
            true,
        ),
    ] {
        assert_eq!(limit(&with(&members)).needs_body(), needs, "{members}");
    }
    let by_account = plain("").rules[0].limits[0].needs_body();
    assert!(by_account);
}

const PLANS: &str = "
key: caller
PLAN
plans:
  free: { says: free, sliding_log: { limit: 10, window: 1m } }
  premium: { says: premium, note: Sold in 2026., token_bucket: { capacity: 100, refill: 10 per 1s } }
";

/// Guards plans against being chosen by whoever pays least for it.
#[test]
fn a_plan_in_a_header_is_believed_of_trusted_peers_only() {
    let policy =
        with(&PLANS.replace("PLAN", "plan: { header: x-plan, from: trusted_proxies, default: free }"));
    let plan = |headers: &[(&'static str, &str)], from: Said<'_>| choose(&policy, Said { headers, ..from });
    let (free, premium) = (
        Choice { variant: 0, unknown_plan: false, off: false },
        Choice { variant: 1, unknown_plan: false, off: false },
    );
    assert_eq!(plan(&[("x-plan", "premium")], PROXY), Ok(premium));
    assert_eq!(plan(&[("x-plan", "premium")], NOTHING), Ok(free));
    assert_eq!(plan(&[("x-plan", "free")], PROXY), Ok(free));
    assert_eq!((plan(&[], PROXY), plan(&[("x-plan", "")], PROXY)), (Ok(free), Ok(free)));
    for unknown in ["Premium", "gold", "premium,free"] {
        assert_eq!(
            plan(&[("x-plan", unknown)], PROXY),
            Ok(Choice { unknown_plan: true, ..free }),
            "{unknown}"
        );
        assert_eq!(plan(&[("x-plan", unknown)], NOTHING), Ok(free), "{unknown} from anybody");
    }
    assert!(plan(&[("x-plan", "free"), ("x-plan", "premium")], PROXY).is_err());
    let limit = limit(&policy);
    assert_eq!((limit.terms.says.as_str(), limit.plans.as_ref().unwrap().by()), ("free", "header x-plan"));
    let whose: Vec<Whose<'_>> = limit.variants().map(|(whose, _)| whose).collect();
    assert_eq!(whose, [Whose::Plan("free"), Whose::Plan("premium")]);
}

/// Guards plans by key: by its value, and by its digest, so that no key has to stand in the file.
#[test]
fn a_plan_is_told_by_a_table_of_keys() {
    let digest = hex(Sha256::digest(b"k-82").as_slice());
    let policy = with(&PLANS.replace(
        "PLAN",
        &format!("plan: {{ by: api_key, values: {{ k-81: premium, \"sha256:{digest}\": premium }}, default: free }}"),
    ));
    for (key, plan) in
        [("k-81", "premium"), (" k-81 ", "premium"), ("k-82", "premium"), ("k-83", "free"), ("", "free")]
    {
        assert_eq!(words(&policy, Said { headers: &[("x-api-key", key)], ..NOTHING }), plan, "{key}");
    }
    assert_eq!(words(&policy, NOTHING), "free");
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

fn overriding(value: &str, more: &str) -> String {
    format!(
        "says: base\nkey: caller\nsliding_log: {{ limit: 10, window: 1m }}\noverrides:\n  \
         - {{ value: {value}, because: contract 81, says: override, sliding_log: {{ limit: 20, window: 1m }}{more} }}"
    )
}

/// Guards overrides: for one value in every spelling of it, under any of the key's alternatives, and for no other.
#[test]
fn an_override_is_for_one_value_of_the_key() {
    let keyed =
        |policy: &Policy, value: &str| words(policy, Said { headers: &[("x-api-key", value)], ..NOTHING });
    let account = Said { body: r#"{"account": " ALICE "}"#, ..NOTHING };
    let policy = with(&overriding("Alice", ""));
    assert_eq!(words(&policy, account), "override");
    assert_eq!(keyed(&policy, "Alice"), "override", "as the key writes it");
    assert_eq!(keyed(&policy, "bob"), "base");
    assert_eq!(words(&policy, NOTHING), "base");

    let network = with(&overriding("192.0.2.99", ""));
    assert_eq!(words(&network, NOTHING), "override", "the key counts on networks");
    assert_eq!(words(&network, Said { peer: "192.0.3.7", ..NOTHING }), "base");
    assert_eq!(keyed(&network, "192.0.2.0/24"), "base", "a text is no address");
    assert_eq!(keyed(&network, "192.0.2.99"), "base", "a text is no address");
    let digest = "\"sha256:319afb56e0bd9f2756fe2a551a4b53458620c15949d13ab9c574c7736eafad10\"";
    assert_eq!(keyed(&with(&overriding(digest, "")), "tide-key-of-contract-81"), "override");
}

/// Guards the order of an override and a plan, and the index that the runtime looks terms up by.
#[test]
fn an_override_goes_before_a_plan() {
    let members = PLANS.replace("PLAN", "plan: { header: x-plan, from: trusted_proxies, default: free }");
    let policy = with(&format!(
        "{members}overrides:\n  \
         - {{ value: a, because: one, says: first, sliding_log: {{ limit: 1, window: 1m }} }}\n  \
         - {{ value: b, until: 1970-01-02, because: two, says: second, sliding_log: {{ limit: 2, window: 1m }} }}\n"
    ));
    let asked = |key: &str, now: u64| {
        words(
            &policy,
            Said { headers: &[("x-api-key", key), ("x-plan", "premium")], now: Some(now), ..PROXY },
        )
    };
    assert_eq!(
        (asked("a", 0), asked("b", 0), asked("c", 0)),
        ("first".into(), "second".into(), "premium".into())
    );
    assert_eq!(asked("b", 2 * 86_400), "premium", "what is over gives way to the plan");
    let whose: Vec<Whose<'_>> = limit(&policy).variants().map(|(whose, _)| whose).collect();
    assert_eq!(whose, [Whose::Plan("free"), Whose::Plan("premium"), Whose::Key("a"), Whose::Key("b")]);
    assert_eq!(limit(&policy).overrides[1].because, "two");
}

/// Guards the last day of an override: it holds to its end in UTC, and not where nobody knows the time.
#[test]
fn an_override_ends_with_its_day() {
    let policy = with(&overriding("alice", ", until: 2027-03-31"));
    let at = |now: Option<u64>| words(&policy, Said { body: r#"{"account": "alice"}"#, now, ..NOTHING });
    let midnight = 1_806_537_600; // 2027-04-01
    assert_eq!(at(Some(midnight - 1)), "override");
    assert_eq!((at(Some(midnight)), at(None)), ("base".to_owned(), "base".to_owned()));
    let open = with(&overriding("alice", ""));
    assert_eq!(words(&open, Said { body: r#"{"account": "alice"}"#, now: None, ..NOTHING }), "override");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Guards a file that keeps keys out of it: a digest stands for exactly the value it is of.
    #[test]
    fn an_override_by_digest_is_one_by_value(value in "[a-dA-D0-9@. é]{1,6}", asked in "[a-dA-D0-9@. é]{0,6}") {
        let account = value.trim().to_lowercase();
        prop_assume!(!account.is_empty());
        let by_value = with(&overriding(&format!("\"{value}\""), ""));
        let digest = hex(Sha256::digest(account.as_bytes()).as_slice());
        let by_digest = with(&overriding(&format!("\"sha256:{digest}\""), ""));
        for text in [&value, &account, &asked] {
            let body = format!("{{\"account\": \"{text}\"}}");
            let said = Said { body: &body, ..NOTHING };
            prop_assert_eq!(choose(&by_value, said), choose(&by_digest, said));
            let same = text.trim().to_lowercase() == account;
            prop_assert_eq!(words(&by_value, said) == "override", same);
        }
    }

    /// Guards against a request that brings the choice down, or gets terms that are not there.
    #[test]
    fn any_request_gets_terms_that_are_there(
        plan in "[a-z,%é ]{0,8}",
        price in "[-+0-9a.]{0,12}",
        key in "[a-c ]{0,4}",
        body in "[\\[\\]{}\",:a-c0-9.]{0,40}",
        trusted in any::<bool>(),
    ) {
        let members = PLANS.replace("PLAN", "plan: { header: x-plan, from: trusted_proxies, default: free }");
        let policy = with(&format!(
            "{members}cost: priced\noverrides:\n  - {{ value: a, because: one, says: o, sliding_log: {{ limit: 9, window: 1m }} }}"
        ));
        let headers = [("x-plan", plan.as_str()), ("x-cost", price.as_str()), ("x-api-key", key.as_str())];
        let headers: Vec<(&'static str, &str)> =
            headers.into_iter().filter(|(_, value)| HeaderValue::from_str(value).is_ok()).collect();
        let from = if trusted { PROXY } else { NOTHING };
        let said = Said { headers: &headers, body: &body, ..from };
        if let Ok(choice) = choose(&policy, said) {
            prop_assert!(choice.variant < limit(&policy).variants().count());
        }
        if let Ok(units) = cost(&policy, said) {
            prop_assert!(units <= 1 << 30);
        }
        let batch = plain("cost: batch");
        prop_assert!(cost(&batch, said).is_ok_and(|units| units >= 1) || cost(&batch, said).is_err());
    }
}

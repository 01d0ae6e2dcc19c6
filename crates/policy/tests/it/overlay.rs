//! Exceptions that an operator lays over a policy at run time.

use std::net::IpAddr;

use http::HeaderMap;
use tidegate_algorithms::Timestamp;
use tidegate_policy::overlay::{Became, Overlay, Set, SetMode, Unfit, numbers, overlaid};
use tidegate_policy::{
    Choice, Diff, Identities, Limit, Mode, Policy, ReadyKeys, Request, Strictness, Whose, parse_embedded,
    words,
};

const FILE: &str = r#"
tidegate: 1
keys:
  account: { header: x-account, normalize: [lowercase] }
  tier: { header: x-tier }
rules:
  - name: verify
    match: { path: /verify }
    limits:
      - name: per-account
        says: 4 at once, then 1 every 10 seconds, per account.
        key: account
        token_bucket: { capacity: 4, refill: 1 per 10s }
        overrides: [ { value: vip, because: contract, says: "9 in any minute, per account.", sliding_log: { limit: 9, window: 1m } } ]
      - name: pair
        says: Up to 9 a minute, per account and route.
        key: [account, route]
        sliding_counter: { limit: 9, window: 1m }
      - name: everyone
        says: Up to 9 a minute, for everyone.
        key: global
        cost: 3
        sliding_counter: { limit: 9, window: 1m }
      - name: sold
        key: account
        plan: { by: tier, values: { gold: gold }, default: free }
        plans:
          free: { says: "2 in any minute, per account.", sliding_log: { limit: 2, window: 1m } }
          gold: { says: "3 at once, then 1 a minute, per account.", token_bucket: { capacity: 3, refill: 1 per 1m } }
"#;

fn policy() -> Policy {
    parse_embedded("p.yaml", FILE).unwrap_or_else(|wrong| panic!("{wrong}"))
}

fn identities() -> Identities {
    Identities::with_secret(&[7; 32])
}

fn limit<'p>(policy: &'p Policy, name: &str) -> &'p Limit {
    policy.limits().find(|limit| limit.name == name).unwrap()
}

/// Returns the name outside of a key that is given ready-made.
fn named(policy: &Policy, name: &str, keys: &[(&str, &str)]) -> String {
    let ready: ReadyKeys =
        keys.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let (mut key, limit) = (Vec::new(), limit(policy, name));
    limit.key.read_ready(&ready, &mut key).unwrap();
    identities().identity(limit.storage_name(), &key)
}

fn over(limit: &str, key: Option<String>, set: Set) -> Overlay {
    let until = Timestamp::saturating_from_micros(1 << 51);
    Overlay { limit: limit.to_owned(), key, set, because: "the night".to_owned(), until }
}

fn number(number: u64) -> Set {
    Set::Number(number)
}

fn mode(mode: SetMode) -> Set {
    Set::Mode(mode)
}

fn lay(overlays: &[Overlay]) -> (Policy, Vec<Result<Vec<Became>, Unfit>>) {
    overlaid(&policy(), overlays, Some(&identities()))
}

fn one(overlay: Overlay) -> (Policy, Vec<Became>) {
    let (policy, mut became) = lay(&[overlay]);
    (policy, became.remove(0).unwrap_or_else(|unfit| panic!("{unfit}")))
}

fn unfit(overlay: Overlay) -> String {
    let (after, mut became) = lay(&[overlay]);
    assert!(Diff::between(&policy(), &after).is_empty(), "what does not fit changes nothing");
    became.remove(0).unwrap_err().to_string()
}

/// Chooses a limit's terms for an account and a tier.
fn choose(policy: &Policy, name: &str, account: &str, tier: &str) -> Choice {
    let mut headers = HeaderMap::new();
    headers.insert("x-account", account.parse().unwrap());
    headers.insert("x-tier", tier.parse().unwrap());
    let request = Request {
        method: "GET",
        host: None,
        path: "/verify",
        query: None,
        headers: &headers,
        peer: Some(IpAddr::from([127, 0, 0, 1])),
        body: None,
    };
    let seen = policy.see(&request).unwrap();
    let matched = policy.matching(&seen).next().unwrap();
    limit(policy, name).choose(&matched.facts).unwrap()
}

/// Returns what holds for an account: its numbers and whether refusals are carried out; nothing where the limit is off.
fn holds(policy: &Policy, name: &str, account: &str, tier: &str) -> Option<(String, Mode)> {
    let choice = choose(policy, name, account, tier);
    let limit = limit(policy, name);
    let (_, terms) = limit.variants().nth(choice.variant).unwrap();
    (!choice.off).then(|| (numbers(&terms.quota), limit.mode_of(choice.variant)))
}

#[expect(clippy::unnecessary_wraps, reason = "as `holds` gives it")]
fn enforced(numbers: &str) -> Option<(String, Mode)> {
    Some((numbers.to_owned(), Mode::Enforce))
}

#[expect(clippy::unnecessary_wraps, reason = "as `holds` gives it")]
fn shadow(numbers: &str) -> Option<(String, Mode)> {
    Some((numbers.to_owned(), Mode::Shadow))
}

/// The sentence that clients are told has to say the numbers that hold, and no other.
#[test]
fn the_words_of_an_exception_say_its_numbers() {
    let terms = Set::Terms("token_bucket: { capacity: 2, refill: 1 per 20s }".to_owned());
    for (set, says, numbers) in [
        (
            number(8),
            "8 requests at once, then 1 every 5 seconds, per account.",
            "token_bucket: capacity 8, refill 1 per 5s",
        ),
        (
            terms,
            "2 requests at once, then 1 every 20 seconds, per account.",
            "token_bucket: capacity 2, refill 1 per 20s",
        ),
        // Not in the language of files, which have a rule's `refuse` for it.
        (mode(SetMode::Refuse), "Refuses everything, per account.", "sliding_log: limit 0, window 1s"),
        (
            mode(SetMode::Shadow),
            "4 at once, then 1 every 10 seconds, per account.",
            "token_bucket: capacity 4, refill 1 per 10s",
        ),
    ] {
        let refuses = set == mode(SetMode::Refuse);
        let (policy, became) = one(over("verify/per-account", None, set));
        assert_eq!(became.len(), 1);
        assert_eq!((became[0].says.as_str(), became[0].numbers.as_str()), (says, numbers));
        if refuses {
            continue;
        }
        let limit = limit(&policy, "verify/per-account");
        let read = words::read(&limit.terms.says, &limit.meaning(&limit.terms));
        assert!(matches!(&read, words::Reading::Agrees { .. }), "{says}: {read:?}");
    }
}

/// Guards against an exception for everybody that takes a customer's contract away, and against an emergency stop that
/// customers with a contract get past.
#[test]
fn terms_for_everybody_leave_the_keys_of_the_file_and_a_mode_does_not() {
    let limit = "verify/per-account";
    let (policy, _) = one(over(limit, None, number(8)));
    assert_eq!(holds(&policy, limit, "ada", ""), enforced("capacity 8, refill 1 per 5s"));
    assert_eq!(holds(&policy, limit, "vip", ""), enforced("limit 9, window 1m"));
    let (policy, _) = one(over(limit, None, mode(SetMode::Refuse)));
    assert_eq!(holds(&policy, limit, "ada", ""), enforced("limit 0, window 1s"));
    assert_eq!(holds(&policy, limit, "vip", ""), enforced("limit 0, window 1m"));
    let (policy, _) = one(over(limit, None, mode(SetMode::Shadow)));
    assert_eq!(holds(&policy, limit, "vip", ""), shadow("limit 9, window 1m"));
    let (policy, _) = one(over(limit, None, mode(SetMode::Off)));
    assert_eq!(holds(&policy, limit, "vip", ""), None);
}

/// An exception for one key holds for that key alone, whatever its spelling, and goes before all else.
#[test]
fn an_exception_for_a_key_goes_before_that_for_everybody() {
    let name = "verify/per-account";
    let key = |account| Some(named(&policy(), name, &[("account", account)]));
    for (set, expected) in [
        (number(8), enforced("capacity 8, refill 1 per 5s")),
        (mode(SetMode::Off), None),
        (mode(SetMode::Shadow), shadow("capacity 4, refill 1 per 10s")),
        (mode(SetMode::Refuse), enforced("limit 0, window 1s")),
    ] {
        for order in [[0, 1], [1, 0]] {
            let both = [over(name, key("ADA"), set.clone()), over(name, None, mode(SetMode::Off))];
            let (policy, became) = lay(&order.map(|index| both[index].clone()));
            assert!(became.iter().all(Result::is_ok), "{became:?}");
            assert_eq!(holds(&policy, name, "Ada", ""), expected, "{set}");
            assert_eq!(holds(&policy, name, "adam", ""), None, "{set}");
        }
        let (policy, _) = one(over(name, key("vip"), set.clone()));
        assert_eq!(holds(&policy, name, "vip", ""), expected, "{set}");
        assert_eq!(holds(&policy, name, "ada", ""), enforced("capacity 4, refill 1 per 10s"));
    }
}

/// Keys of several parts are told as those of one.
#[test]
fn a_key_of_two_parts_has_its_exception() {
    let name = "verify/pair";
    let key = named(&policy(), name, &[("account", "ada"), ("route", "/verify")]);
    let (policy, _) = one(over(name, Some(key.clone()), number(1)));
    assert_eq!(holds(&policy, name, "ada", ""), enforced("limit 1, window 1m"));
    assert_eq!(holds(&policy, name, "bob", ""), enforced("limit 9, window 1m"));
    let shown =
        limit(&policy, name).variants().last().and_then(|(whose, _)| Some(whose.shown()?.into_owned()));
    assert_eq!(shown, Some(key.clone()), "the name outside, and no digest of it");
    let whose = limit(&policy, name).variants().last().map(|(whose, _)| whose);
    assert_eq!(whose, Some(Whose::Key(&key)));
}

/// A key in shadow stays on its plan, and a limit with plans is changed in all of them or not at all.
#[test]
fn a_limit_with_plans_is_changed_in_all_of_them() {
    let name = "verify/sold";
    let terms = Set::Terms("sliding_log: { limit: 5, window: 1m }".to_owned());
    let (policy, became) = one(over(name, None, terms));
    let plans: Vec<_> = became.iter().map(|one| one.plan.as_deref().unwrap()).collect();
    assert_eq!(plans, ["free", "gold"]);
    for tier in ["free", "gold"] {
        assert_eq!(holds(&policy, name, "ada", tier), enforced("limit 5, window 1m"));
    }
    let key = named(&policy, name, &[("account", "ada")]);
    let (policy, became) = one(over(name, Some(key), mode(SetMode::Shadow)));
    assert_eq!(became.len(), 2);
    assert_eq!(holds(&policy, name, "ada", "gold"), shadow("capacity 3, refill 1 per 1m"));
    assert_eq!(holds(&policy, name, "ada", ""), shadow("limit 2, window 1m"));
    assert_eq!(holds(&policy, name, "bob", "gold"), enforced("capacity 3, refill 1 per 1m"));
    assert!(unfit(over(name, None, number(5))).contains("which hold for all plans"));
}

/// Whatever a file would be refused for is refused here, with the remedy.
#[test]
fn what_cannot_be_is_refused_and_says_what_can() {
    for (limit, set, told) in [
        ("verify/per-acount", number(5), "did you mean \"verify/per-account\"?"),
        ("x\u{1b}", number(5), "no limit is called \"x\\u{1b}\"; there are verify/per-account, verify/pair"),
        ("verify/per-account", number(0), "`refuse` as the mode"),
        ("verify/pair", number(u64::MAX), "the nearest possible is 1073741824"),
        ("verify/everyone", number(2), "a request costs 3, and these terms never admit more than 2 at once"),
        ("verify/pair", Set::Terms("leaky_bucket: { rate: 1 per 1s, queue: 9 }".to_owned()), "is no queue"),
        ("verify/pair", Set::Terms("sliding_log: { limit: 5 }".to_owned()), "terms:1:"),
        ("verify/pair", Set::Terms(String::new()), "there is no limit"),
    ] {
        let why = unfit(over(limit, None, set));
        assert!(why.contains(told), "{why}");
    }
    let key = || Some(named(&policy(), "verify/pair", &[("account", "ada"), ("route", "/verify")]));
    assert!(unfit(over("verify/everyone", key(), number(9))).contains("has no such key"));
    assert!(unfit(over("verify/pair", Some("ada".to_owned()), number(9))).contains("has no such key"));
}

/// The plans before the one that it does not fit would have terms that nobody was told of.
#[test]
fn terms_that_fit_one_plan_alone_change_none() {
    let file = r#"
tidegate: 1
keys: { account: { header: x-account }, tier: { header: x-tier } }
rules:
  - name: r
    match: { path: /r }
    limits:
      - name: sold
        key: account
        plan: { by: tier, values: { gold: gold }, default: free }
        plans:
          free: { says: "One at a time, 1 a second, up to 2 waiting, per account.", leaky_bucket: { rate: 1 per 1s, queue: 2 } }
          gold: { says: "3 at once, then 1 a minute, per account.", token_bucket: { capacity: 3, refill: 1 per 1m } }
"#;
    let before = parse_embedded("p.yaml", file).unwrap_or_else(|wrong| panic!("{wrong}"));
    let terms = Set::Terms("leaky_bucket: { rate: 5 per 1s, queue: 9 }".to_owned());
    let (after, became) = overlaid(&before, &[over("r/sold", None, terms)], None);
    assert!(became[0].as_ref().unwrap_err().to_string().contains("no queue"), "{became:?}");
    assert!(Diff::between(&before, &after).is_empty());
}

/// One that fits nothing keeps no other from being in force.
#[test]
fn an_exception_that_does_not_fit_leaves_the_others() {
    let (policy, became) = lay(&[over("gone/gone", None, number(1)), over("verify/pair", None, number(1))]);
    assert!(became[0].as_ref().is_err_and(|unfit| unfit.is_unknown_limit) && became[1].is_ok());
    assert_eq!(holds(&policy, "verify/pair", "ada", ""), enforced("limit 1, window 1m"));
    assert_eq!(limit(&policy, "verify/pair").overlays.list().len(), 1);
}

/// Guards against a key that is shown what holds for another: of all the terms that a limit has, those that a key meets.
#[test]
fn what_holds_for_a_key_is_its_own() {
    let stands = |overlays: &[Overlay], name: &str, keys: &[(&str, &str)]| {
        let policy = lay(overlays).0;
        let limit = limit(&policy, name);
        let ready: ReadyKeys =
            keys.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let standing = limit.standing(&ready, None).unwrap();
        let terms: Vec<_> = limit.variants().map(|(_, terms)| terms.numbers.clone()).collect();
        let exception = standing.exception.map(|one| (one.set.to_string(), one.key.is_some()));
        (terms[standing.variants].to_vec(), exception)
    };
    let (own, vip, refused) = ("capacity 4, refill 1 per 10s", "limit 9, window 1m", "limit 0, window 1s");
    let name = "verify/per-account";
    let (ada, mallory, of_file) = ([("account", "ada")], [("account", "Mallory")], [("account", "vip")]);
    let none = (vec![own.to_owned()], None);
    assert_eq!(stands(&[], name, &ada), none, "terms of the file for another key");
    assert_eq!(stands(&[], name, &of_file), (vec![vip.to_owned()], None));
    let key = Some(named(&policy(), name, &[("account", "mallory")]));
    let refuse = over(name, key.clone(), mode(SetMode::Refuse));
    let by_key = |set: &str| Some((set.to_owned(), true));
    assert_eq!(stands(std::slice::from_ref(&refuse), name, &ada), none);
    assert_eq!(
        stands(std::slice::from_ref(&refuse), name, &mallory),
        (vec![refused.to_owned()], by_key("mode refuse"))
    );
    let off = over(name, None, mode(SetMode::Off));
    let for_all = |set: &str| Some((set.to_owned(), false));
    assert_eq!(stands(&[off.clone(), refuse.clone()], name, &ada), (Vec::new(), for_all("mode off")));
    assert_eq!(stands(&[off, refuse], name, &mallory).1, by_key("mode refuse"));
    assert_eq!(
        stands(&[over(name, key, mode(SetMode::Off))], name, &mallory),
        (Vec::new(), by_key("mode off"))
    );
    let two = over(name, None, number(2));
    assert_eq!(stands(std::slice::from_ref(&two), name, &ada).1, for_all("limit 2"));
    assert_eq!(stands(&[two], name, &of_file), (vec![vip.to_owned()], None), "it is for everybody else");
    let plans = stands(&[], "verify/sold", &ada).0;
    assert_eq!(plans, ["limit 2, window 1m", "capacity 3, refill 1 per 1m"]);
}

/// Guards against a limit that is loosened by a slip, and nobody is told.
#[test]
fn an_exception_says_whether_it_is_looser() {
    let name = "verify/per-account";
    for (set, strictness, at_once) in [
        (number(40), Strictness::Looser, (4, 40)),
        (number(2), Strictness::Tighter, (4, 2)),
        (number(4), Strictness::Same, (4, 4)),
        (Set::Terms("sliding_log: { limit: 5, window: 1h }".to_owned()), Strictness::Mixed, (4, 5)),
        (mode(SetMode::Shadow), Strictness::Looser, (4, 4)),
        (mode(SetMode::Refuse), Strictness::Tighter, (4, 0)),
    ] {
        let key = named(&policy(), name, &[("account", "ada")]);
        for key in [None, Some(key)] {
            let became = one(over(name, key, set.clone())).1;
            assert_eq!((became[0].strictness, became[0].at_once), (strictness, at_once), "{set}");
            assert_eq!(became[0].was, "token_bucket: capacity 4, refill 1 per 10s");
        }
    }
}

/// At three in the morning the name at hand is the one that Envoy writes into headers.
#[test]
fn a_limit_is_found_by_the_name_that_envoy_is_told() {
    let file = r#"
tidegate: 1
rules:
  - name: shop.path_search-any
    match: { domain: shop, descriptor: [path] }
    envoy: { label: search }
    limits:
      - { name: limit, says: "Up to 5 a minute, for everyone together.", key: global, sliding_log: { limit: 5, window: 1m } }
"#;
    let policy = parse_embedded("p.yaml", file).unwrap_or_else(|wrong| panic!("{wrong}"));
    for name in ["search", "search/limit"] {
        let (_, became) = overlaid(&policy, &[over(name, None, number(5))], None);
        let why = became[0].as_ref().unwrap_err().to_string();
        assert!(why.ends_with("which is what Envoy is told; here it is shop.path_search-any/limit"), "{why}");
    }
}

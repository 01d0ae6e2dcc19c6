//! What else a limit says: what a success is, its other members, algorithms of the calendar, and a team's own costs.

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tidegate_algorithms::{Calendar, Quota, Span};
use tidegate_policy::{Cost, Count, OnMissingKey, OnSuccess, Reading, Surroundings};

use super::{HEAD, limit, plain, with};

/// Guards what a success is: every condition that is said has to hold.
#[test]
fn success_is_what_the_file_says_it_is() {
    let success = |count: &str| {
        let policy = plain(&format!("count: {count}"));
        let Count::Failures { success, on_success } = limit(&policy).count.clone() else { panic!("{count}") };
        (success, on_success)
    };
    let covers = |count: &str, status: u16, outcome: Option<&'static str>| {
        let mut headers = HeaderMap::new();
        headers.extend(
            outcome.map(|value| (HeaderName::from_static("x-outcome"), HeaderValue::from_static(value))),
        );
        success(count).0.covers(StatusCode::from_u16(status).unwrap(), &headers)
    };
    let list = "{ failures: true, success: { status: [200, 3xx, 204-206] } }";
    let good: Vec<u16> = (100..600).filter(|status| covers(list, *status, None)).collect();
    let expected: Vec<u16> = [200, 204, 205, 206].into_iter().chain(300..400).collect();
    assert_eq!(good, expected);
    let both = "{ failures: true, success: { status: 200, header: { name: X-Outcome, value: ok } } }";
    assert!(covers(both, 200, Some("ok")));
    assert!(!covers(both, 200, Some("no")) && !covers(both, 200, None) && !covers(both, 500, Some("ok")));
    // A field that was sent twice and says two things must not hide a failure.
    let twice = HeaderMap::from_iter(
        ["ok", "no"].map(|value| (HeaderName::from_static("x-outcome"), HeaderValue::from_static(value))),
    );
    assert!(!success(both).0.covers(StatusCode::OK, &twice));
    let any = "{ failures: true, success: { header: { name: x-outcome } } }";
    assert!(covers(any, 500, Some("whatever")) && !covers(any, 200, None));
    assert_eq!(success(list).1, OnSuccess::Refund);
    assert_eq!(
        success("{ failures: true, success: { status: 200 }, on_success: reset }").1,
        OnSuccess::Reset
    );
    assert_eq!(limit(&plain("")).count, Count::Every);
}

/// Guards the rest of a limit's members against being read as others.
#[test]
fn what_else_a_limit_says_is_meant() {
    let policy = plain("alert_at: 80%\non_missing_key: shared\nwas: [b, other/c]\nunit: cents\ncost: search");
    let limit = limit(&policy);
    assert_eq!(
        (limit.alert_at, limit.on_missing_key, limit.unit.as_deref()),
        (Some(80), Some(OnMissingKey::Shared), Some("cents"))
    );
    assert_eq!(limit.was, ["r/b", "other/c"]);
    assert_eq!((limit.storage_name(), limit.name.as_str()), ("other/c", "r/l"));
    assert_eq!(limit.cost, Cost::Units(5));
    let silent = plain("");
    let silent = &silent.rules[0].limits[0];
    assert_eq!((silent.alert_at, silent.on_missing_key, silent.storage_name()), (None, None, "r/l"));
    for (cost, shown) in [
        ("search", "5"),
        ("sms_cents", "sms_cents"),
        ("batch", "the items of /codes"),
        ("whole", "the items of the body"),
        ("priced", "header x-cost"),
    ] {
        assert_eq!(plain(&format!("cost: {cost}")).rules[0].limits[0].cost.to_string(), shown);
    }
}

/// Guards windows of the calendar and lockouts against being built from other numbers than those that are written.
#[test]
fn a_calendar_window_and_a_lockout_are_what_they_say() {
    let quota = |algorithm: &str| {
        let policy = with(&format!("says: Ten.\nkey: global\n{algorithm}"));
        limit(&policy).terms.quota
    };
    for (word, calendar) in [("day", Calendar::Day), ("week", Calendar::Week), ("month", Calendar::Month)] {
        let written = quota(&format!("fixed_window: {{ limit: 7, anchor: calendar, window: {word} }}"));
        assert_eq!(written, Quota::calendar_window(7, calendar).unwrap(), "{word}");
    }
    let lockout = Quota::lockout(10, Span::from_secs(1_800), Span::from_secs(3_600)).unwrap();
    assert_eq!(quota("lockout: { attempts: 10, within: 30m, lock: 1h }"), lockout);
}

/// One team's file beside the policy.
struct Team(&'static str);

impl Surroundings for Team {
    fn file(&self, _path: &str) -> Result<Vec<u8>, String> {
        Ok(self.0.as_bytes().to_vec())
    }

    fn variable(&self, _name: &str) -> Option<String> {
        None
    }
}

/// Guards a team's file: it knows the costs of the policy and its own, and changes none of the others' meaning.
#[test]
fn a_team_has_the_costs_of_the_policy_and_its_own() {
    let outer = format!("{HEAD}include: {{ web: web.yaml }}\n");
    let rules = |cost: &str| {
        format!(
            "rules:\n  - name: r\n    match: {{ path: /** }}\n    limits:\n      - {{ name: l, says: Ten., key: global, \
             cost: {cost}, was: [a, old/b, /core/c], sliding_log: {{ limit: 99, window: 1m }} }}\n"
        )
    };
    let read = |file: String| Reading::of(&Team(file.leak())).parse("policy.yaml", &outer);
    for (own, cost, units) in [("", "search", 5), ("costs: { export: 50 }\n", "export", 50)] {
        let policy = read(format!("tidegate: 1\n{own}{}", rules(cost))).unwrap();
        let limit = limit(&policy);
        assert_eq!((limit.name.as_str(), &limit.cost), ("web/r/l", &Cost::Units(units)));
        assert_eq!(limit.was, ["web/r/a", "web/old/b", "core/c"]);
    }
    let twice = read(format!("tidegate: 1\ncosts: {{ search: 1 }}\n{}", rules("search"))).unwrap_err();
    let declared = "the cost search is declared in the policy that includes this file";
    assert!(twice.to_string().contains(declared), "{twice}");
}

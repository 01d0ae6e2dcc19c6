//! What goes on after a scenario, and for whom.

use super::*;
use crate::report::Row;

fn log(limit: u64, seconds: u64) -> Quota {
    Quota::sliding_log(limit, Span::from_secs(seconds)).unwrap()
}

fn account_and_client() -> KeyedLimits {
    limits([
        (Limit::new("account", log(9, 86_400)), ON_SUBJECT),
        (Limit::new("client", log(50, 3_600)), ON_ADDRESS),
    ])
}

/// Guards somebody at one account against the room of the many that another one sprays: he is held by what he has touched.
#[test]
fn each_is_bounded_by_what_he_has_touched_himself() {
    let text = "length: 2d\ncode: { digits: 6, valid: 3 }\nadversaries: [{ many-addresses: { addresses: 30 } }, \
                { spray: { subjects: 500, addresses: 20, rate: 1 per 1s } }]";
    let rule = played(&account_and_client(), text, 3).0;
    let [mix, one, spray] = rule.rows.as_slice() else { panic!("{:?}", rule.rows) };
    let bound = |row: &Row| row.worst.peak(tidegate_review::DAY).and_then(|peak| peak.bound);
    assert_eq!((bound(mix), bound(one), bound(spray)), (Some(4_500), Some(9), Some(4_500)));
    assert!((one.then(true).unwrap() - 9.0).abs() < 1e-3, "{:?}", one.then(true));
    // ln 2 / (3e-6 · 9 a day) are 70.33 years.
    let years = one.guess.and_then(|guess| guess.p50).unwrap() / 86_400.0 / 365.0;
    assert!((years - 70.33).abs() < 0.1, "{years}");
    assert!(!rule.rows.iter().any(|row| row.is_exceeded));
}

/// Guards against days that go on for somebody whom the file stops, or who is through with what he does, and for a mix of
/// which one stops.
#[test]
fn whoever_stops_before_the_end_goes_on_with_nothing() {
    let then = |adversaries: &str| -> Vec<Option<f64>> {
        let text = format!(
            "length: 1d\ntopology: {{ shared: true }}\nadversaries: [greedy, {adversaries}]\ncode: {{ digits: 6, valid: 3 }}"
        );
        let rule = played(&per_account(bucket()), &text, 1).0;
        for row in &rule.rows {
            assert_eq!(row.guess.is_none(), row.worst.is_over || row.worst.guesses == 0, "{}", row.adversary);
        }
        rule.rows.iter().map(|row| row.then(true)).collect()
    };
    for stops in ["{ lockout: { at: 6h, for: 12h } }", "outage"] {
        let [mix, greedy, stopped] = then(stops)[..] else { panic!("{stops}") };
        assert_eq!((mix, stopped), (None, None), "{stops}");
        assert!(greedy.is_some(), "{stops}");
    }
    assert!(then("{ lockout: { at: 6h } }").iter().all(Option::is_some));
}

/// Guards against an outage in the second half that is told as if there were one twice a day.
#[test]
fn what_passes_while_the_store_is_lost_does_not_go_on() {
    let open = limits([(
        Limit::new("account", log(9, 3_600)).with_store_failure(OnStoreFailure::Allow),
        ON_SUBJECT,
    )]);
    let text = "length: 1d\nadversaries: [{ greedy: { rate: 1 per 1s } }]\noutages: [{ at: 18h, for: 5m }]";
    let rule = played(&open, text, 1).0;
    let row = &rule.rows[0];
    let (half, _) = row.worst.sustained;
    assert!(half > 108 + 30 && row.worst.without_store > 30, "{half}");
    assert!((row.then(false).unwrap() - 216.0).abs() < 0.01, "{:?}", row.then(false));
}

/// Guards against messages that cost nothing a day since whoever had them sent has stopped.
#[test]
fn what_is_over_cost_what_it_cost() {
    let text = "length: 1d\nadversaries: [greedy, { greedy: { at: 12h, for: 30m } }]";
    let rule = played(&per_account(bucket()), text, 1).0;
    let passed = rule.rows[2].worst.admitted;
    let priced = Row { money: Some((passed * 7, "cents".to_owned())), ..rule.rows[2].clone() };
    assert!(passed > 0 && priced.told(tidegate_review::DAY).is_none(), "{passed}");
    let (costs, unit) = priced.cost_a_day().unwrap();
    assert!(
        (costs / 7.0 - f64::from(u32::try_from(passed).unwrap())).abs() < 1e-6 && unit == "cents",
        "{costs}"
    );
}

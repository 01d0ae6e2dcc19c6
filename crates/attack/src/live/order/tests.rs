//! What a gateway did, and whether an order is found that explains it.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use http::{HeaderMap, StatusCode};
use tidegate_algorithms::Span;
use tidegate_policy::parse_embedded;

use super::super::LiveOptions;
use super::super::client::Response;
use super::super::follow::{Followed, When};
use super::super::here::Sources;
use super::super::plan::{Plan, Planned};
use super::*;
use crate::act::Who;
use crate::adversary::{Means, at_victim, named};
use crate::target::Requests;

/// When all of it begins.
const START: u64 = 1_795_996_800_000_000;
/// How far clocks may be off.
const TOLERANCE: Span = Span::from_millis(50);

/// A limit that a success gives back to, and one that it does not.
const FAILURES: &str = "count: { failures: true, success: { status: 200 } }, ";

/// Plans an attack on one wrong guess a minute at each account; it is never sent, and says what requests are.
fn attacks(count: &str) -> Vec<Planned> {
    let text = format!(
        "tidegate: 1\nrules:\n  - name: r\n    class: verify\n    on_store_failure: deny\n    match: {{ method: POST, path: /verify }}\n    limits:\n      - {{ \
         name: l, says: x, key: {{ json: /account }}, {count}sliding_log: {{ limit: 1, window: 1m }} }}\n"
    );
    let policy = parse_embedded("policy.yaml", &text).unwrap_or_else(|problems| panic!("{problems}"));
    let requests = Requests::new(Arc::new(policy), 0).unwrap();
    let options = LiveOptions {
        length: Span::from_secs(60),
        requests: 100,
        tolerance: TOLERANCE,
        seed: 1,
        means: Means::default(),
    };
    let sources = Sources::One(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let plan = Plan::new(&[("r".to_owned(), requests)], sources, &[named("greedy").unwrap()], &options);
    assert_eq!((plan.attacks.len(), plan.skipped), (1, Vec::new()));
    plan.attacks
}

/// A request that was under way between two milliseconds, and its status.
fn request((sent, received): (u64, u64), status: u16) -> Record {
    let kind = match status {
        429 => Kind::Refused,
        503 => Kind::Undecided,
        _ => Kind::Passed,
    };
    let at = |ms: u64| Timestamp::saturating_from_micros(START + ms * 1_000);
    let (status, headers) = (StatusCode::from_u16(status).unwrap(), HeaderMap::new());
    let response = Response { sent: at(sent), received: at(received), kind, status, headers };
    Record { number: 0, attack: 0, who: at_victim(), response }
}

/// Decides what was sent, each at the first instant at which it can have been.
fn explained(count: &str, records: &[Record]) -> Followed {
    let attacks = attacks(count);
    let follower = Follower::new(&attacks, TOLERANCE, When::Arrived(Span::ZERO)).unwrap();
    let records: Vec<&Record> = records.iter().collect();
    assert!(records.is_sorted_by_key(|record| record.response.sent));
    follower.decide(&records).swap_remove(0)
}

/// Returns how many passed in the simulation, were decided otherwise within what clocks explain, and beyond.
fn outcome(count: &str, records: &[Record]) -> (u64, u64, u64) {
    let followed = explained(count, records);
    (followed.simulated, followed.within_tolerance, followed.differing)
}

/// Guards against the order of sending taken for that of deciding: what was sent first may have come last.
#[test]
fn of_those_under_way_together_the_one_that_passed_may_have_been_decided_first() {
    let together = [request((0, 30), 429), request((10, 20), 401)];
    assert_eq!(outcome("", &together), (1, 0, 0));
    let many = [
        request((0, 40), 429),
        request((1, 30), 429),
        request((2, 35), 401),
        request((3, 25), 429),
        request((50, 60), 429),
    ];
    assert_eq!(outcome("", &many), (1, 0, 0));
}

/// Guards against an order that no gateway can have had, by which any difference would be explained.
#[test]
fn what_was_answered_before_another_was_sent_was_decided_before_it() {
    let apart = [request((0, 9), 429), request((10, 20), 401)];
    assert_eq!(outcome("", &apart), (2, 0, 1), "nothing had been counted when the first was refused");
    let twice = [request((0, 9), 401), request((10, 20), 401)];
    let followed = explained("", &twice);
    assert_eq!((followed.simulated, followed.differing), (1, 1), "the limit lets one through");
    let told = &followed.differences[0];
    assert_eq!((told.at_micros, told.passed, told.status), (START + 10_000, true, 401));
    assert!(told.simulation.contains("r/l"), "{}", told.simulation);
}

/// Guards against two that both passed under way together where only one can have, whatever the order.
#[test]
fn no_order_explains_more_than_the_limit() {
    let both = [request((0, 30), 401), request((0, 30), 401), request((0, 30), 429)];
    assert_eq!(outcome("", &both), (1, 0, 1));
}

/// Guards against refusals of a minute ago that are held against what passes now: they change nothing, and come first.
#[test]
fn a_refusal_that_is_agreed_with_comes_before_what_passes() {
    // The minute is over between the two: the one that was refused can only have been decided before.
    let around = [request((0, 0), 401), request((59_990, 60_010), 429), request((59_995, 60_012), 401)];
    assert_eq!(outcome("", &around), (2, 0, 0));
    // And it was a little late, for a clock that is behind.
    let late = [request((0, 0), 401), request((60_010, 60_012), 429), request((60_020, 60_030), 401)];
    assert_eq!(outcome("", &late), (3, 1, 0));
    let too_late = [request((0, 0), 401), request((60_110, 60_112), 429), request((60_120, 60_130), 401)];
    assert_eq!(outcome("", &too_late), (3, 0, 1));
}

/// Guards against a success that is forgotten, or that gives back before it can have been answered.
#[test]
fn what_an_answer_gave_back_counts_once_it_may_have_come() {
    let given = [request((0, 20), 200), request((10, 30), 401)];
    assert_eq!(outcome(FAILURES, &given), (2, 0, 0), "given back before the second was decided");
    assert_eq!(outcome("", &given), (1, 0, 1), "where every request counts, nothing is");
    let wrong = [request((0, 20), 401), request((10, 30), 401)];
    assert_eq!(outcome(FAILURES, &wrong), (1, 0, 1), "a wrong guess gives nothing back");
    // The third was refused while the first was under way, the second passed by what it gave back.
    let among = [request((0, 20), 200), request((5, 40), 401), request((6, 15), 429)];
    assert_eq!(outcome(FAILURES, &among), (2, 0, 0));
}

/// Guards against answers that say nothing of the limits, and are counted as passing or as refused.
#[test]
fn what_was_answered_without_counts_is_left_out() {
    let around = [request((0, 10), 503), request((20, 30), 401), request((40, 50), 503)];
    let followed = explained("", &around);
    assert_eq!((followed.sent, followed.undecided, followed.admitted), (3, 2, 1));
    assert_eq!((followed.simulated, followed.differing), (1, 0));
    assert_eq!(explained("", &[]).sent, 0);
}

/// Guards against accounts that are held against each other.
#[test]
fn requests_about_others_are_explained_by_their_own_counts() {
    let other = |record: Record| Record { who: Who { subject: 7, ..record.who }, ..record };
    let mixed = [request((0, 10), 401), other(request((11, 20), 401)), request((21, 30), 429)];
    assert_eq!(outcome("", &mixed), (2, 0, 0));
}

/// Guards the choice among those that passed: a worse explanation before a better one, or a later answer before the one that
/// gave back what it needed.
#[test]
fn the_better_explained_comes_first_and_then_the_one_that_was_answered_first() {
    let said = |agrees, by| {
        let at = |ms: u64| Timestamp::saturating_from_micros(START + ms * 1_000);
        Said { agrees, at: at(0), by: at(by), words: String::new() }
    };
    let order = [
        said(Agreement::Exact, 3),
        said(Agreement::Exact, 9),
        said(Agreement::Near, 1),
        said(Agreement::Near, 2),
        said(Agreement::None, 0),
    ];
    for (place, one) in order.iter().enumerate() {
        for (other_place, other) in order.iter().enumerate() {
            assert_eq!(comes_before(one, other), place < other_place, "{place} before {other_place}");
        }
    }
}

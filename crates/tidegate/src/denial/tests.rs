use super::*;
use tidegate_algorithms::{Ask, Quota, decide};
use tidegate_store::{LimitId, StoreError};

const SECOND: Duration = Duration::from_secs(1);

fn quota() -> Quota {
    Quota::sliding_log(3, Span::from_secs(60)).unwrap()
}

fn check<'a>(key: &'a [u8], quota: &'a Quota, cost: u32) -> Check<'a> {
    Check { limit: LimitId::from_index(0), key, quota, ask: Ask::units(cost), shadow: false }
}

/// The decision that is remembered.
fn seen(found: &Found) -> Option<Decision> {
    if let Found::Refused(decision, _) = found { Some(*decision) } else { None }
}

fn ours(turn: Turn<'_>) -> Option<Inquiry<'_>> {
    if let Turn::Ours(inquiry) = turn { Some(inquiry) } else { None }
}

/// The refusal of so many units to a key that has used two.
fn refused(quota: &Quota, cost: u32) -> (Decision, Timestamp) {
    let now = Timestamp::from_micros(1_700_000_000_000_000).unwrap();
    let mut state = None;
    decide(quota, None, Ask::units(2), now).change.apply(&mut state);
    (decide(quota, state.as_ref(), Ask::units(cost), now).decision, now)
}

/// Forgetting that fewer units may still pass would refuse what the store admits.
#[test]
fn as_much_and_more_is_refused_and_less_is_not() {
    let (denials, quota, now) = (Denials::default(), quota(), Instant::now());
    let asked = check(b"ada", &quota, 2);
    let name = denials.name(&asked);
    denials.remember((name, &asked), refused(&quota, 2), Asked { sent: now, known: now, cap: CAP });
    let find = |cost, at| seen(&denials.find(name, &check(b"ada", &quota, cost), at));
    assert!(find(2, now).is_some() && find(3, now).is_some());
    assert!(find(1, now).is_none(), "one unit is left");
    let before = CAP.saturating_sub(Duration::from_micros(1));
    assert!(find(2, now + before).is_some());
    assert!(find(2, now + CAP).is_none(), "it ends with the cap");
    let delays = Check { ask: Ask::units(2).within(Span::ZERO), ..asked };
    denials.remember((name, &delays), refused(&quota, 2), Asked { sent: now, known: now, cap: CAP });
    assert!(find(2, now).is_none(), "who bears more delay may pass");
}

/// A key that is refused here longer than in the store would be locked out by our own memory.
#[test]
fn it_ends_no_later_than_the_wait_counted_from_the_sending() {
    let (denials, quota, sent) = (Denials::default(), quota(), Instant::now());
    let asked = check(b"ada", &quota, 2);
    let name = denials.name(&asked);
    let known = sent + SECOND;
    denials.remember((name, &asked), refused(&quota, 2), Asked { sent, known, cap: SECOND * 3_600 });
    let find = |at| seen(&denials.find(name, &asked, at));
    let decision = find(known + SECOND).unwrap();
    assert_eq!(decision.retry(), Some(Retry::After(Span::from_secs(59))), "counted from when it was known");
    assert!(find(sent + SECOND * 60).is_none());
    let before = (SECOND * 60).saturating_sub(Duration::from_micros(1));
    assert!(find(sent + before).is_some());
}

#[test]
fn other_numbers_keys_and_limits_are_others() {
    let (denials, quota) = (Denials::default(), quota());
    let other = Quota::sliding_log(4, Span::from_secs(60)).unwrap();
    let one = check(b"ada", &quota, 1);
    let names = [
        one,
        check(b"ad", &quota, 1),
        check(b"ada", &other, 1),
        Check { limit: LimitId::from_index(1), ..one },
    ];
    let names: std::collections::HashSet<Name> = names.iter().map(|it| denials.name(it)).collect();
    assert_eq!(names.len(), 4);
}

/// A flood of keys must neither make the memory grow nor drive out what was refused last.
#[test]
fn it_forgets_the_oldest_rather_than_grow() {
    let (denials, quota, now) = (Denials::default(), quota(), Instant::now());
    let refused = refused(&quota, 2);
    let keys: Vec<[u8; 4]> = (0..150_000_u32).map(u32::to_be_bytes).collect();
    for key in &keys {
        let asked = check(key, &quota, 2);
        denials.remember((denials.name(&asked), &asked), refused, Asked { sent: now, known: now, cap: CAP });
    }
    let count = |shard: &Mutex<Shard>| {
        let shard = lock(shard);
        shard.young.len() + shard.old.len()
    };
    let held: usize = denials.shards.iter().map(count).sum();
    assert!((50_000..=100_000).contains(&held), "{held}");
    let find =
        |key: &[u8]| seen(&denials.find(denials.name(&check(key, &quota, 2)), &check(key, &quota, 2), now));
    // A generation of each shard is kept whole, and shards fill nearly alike.
    assert!(keys.iter().rev().take(40_000).all(|key| find(key).is_some()));
    assert!(find(&keys[0]).is_none());
    denials.clear();
    assert!(denials.shards.iter().all(|shard| count(shard) == 0));
}

/// Guards against everybody asking at once when the cap is over, and against a key that nobody asks about any more.
#[test]
fn when_the_cap_is_over_one_asks_until_it_has_ended() {
    let (denials, quota, now) = (Denials::default(), quota(), Instant::now());
    let asked = check(b"ada", &quota, 2);
    let name = denials.name(&asked);
    let remember = |sent| {
        denials.remember((name, &asked), refused(&quota, 2), Asked { sent, known: sent, cap: CAP });
    };
    remember(now);
    assert!(ours(denials.inquire(name, &asked, now)).is_none(), "it is in force");
    let later = now + CAP;
    let inquiry = ours(denials.inquire(name, &asked, later)).unwrap();
    // Whoever looked before this one began would go to the store as well.
    assert!(matches!(denials.inquire(name, &asked, later), Turn::Anothers(_)));
    assert!(matches!(denials.find(name, &asked, later), Found::Asking(_)));
    drop(inquiry);
    assert!(matches!(denials.find(name, &asked, later), Found::Nothing), "who asked has gone away");
    let inquiry = ours(denials.inquire(name, &asked, later)).unwrap();
    remember(later);
    inquiry.end(Outcome::Answered);
    assert!(seen(&denials.find(name, &asked, later)).is_some(), "refused anew");
    let inquiry = ours(denials.inquire(name, &asked, later + CAP)).unwrap();
    inquiry.end(Outcome::Failed(StoreError::timeout("too slow")));
    let inquiry = ours(denials.inquire(name, &asked, later + CAP)).unwrap();
    inquiry.end(Outcome::Answered);
    assert!(ours(denials.inquire(name, &asked, later + CAP)).is_none(), "refused no more");
    assert!(matches!(denials.find(name, &asked, later + CAP), Found::Nothing));
}

/// When the wait is over the store may admit many: they must not wait for each other.
#[test]
fn when_the_wait_is_over_nobody_waits_for_anybody() {
    let (denials, quota, now) = (Denials::default(), quota(), Instant::now());
    let asked = check(b"ada", &quota, 2);
    let name = denials.name(&asked);
    denials.remember((name, &asked), refused(&quota, 2), Asked { sent: now, known: now, cap: CAP });
    let inquiry = ours(denials.inquire(name, &asked, now + CAP));
    assert!(inquiry.is_some());
    assert!(matches!(denials.find(name, &asked, now + SECOND * 60), Found::Nothing));
    assert!(ours(denials.inquire(name, &asked, now + SECOND * 60)).is_none());
}

/// An answer that comes late must not cut short what a later question has brought.
#[test]
fn an_answer_that_was_overtaken_changes_nothing() {
    let (denials, quota, now) = (Denials::default(), quota(), Instant::now());
    let asked = check(b"ada", &quota, 2);
    let name = denials.name(&asked);
    for sent in [now + CAP / 2, now] {
        denials.remember((name, &asked), refused(&quota, 2), Asked { sent, known: sent, cap: CAP });
    }
    assert!(seen(&denials.find(name, &asked, now + CAP)).is_some());
}

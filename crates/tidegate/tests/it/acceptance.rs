//! What the project promises first, on the virtual clock, by the example policy that the demonstration serves.

use tidegate::policy_file;
use tidegate::{Answer, CheckOptions, Limiter, Retry, Span};

use crate::world::{Ask, after_ms, by};

fn quillon() -> Limiter {
    let text = include_str!("../../../../examples/quillon.yaml");
    Limiter::from_policy(policy_file::parse("quillon.yaml", text).unwrap()).unwrap()
}

fn verify(account: &str) -> Ask {
    Ask::post(
        "/otp/verify",
        &format!(r#"{{"account":"{account}","challenge":"c-{account}","code":"000000"}}"#),
    )
}

#[tokio::test]
async fn four_guesses_pass_the_fifth_waits_ten_seconds_and_then_exactly_one_more_passes() {
    let limiter = quillon();
    let odalys = verify("odalys");
    for _ in 0..4 {
        assert!(limiter.check_at(&odalys.as_seen(), after_ms(0)).await.is_allowed());
    }
    let fifth = limiter.check_at(&odalys.as_seen(), after_ms(0)).await;
    assert_eq!(fifth.retry(), Some(Retry::After(Span::from_secs(10))));
    assert_eq!(fifth.deciding().unwrap().limit.name(), "verify/per-account");
    assert!(fifth.explain().contains("once every ten seconds"), "{}", fifth.explain());
    let other = limiter.check_at(&verify("fenwick").as_seen(), after_ms(0)).await;
    let account = other.decisions().iter().find(|one| one.limit.name() == "verify/per-account").unwrap();
    assert_eq!(account.decision.remaining, 3);
    assert!(!limiter.check_at(&odalys.as_seen(), after_ms(9_999)).await.is_allowed());
    assert!(limiter.check_at(&odalys.as_seen(), after_ms(10_000)).await.is_allowed());
    assert!(!limiter.check_at(&odalys.as_seen(), after_ms(10_000)).await.is_allowed());
}

#[tokio::test]
async fn twenty_simultaneous_requests_leave_a_leaky_bucket_evenly_spaced() {
    let limiter = by("
rules:
  - name: report
    class: api
    match: { path: /reports }
    limits:
      - name: even
        says: Five a second, and up to ten may wait, for everyone together.
        key: global
        leaky_bucket: { rate: 5 per 1s, queue: 10 }
");
    let report = Ask::get("/reports");
    let mut delays = Vec::new();
    let mut refused = Vec::new();
    for _ in 0..20 {
        let verdict = limiter.check_at(&report.as_seen(), after_ms(0)).await;
        match verdict.decisions()[0].decision.answer {
            Answer::Admit { delay } => delays.push(delay.as_micros()),
            Answer::Refuse(retry) => refused.push(retry),
        }
    }
    assert_eq!(delays, (0..11).map(|slot| slot * 200_000).collect::<Vec<_>>());
    assert_eq!(refused, vec![Retry::After(Span::from_millis(200)); 9]);
    let verdict = limiter.check_at(&report.as_seen(), after_ms(0)).await;
    assert!(
        verdict.explain().starts_with("refused by report/even: 0 of 11 left, again in 200ms"),
        "{verdict}"
    );
    let impatient =
        CheckOptions { at: Some(after_ms(1_000)), max_delay: Span::ZERO, ..CheckOptions::default() };
    let verdict = limiter.check_with(&report.as_seen(), None, impatient).await;
    let why = "it would have to wait longer than its caller can, 5 of 11 places are left, again in 1.200s";
    assert!(verdict.explain().contains(why), "{verdict}");
}

//! What a reload tells of itself.

use http::{Method, StatusCode};

use super::reload::{Served, policy, upstream};
use crate::support::soon;

/// Guards against a reload that opens a path or believes nobody any more, and is told as "as before"; and against a
/// plan's change that does not say whose.
#[tokio::test]
async fn a_reload_tells_what_changes_outside_of_limits() {
    let upstream = upstream().await;
    let plans = "key: client_ip, plan: { header: x-plan, from: trusted_proxies, default: free }, plans: {
          free: { says: Nine an hour., sliding_log: { limit: 9, window: 1h } },
          gold: { says: GOLD an hour., sliding_log: { limit: GOLD, window: 1h } } }";
    let by = |trusted: &str, closed: &str, gold: &str| {
        let text = policy(upstream.address, "", 5);
        let text = text.replace("rules:", &format!("trusted_proxies: {trusted}\nrules:{closed}"));
        format!("{text}      - {{ name: sold, {} }}\n", plans.replace("GOLD", gold))
    };
    let closed = "\n  - { name: ops, match: { path: /ops/** }, refuse: { status: 403, because: Closed. } }";
    let served = Served::by("told", |_| by("[192.0.2.7]", closed, "20")).await;
    std::fs::write(&served.file, by("[]", "", "30")).unwrap();
    let (status, body) = served.admin(Method::POST, "/reload").await;
    let body: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        (status, &body["rules_changed"], &body["settings_changed"]),
        (StatusCode::OK, &1.into(), &1.into())
    );
    let lines: Vec<_> =
        body["changes"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    for (start, words) in [
        ("setting trusted_proxies: ", "192.0.2.7"),
        ("rule ops: removed", "/ops/**"),
        ("r/sold [gold]: looser, counts kept", "20 -> 30"),
    ] {
        assert!(
            lines.iter().any(|line| line.starts_with(start) && line.contains(words)),
            "{start} in {lines:#?}"
        );
    }
    std::fs::write(&served.file, by("[]", closed, "30")).unwrap();
    let changes = soon(served.reloader.reload()).await.unwrap();
    assert_eq!(changes.to_string(), "2 limits as before; 1 rule changed");
    // A limit that goes on to count on something else is not as before.
    std::fs::write(&served.file, by("[]", closed, "30").replace("key: client_ip", "key: global")).unwrap();
    let changes = soon(served.reloader.reload()).await.unwrap();
    assert_eq!(changes.to_string(), "1 changed (r/sold), 1 limit as before");
    assert!(changes.lines.iter().any(|line| line.contains("starts fresh")), "{changes:?}");
}

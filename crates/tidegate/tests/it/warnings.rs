//! What makes everybody share one key, or nobody have one, is told once a cause.

use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use tidegate::policy_file::Request;
use tracing_subscriber::fmt::MakeWriter;

use crate::world::{Ask, after_ms, by};

const PER_CLIENT: &str = "
rules:
  - name: edge
    class: edge
    match: { path: /** }
    limits:
      - { name: l, says: Ten a minute per client., key: client_ip, sliding_counter: { limit: 10, window: 1m } }
";

/// A log that a test can read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    /// Returns the lines since the last time.
    pub(crate) fn take(&self) -> Vec<String> {
        let bytes = std::mem::take(&mut *self.0.lock().unwrap());
        String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
    }
}

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Lines {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

/// Checks the same request three times and returns what was logged at warn.
async fn warned_of(policy: &str, ask: &Ask, peer: Option<&str>) -> Vec<String> {
    let lines = Lines::default();
    let log =
        tracing_subscriber::fmt().with_writer(lines.clone()).with_max_level(tracing::Level::WARN).finish();
    let _guard = tracing::subscriber::set_default(log);
    let limiter = by(policy);
    let peer = peer.map(|peer| peer.parse::<IpAddr>().unwrap());
    for _ in 0..3 {
        let request = Request { peer, ..ask.as_seen() };
        assert!(limiter.check_at(&request, after_ms(0)).await.is_allowed());
    }
    lines.take()
}

#[tokio::test]
async fn forwarding_fields_from_a_private_peer_that_nobody_trusts_are_told_once() {
    let forwarded = Ask::get("/").header("x-forwarded-for", "203.0.113.5");
    let lines = warned_of(PER_CLIENT, &forwarded, Some("10.0.0.1")).await;
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("10.0.0.1") && lines[0].contains("not in trusted_proxies"), "{lines:?}");
    // A public peer may well invent such a field, and that is nobody's mistake.
    assert!(warned_of(PER_CLIENT, &forwarded, Some("198.51.100.1")).await.is_empty());
    let trusting = format!("trusted_proxies: [10.0.0.0/8]\n{PER_CLIENT}");
    assert!(warned_of(&trusting, &forwarded, Some("10.0.0.1")).await.is_empty());
}

#[tokio::test]
async fn an_address_that_a_trusted_proxy_garbles_is_told_once() {
    let trusting = format!("trusted_proxies: [10.0.0.0/8]\n{PER_CLIENT}");
    let garbled = Ask::get("/").header("x-forwarded-for", "unknown");
    let lines = warned_of(&trusting, &garbled, Some("10.0.0.1")).await;
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("cannot be read"), "{lines:?}");
}

#[tokio::test]
async fn a_request_without_its_peers_address_is_told_once_when_a_limit_needs_it() {
    let lines = warned_of(PER_CLIENT, &Ask::get("/"), None).await;
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("PeerAddr") && lines[0].contains("edge/l"), "{lines:?}");
    let for_everyone = PER_CLIENT.replace("client_ip", "global");
    assert!(warned_of(&for_everyone, &Ask::get("/"), None).await.is_empty());
}

/// Guards the causes against explanations of a request, which read it several times over.
#[tokio::test]
async fn whoever_only_looks_is_warned_of_nothing() {
    let limiter = by(PER_CLIENT);
    let ask = Ask::get("/");
    let request = Request { peer: None, ..ask.as_seen() };
    let warnings = || limiter.observe().warnings.iter().map(|(_, count)| count).sum::<u64>();
    let _ = limiter.snapshot().why(&request, None, tidegate::CheckOptions::default()).await;
    assert_eq!(warnings(), 0);
    assert!(limiter.check(&request).await.is_allowed());
    assert_eq!(warnings(), 1);
}

/// Checks a request as often as said and returns what was logged at warn, and the limiter.
async fn warned_after(policy: &str, asks: &[(Ask, usize)]) -> (Vec<String>, tidegate::Limiter) {
    let lines = Lines::default();
    let log =
        tracing_subscriber::fmt().with_writer(lines.clone()).with_max_level(tracing::Level::WARN).finish();
    let _guard = tracing::subscriber::set_default(log);
    let limiter = by(policy);
    for (ask, times) in asks {
        for _ in 0..*times {
            let _ = limiter.check_at(&ask.as_seen(), after_ms(0)).await;
        }
    }
    (lines.take(), limiter)
}

const TWO_RULES: &str = "
keys: { api_key: { header: x-api-key } }
rules:
  - name: typo
    class: api
    match: { path: /serach }
    limits:
      - { name: l, says: Ten a minute per client., key: client_ip, sliding_counter: { limit: 10, window: 1m } }
  - name: search
    class: api
    match: { path: /search }
    limits:
      - { name: l, says: Ten a minute per API key., key: api_key, sliding_counter: { limit: 10, window: 1m } }
";

/// Guards against a slip in a path, under which a rule limits nothing and nobody notices.
#[tokio::test]
async fn a_rule_that_applies_to_nothing_is_told_once_it_had_its_chance() {
    let ask = || Ask::get("/search").header("x-api-key", "k");
    let (lines, limiter) = warned_after(TWO_RULES, &[(ask(), 9_999)]).await;
    assert!(lines.is_empty(), "{lines:?}");
    // Too early to say, also for whoever asks.
    limiter.look_back();
    assert_eq!(limiter.observe().warnings.iter().map(|(_, count)| count).sum::<u64>(), 0);
    let (lines, limiter) = warned_after(TWO_RULES, &[(ask(), 20_000)]).await;
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("\"typo\"") && lines[0].contains("applied to no request"), "{lines:?}");
    assert!(limiter.observe().warnings.contains(&("rule_never_matched", 1)));
}

#[tokio::test]
async fn a_limit_most_of_whose_requests_lack_the_key_is_told_once_with_the_share() {
    let (with, without) = (|| Ask::get("/search").header("x-api-key", "k"), || Ask::get("/search"));
    let (lines, limiter) = warned_after(TWO_RULES, &[(with(), 400), (without(), 599)]).await;
    assert!(lines.is_empty(), "999 are too few to say: {lines:?}");
    assert_eq!(limiter.observe().limits[0].missing_key, 599);
    let (lines, _) = warned_after(TWO_RULES, &[(with(), 400), (without(), 2_000)]).await;
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("60 %") && lines[0].contains("search/l"), "{lines:?}");
    let (lines, _) = warned_after(TWO_RULES, &[(with(), 1_000), (without(), 1_000)]).await;
    assert!(lines.is_empty(), "half is not most: {lines:?}");
}

const SPEND: &str = "
keys: { api_key: { header: x-api-key } }
rules:
  - name: spend
    class: api
    match: { path: /** }
    limits:
      - name: daily
        says: Up to ten in any 24 hours, per API key.
        key: api_key
        alert_at: 80%
        sliding_log: { limit: 10, window: 24h }
";

/// Guards the alert on what is used up: the first key that rises is told, and so is the second, each once.
#[tokio::test]
async fn a_limit_nearly_used_up_raises_an_alert_for_each_key() {
    let ask = |key: &str| Ask::get("/").header("x-api-key", key);
    let (lines, limiter) = warned_after(SPEND, &[(ask("a"), 7), (ask("b"), 7)]).await;
    assert!(lines.is_empty(), "{lines:?}");
    assert_eq!(limiter.observe().limits[0].alerts, Some(0));
    let (lines, limiter) = warned_after(SPEND, &[(ask("a"), 20), (ask("b"), 8), (ask("c"), 1)]).await;
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].contains("spend/daily") && lines[0].contains("80 %"), "{lines:?}");
    assert_eq!(limiter.observe().limits[0].alerts, Some(2));
}

/// Guards against two names for one key: who reads an alert in the log has to find the key again in an explanation, also
/// when the policy says no secret, and after a reload.
#[tokio::test]
async fn an_alert_names_the_key_as_an_explanation_does() {
    let ask = || Ask::get("/").header("x-api-key", "a");
    let (lines, limiter) = warned_after(SPEND, &[(ask(), 8)]).await;
    let policy = limiter.policy().unwrap();
    assert!(policy.identities.is_none() && limiter.reload((*policy).clone()).is_ok());
    let snapshot = limiter.snapshot();
    let why = snapshot.why(&ask().as_seen(), None, tidegate::CheckOptions::default()).await;
    let name = why.limits().next().unwrap().identity(snapshot.identities().unwrap()).unwrap();
    assert!(lines[0].contains(&name), "{name}: {lines:?}");
}

/// Guards against a plan that is misspelt where it is given: everybody would silently be held to the default.
#[tokio::test]
async fn a_plan_that_a_limit_does_not_have_is_told_once() {
    let policy = "
trusted_proxies: [192.0.2.7]
rules:
  - name: api
    class: api
    match: { path: /** }
    limits:
      - name: l
        key: client_ip
        plan: { header: x-plan, from: trusted_proxies, default: free }
        plans:
          free: { says: Ten a minute per client., sliding_counter: { limit: 10, window: 1m } }
          gold: { says: 20 a minute per client., sliding_counter: { limit: 20, window: 1m } }
";
    let ask = |plan: &str| Ask::get("/").header("x-forwarded-for", "203.0.113.5").header("x-plan", plan);
    let (lines, limiter) = warned_after(policy, &[(ask("gold"), 2), (ask("gol\"den"), 3)]).await;
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("names the plan \"gol\\\"den\", which api/l does not have"), "{lines:?}");
    let observed = limiter.observe();
    assert!(observed.warnings.contains(&("unknown_plan", 3)), "{observed:?}");
    let terms = &observed.limits[0].terms;
    let counts: Vec<_> = terms.iter().map(|terms| (terms.plan.as_deref().unwrap(), terms.admitted)).collect();
    assert_eq!(counts, [("free", 3), ("gold", 2)]);
}

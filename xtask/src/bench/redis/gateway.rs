//! A gateway's decision path: whole requests through the limiter, by a policy, over the store.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use http::{HeaderMap, HeaderName, HeaderValue};
use tidegate::Limiter;
use tidegate::policy_file::{Request, parse_embedded};
use tidegate_store::Store as _;
use tidegate_store_redis::RedisStore;

use super::super::Scale;
use super::super::computed::figures::median;
use super::super::computed::page::{Page, short};
use super::keys::Random;
use super::{Bench, KEYS};

const ROUNDS: usize = 3;
const DECISIONS: usize = 64_000;
/// How many callers flood a key.
const CALLERS: usize = 64;
const FIRST: Duration = Duration::from_secs(1);
/// The most calls a second that a flood may cost.
const AIM: f64 = 2.0;
const HEADER: HeaderName = HeaderName::from_static("x-account");

/// Measures, and adds the tables.
pub(super) fn measure(bench: &Bench, scale: Scale, page: &mut Page) -> Result<()> {
    page.line("### Decisions of one gateway's path");
    page.line(&format!(
        "`Limiter::check` on requests with a header, by a policy of one token bucket, over {KEYS} random keys; medians of \
         {ROUNDS} rounds of {DECISIONS} decisions (a tenth for one caller)."
    ));
    let path = Path::new(bench, "token_bucket: { capacity: 1000000, refill: 1 per 60s }")?;
    let mut rows = Vec::new();
    for callers in [1, 64, 512] {
        let count = if callers == 1 { DECISIONS / 10 } else { DECISIONS };
        path.decide(bench, callers, count)?;
        let rates = (0..ROUNDS).map(|_| path.decide(bench, callers, count)).collect::<Result<Vec<_>>>()?;
        rows.push([callers.to_string(), short(median(&rates))]);
    }
    page.table(["callers", "decisions a second"], &rows);
    flood(bench, scale, page)
}

fn flood(bench: &Bench, scale: Scale, page: &mut Page) -> Result<()> {
    let long = Duration::from_secs(scale.of(6, 2).into());
    page.line("### One key flooded");
    page.line(&format!(
        "{CALLERS} callers through one limiter ask for {} s for one key that has used up what it may; a refusal counts \
         wherever it was decided. In the first second the first refusal has yet to be known.",
        long.as_secs()
    ));
    let (mut rows, mut most) = (Vec::new(), 0.0_f64);
    // A bucket that refills in a second admits within the flood, and its waits are a second at most: beside the aim.
    for (wait, refill, aimed) in
        [("an hour", "1 per 1h", true), ("a minute", "1 per 1m", true), ("up to a second", "1 per 1s", false)]
    {
        let path = Path::new(bench, &format!("token_bucket: {{ capacity: 1, refill: {refill} }}"))?;
        let flooded = path.flood(bench, long)?;
        most = if aimed { most.max(flooded.calls) } else { most };
        rows.push([
            wait.to_owned(),
            flooded.calls_at_first.to_string(),
            format!("{:.2}", flooded.calls),
            short(flooded.refusals),
        ]);
    }
    let headings =
        ["wait of the key", "calls in the first second", "calls a second from then on", "refusals a second"];
    page.table(headings, &rows);
    page.held_to(
        "calls to the store a second while one key is flooded that waits longer than the flood",
        most,
        AIM,
    );
    Ok(())
}

/// What a flood came to.
struct Flooded {
    calls_at_first: u64,
    /// Calls to the store a second, from the second second on.
    calls: f64,
    /// Refusals a second.
    refusals: f64,
}

/// A limiter as a gateway has it, and the store behind it.
#[derive(Clone)]
struct Path {
    limiter: Limiter,
    store: RedisStore,
}

impl Path {
    fn new(bench: &Bench, algorithm: &str) -> Result<Self> {
        // Each counts under a name of its own.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let policy = format!(
            "tidegate: 1
keys: {{ account: {{ header: {HEADER} }} }}
rules:
  - name: bench-{number}
    match: {{ path: /api/** }}
    limits:
      - {{ name: per-account, says: As the numbers say, key: account, {algorithm} }}
"
        );
        let policy = parse_embedded("bench.yaml", &policy)?;
        let store = bench.store()?;
        let limiter = Limiter::from_policy_with(policy, Arc::new(store.clone()))?;
        Ok(Self { limiter, store })
    }

    /// Has so many callers make `count` decisions, all of them admitted, and returns how many they made a second.
    #[allow(clippy::cast_precision_loss, reason = "counts of decisions are small")]
    fn decide(&self, bench: &Bench, callers: usize, count: usize) -> Result<f64> {
        let own = count / callers;
        let began = Instant::now();
        bench.together(callers, |caller| {
            let (limiter, keys) = (self.limiter.clone(), Arc::clone(&bench.keys));
            let mut random = Random::new(caller as u64);
            async move {
                for _ in 0..own {
                    let key = keys.get(random.below(KEYS)).map_or(&[][..], Vec::as_slice);
                    ensure!(is_allowed(&limiter, key).await?, "a request was refused");
                }
                Ok(())
            }
        })?;
        Ok((own * callers) as f64 / began.elapsed().as_secs_f64())
    }

    /// Floods one key.
    #[allow(clippy::cast_precision_loss, reason = "counts of calls are small")]
    fn flood(&self, bench: &Bench, long: Duration) -> Result<Flooded> {
        // The first request is admitted, and makes the connection.
        ensure!(bench.runtime.block_on(is_allowed(&self.limiter, b"flooded"))?, "the first was refused");
        let (refused, calls_then) = (Arc::new(AtomicU64::new(0)), Arc::new(OnceLock::new()));
        let (before, began) = (self.calls(), Instant::now());
        bench.together(CALLERS, |_| {
            let path = self.clone();
            let (refused, calls_then) = (Arc::clone(&refused), Arc::clone(&calls_then));
            async move {
                while began.elapsed() < long {
                    let is_refused = !is_allowed(&path.limiter, b"flooded").await?;
                    refused.fetch_add(u64::from(is_refused), Ordering::Relaxed);
                    if began.elapsed() >= FIRST {
                        calls_then.get_or_init(|| (path.calls(), Instant::now()));
                    }
                    // A real request waits for its socket between two of these.
                    tokio::task::yield_now().await;
                }
                Ok(())
            }
        })?;
        let (calls, seconds) = (self.calls(), began.elapsed().as_secs_f64());
        let refused = refused.load(Ordering::Relaxed);
        let (then, since) = calls_then.get().copied().context("the flood was too short")?;
        ensure!(refused > 0, "the flood was not refused");
        Ok(Flooded {
            calls_at_first: then - before,
            calls: (calls - then) as f64 / since.elapsed().as_secs_f64(),
            refusals: refused as f64 / seconds,
        })
    }

    /// Returns how many calls the store has made, of whatever kind.
    fn calls(&self) -> u64 {
        self.store.measures().calls.iter().map(|(_, count)| count).sum()
    }
}

async fn is_allowed(limiter: &Limiter, key: &[u8]) -> Result<bool> {
    let mut headers = HeaderMap::with_capacity(1);
    headers.insert(HEADER, HeaderValue::from_bytes(key)?);
    let request = Request {
        method: "GET",
        host: None,
        path: "/api/orders",
        query: None,
        headers: &headers,
        peer: None,
        body: None,
    };
    let verdict = limiter.check(&request).await;
    ensure!(verdict.degraded().is_none(), "the store did not decide: {:?}", verdict.degraded());
    Ok(verdict.is_allowed())
}

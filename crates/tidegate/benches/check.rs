//! What a check costs around the store: time and allocations, of limits built in code and of a policy's.
//!
//! Run with `cargo bench -p tidegate --bench check`. How to read the table:
//! - *ns* is the time of one check on one thread, the least of many short rounds that take turns, so that what else the
//!   machine does falls on all alike. `the store alone` is asked the same two questions; the rest is the limiter's.
//! - *allocations* are counted by the allocator, of one check after the first: a hot path has none.
//!
//! `cargo bench -p tidegate --bench check -- NAME TIMES` does one of them so often and prints nothing, for a tool that counts
//! instructions: those of one check are the difference of two runs over the difference of their times.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints, and fails by panicking")]

use std::hint::black_box;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use http::{HeaderMap, HeaderValue};
use tidegate::policy_file::{Request, parse_embedded};
use tidegate::{CheckOptions, Limit, Limiter, MemoryOptions, MemoryStore, Quota, Rate, Span, Store};
use tidegate_algorithms::Ask;
use tidegate_store::{Check, LimitId};

/// Checks in one round: some milliseconds.
const ROUND: u32 = 10_000;
/// Rounds of each.
const ROUNDS: u32 = 60;

/// Two rules for everybody's requests, so that one request asks one of them or both.
const POLICY: &str = r"
tidegate: 1
keys:
  account: { header: x-account }
rules:
  - name: all
    match: { path: /** }
    limits:
      - name: per-client
        says: x
        key: client_ip
        token_bucket: { capacity: 1000000000, refill: 1 per 1h }
  - name: search
    match: { method: GET, path: '/shops/{shop}/search' }
    limits:
      - name: per-account
        says: x
        key: account
        sliding_counter: { limit: 1000000000, window: 1h }
  - name: send
    match: { method: POST, path: /send }
    limits:
      - name: never
        says: x
        key: global
        sliding_log: { limit: 1, window: 400d }
";

/// What both of the first two rules apply to.
const SEARCH: (&str, &str) = ("GET", "/shops/17/search");

fn main() {
    let sides = Sides::new();
    let mut named = sides.named();
    let arguments: Vec<String> = std::env::args().filter(|argument| argument != "--bench").collect();
    if let [_, name, times] = &arguments[..] {
        let (_, ask) = named.iter_mut().find(|(known, _)| known == name).unwrap();
        (0..times.parse::<u32>().unwrap()).for_each(|_| ask());
        return;
    }
    let times = race(&mut named);
    println!("{:<52} {:>9} {:>12}", "one thread, one check", "ns", "allocations");
    for ((name, ask), time) in named.iter_mut().zip(times) {
        let counted = allocation_counter::measure(ask);
        println!("{name:<52} {time:>9.1} {:>12}", counted.count_total);
    }
}

/// Takes turns between variants and returns each one's least time per check in nanoseconds.
fn race(named: &mut [Named<'_>]) -> Vec<f64> {
    let mut least = vec![Duration::MAX; named.len()];
    for _ in 0..ROUNDS {
        for ((_, ask), least) in named.iter_mut().zip(&mut least) {
            let start = Instant::now();
            (0..ROUND).for_each(|_| ask());
            *least = start.elapsed().min(*least);
        }
    }
    least.iter().map(|time| time.as_secs_f64() * 1e9 / f64::from(ROUND)).collect()
}

type Named<'a> = (&'static str, Box<dyn FnMut() + 'a>);

/// Who is asked.
struct Sides {
    store: MemoryStore,
    limits: [LimitId; 2],
    quotas: [Quota; 2],
    by_code: Limiter,
    by_policy: Limiter,
    by_own_policy: Limiter,
    headers: HeaderMap,
}

impl Sides {
    fn new() -> Self {
        let store = || MemoryStore::with_secret(MemoryOptions::default(), [42; 16]);
        let hour = Span::from_secs(3_600);
        let bucket = Quota::token_bucket(1_000_000_000, Rate::new(1, hour).unwrap()).unwrap();
        let counter = Quota::sliding_counter(1_000_000_000, hour).unwrap();
        let limits = [Limit::new("per-client", bucket), Limit::new("per-account", counter)];
        let policy = || parse_embedded("policy.yaml", POLICY).unwrap();
        let alone = store();
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("accept", "application/json"),
            ("user-agent", "Mozilla/5.0 (X11; Linux x86_64)"),
            ("x-account", "odalys@example.com"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        Self {
            limits: ["per-client", "per-account"].map(|name| alone.limit(name)),
            store: alone,
            quotas: [bucket, counter],
            by_code: Limiter::in_memory(limits).unwrap(),
            by_policy: Limiter::from_policy_with(policy(), Arc::new(store())).unwrap(),
            by_own_policy: Limiter::from_policy(policy()).unwrap(),
            headers,
        }
    }

    fn named(&self) -> Vec<Named<'_>> {
        let (shared, own) = (&self.by_policy, &self.by_own_policy);
        vec![
            ("store-two", Box::new(|| self.ask_store())),
            ("code-one", Box::new(|| drop(done(self.by_code.check_key("per-client", "192.0.2.7"))))),
            ("code-two", Box::new(|| self.ask_by_code())),
            ("policy-none", Box::new(|| self.ask_by_policy(shared, ("GET", "/"), None))),
            ("policy-one-rule", Box::new(|| self.ask_by_policy(shared, ("GET", "/"), Some(client())))),
            ("policy-two-rules", Box::new(|| self.ask_by_policy(shared, SEARCH, Some(client())))),
            ("policy-refused", Box::new(|| self.ask_by_policy(shared, ("POST", "/send"), Some(client())))),
            ("own-policy-none", Box::new(|| self.ask_by_policy(own, ("GET", "/"), None))),
            ("own-policy-two-rules", Box::new(|| self.ask_by_policy(own, SEARCH, Some(client())))),
        ]
    }

    fn ask_store(&self) {
        let check = |index: usize, key: &'static str| Check {
            limit: self.limits[index],
            key: key.as_bytes(),
            quota: &self.quotas[index],
            ask: Ask::ONE,
            shadow: false,
        };
        let store: &dyn Store = black_box(&self.store);
        let checks = [check(0, "192.0.2.7"), check(1, "odalys@example.com")];
        black_box(store.decide(&checks, None).now().unwrap().unwrap().admitted);
    }

    fn ask_by_code(&self) {
        let keys = [("per-client", "192.0.2.7"), ("per-account", "odalys@example.com")];
        let verdict = done(black_box(&self.by_code).check_keys(keys, CheckOptions::default())).unwrap();
        black_box(verdict.is_allowed());
    }

    fn ask_by_policy(&self, by: &Limiter, (method, path): (&str, &str), peer: Option<IpAddr>) {
        let request = Request {
            method,
            host: Some("shop.example.com"),
            path,
            query: None,
            headers: &self.headers,
            peer,
            body: None,
        };
        black_box(done(black_box(by).check(&request)).is_allowed());
    }
}

fn client() -> IpAddr {
    IpAddr::from([192, 0, 2, 7])
}

/// Returns what a future answers at once, as all do that ask a memory store.
fn done<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("a memory store answers at once"),
    }
}

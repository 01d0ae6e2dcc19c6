//! The ways a decision takes most often, each with the most instructions it may take.
//!
//! `cargo xtask instructions` runs each under callgrind, which counts instructions: the same program takes as many on a slow
//! machine as on a fast one, and beside others as alone. So a budget can fail a test where a time never could. What it does
//! not see is what a cache miss, a lock that is held, or a call into the kernel costs: `cargo xtask bench` measures those.
//!
//! A budget is what the way took when it was last looked at, and about a seventh more: compilers, the C library and the
//! processor's features make some difference. Whoever needs more raises it, and says in the commit what the users get for it.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints, and fails by panicking")]

use std::convert::Infallible;
use std::fmt::Write as _;
use std::hint::black_box;
use std::net::IpAddr;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::{HeaderMap, Request, Response};
use http_body_util::Empty;
use tidegate::policy_file::{self, Counting, Descriptor, Reading, Surroundings};
use tidegate::{CheckOptions, DescriptorAsk, Limit, Limiter, Quota, Rate, Span, Timestamp};
use tidegate_store::algorithms::Ask;
use tidegate_store::{Check, MemoryOptions, MemoryStore, Store};
use tidegate_tower::{LimitLayer, PeerAddr};
use tower::{Layer, Service as _, service_fn};

/// A way, and the most instructions one passage may take.
struct Way {
    name: &'static str,
    budget: u64,
    pass: fn(times: u32),
}

const WAYS: &[Way] = &[
    Way {
        name: "store: one token bucket, known key",
        budget: 940,
        pass: |times| store(times, 1, admitting()),
    },
    Way {
        name: "store: one token bucket that refuses",
        budget: 940,
        pass: |times| store(times, 1, refusing()),
    },
    Way { name: "store: two limits on one key", budget: 1_700, pass: |times| store(times, 2, admitting()) },
    Way { name: "limiter: two limits in code", budget: 3_900, pass: two_limits },
    Way { name: "limiter: a request, one rule", budget: 5_700, pass: |times| request(times, 1) },
    Way {
        name: "limiter: a request, ten thousand rules",
        budget: 5_900,
        pass: |times| request(times, 10_000),
    },
    Way { name: "limiter: an Envoy descriptor", budget: 7_500, pass: descriptor },
    Way { name: "layer: a request that passes", budget: 14_200, pass: |times| layer(times, 1_000_000_000) },
    Way { name: "layer: a request that is refused", budget: 19_300, pass: |times| layer(times, 1) },
];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match &arguments[..] {
        [_, list] if list == "--list" => WAYS.iter().for_each(|way| println!("{}\t{}", way.budget, way.name)),
        [_, name, times] => {
            let way =
                WAYS.iter().find(|way| way.name == name).unwrap_or_else(|| panic!("no way is {name:?}"));
            (way.pass)(times.parse().unwrap());
        }
        _ => println!("`cargo xtask instructions` counts what this program does"),
    }
}

/// Runs what is counted: callgrind counts what is called from a function of this name, and nothing else.
#[inline(never)]
fn counted(times: u32, mut each: impl FnMut(u32)) {
    for time in 0..times {
        each(time);
    }
}

/// The instant of a passage, a microsecond after the one before. With the clock left out two runs count the same.
fn instant(time: u32) -> Option<Timestamp> {
    Timestamp::from_micros(1_800_000_000_000_000 + u64::from(time))
}

fn admitting() -> Quota {
    Quota::token_bucket(1 << 30, Rate::new(1, Span::from_secs(3_600)).unwrap()).unwrap()
}

fn refusing() -> Quota {
    Quota::token_bucket(1, Rate::new(1, Span::from_secs(3_600)).unwrap()).unwrap()
}

// === the ways ===

fn store(times: u32, limits: usize, quota: Quota) {
    let store = MemoryStore::with_secret(MemoryOptions::default(), [42; 16]);
    let ids = ["one", "two"].map(|name| store.limit(name));
    let check = |limit: usize| Check {
        limit: ids[limit],
        key: b"203.0.113.7|/otp/verify",
        quota: &quota,
        ask: Ask::ONE,
        shadow: false,
    };
    let checks = [check(0), check(1)];
    let decide = |time| store.decide(&checks[..limits], instant(time)).now().unwrap().unwrap().admitted;
    decide(0);
    counted(times, |time| _ = black_box(decide(time)));
}

fn two_limits(times: u32) {
    let limiter = Limiter::in_memory(["second", "hour"].map(|name| Limit::new(name, admitting()))).unwrap();
    let check = |time| {
        let options = CheckOptions { at: instant(time), ..CheckOptions::default() };
        let keys = [("second", "203.0.113.7"), ("hour", "203.0.113.7")];
        limiter.check_keys(keys, options).now_or_never().unwrap().unwrap().is_allowed()
    };
    assert!(check(0));
    counted(times, |time| _ = black_box(check(time)));
}

fn request(times: u32, rules: u32) {
    let limiter = Limiter::from_policy(policy(rules, 1_000_000_000)).unwrap();
    let headers = HeaderMap::new();
    let path = format!("/orders/{}", rules / 2);
    let request = policy_file::Request {
        method: "GET",
        host: Some("shop.example"),
        path: &path,
        query: None,
        headers: &headers,
        peer: Some(IpAddr::from([203, 0, 113, 7])),
        body: None,
    };
    let check = |time| {
        let verdict = limiter.check_at(&request, instant(time).unwrap()).now_or_never().unwrap();
        assert_eq!(verdict.decisions().len(), 1);
        verdict.is_allowed()
    };
    assert!(check(0));
    counted(times, |time| _ = black_box(check(time)));
}

fn descriptor(times: u32) {
    let limiter = Limiter::from_policy(policy(1, 1_000_000_000)).unwrap();
    let snapshot = limiter.snapshot();
    let entries = [("remote_address", "203.0.113.7")];
    let check = |time| {
        let ask = DescriptorAsk {
            descriptor: Descriptor { domain: "shop", entries: &entries },
            hits: None,
            limit: None,
        };
        let options = CheckOptions { at: instant(time), ..CheckOptions::default() };
        let told =
            snapshot.check_descriptors(&[ask], Counting::AllOrNothing, options).now_or_never().unwrap();
        assert_eq!(told.verdict.decisions().len(), 1);
        told.verdict.is_allowed()
    };
    assert!(check(0));
    counted(times, |time| _ = black_box(check(time)));
}

fn layer(times: u32, capacity: u32) {
    let limiter = Limiter::from_policy(policy(1, capacity)).unwrap();
    let behind =
        service_fn(|_| std::future::ready(Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))));
    let mut service = LimitLayer::new(limiter).layer(behind);
    let mut send = || {
        let mut request = Request::get("/orders/0").body(Empty::<Bytes>::new()).unwrap();
        request.extensions_mut().insert(PeerAddr(IpAddr::from([203, 0, 113, 7])));
        service.call(request).now_or_never().unwrap().unwrap().status()
    };
    assert_eq!(send(), 200);
    let status = if capacity == 1 { 429 } else { 200 };
    counted(times, |_| assert_eq!(send(), status));
}

/// A policy of so many rules for a path each, in files of a thousand, and one for an Envoy descriptor.
fn policy(rules: u32, capacity: u32) -> policy_file::Policy {
    let mut text = format!(
        "tidegate: 1\ngateway: {{ listen: 127.0.0.1:0, upstream: http://127.0.0.1:1 }}\n\
         keys: {{ caller: {{ descriptor: remote_address }} }}\nrules:\n  - name: envoy\n    \
         match: {{ domain: shop, descriptor: [remote_address] }}\n{}include:\n",
        limits("caller", capacity),
    );
    for first in (0..rules).step_by(1_000) {
        let _ = writeln!(text, "  t{first}: {first}.yaml");
    }
    let teams = Teams { rules, capacity };
    Reading::of(&teams).parse("ways.yaml", &text).unwrap_or_else(|problems| panic!("{problems}"))
}

/// The files of teams that [`policy`] names by their first rule.
struct Teams {
    rules: u32,
    capacity: u32,
}

impl Surroundings for Teams {
    fn file(&self, path: &str) -> Result<Vec<u8>, String> {
        let first: u32 = path.trim_end_matches(".yaml").parse().unwrap();
        let limits = limits("client_ip", self.capacity);
        let mut text = String::from("tidegate: 1\nrules:\n");
        for number in first..self.rules.min(first + 1_000) {
            let _ = write!(text, "  - name: r{number}\n    match: {{ path: /orders/{number} }}\n{limits}");
        }
        Ok(text.into_bytes())
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }
}

fn limits(key: &str, capacity: u32) -> String {
    format!(
        "    limits:\n      - name: l\n        says: \"{capacity} at once, then 1 an hour, per client.\"\n        \
         key: {key}\n        token_bucket: {{ capacity: {capacity}, refill: 1 per 1h }}\n"
    )
}

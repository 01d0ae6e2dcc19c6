//! A whole check: a request through a policy's rule of two limits, from its header fields to the verdict.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use anyhow::{Result, ensure};
use http::{HeaderMap, HeaderName, HeaderValue};
use tidegate::policy_file::{Request, parse_embedded};
use tidegate::{Limiter, Verdict};

use super::super::Scale;
use super::super::computed::figures::median;
use super::super::computed::page::{Page, short};
use super::race::{self, Runner, each};

const HEADER: HeaderName = HeaderName::from_static("x-account");
const ROUNDS: u32 = 60;
/// Checks whose allocations are counted.
const COUNTED: u32 = 1_000;

/// Measures, and adds the table.
pub(super) fn measure(scale: Scale, page: &mut Page) -> Result<()> {
    page.line("### A whole check");
    page.line(
        "`Limiter::check` of a request in process, over the memory store, by one rule of two token buckets, one by the client's \
         address and one by an account in a header field; hot keys, one thread. Allocations are counted by the allocator.",
    );
    let admits = limiter("token_bucket: { capacity: 10000000, refill: 12 per 1h }")?;
    let refuses = limiter("token_bucket: { capacity: 1, refill: 1 per 1h }")?;
    let mut headers = HeaderMap::with_capacity(1);
    headers.insert(HEADER, HeaderValue::from_static("account-000001"));
    let request = request(&headers);
    ensure!(checked(&refuses, &request).is_allowed(), "the first request was refused");
    let mut rows = Vec::new();
    for (name, id, limiter, admits) in
        [("admitted", "two-limits", &admits, true), ("refused", "two-limits-refused", &refuses, false)]
    {
        let mut runners = [Runner::new("tidegate", |_, _| each(|_| checked(limiter, &request).is_allowed()))];
        race::alone(scale.of(ROUNDS, 4), &mut runners, admits)?;
        let nanos = median(runners[0].times());
        let counted = allocation_counter::measure(|| {
            (0..COUNTED).for_each(|_| drop(checked(limiter, &request)));
        });
        #[allow(clippy::cast_precision_loss, reason = "a few thousand allocations")]
        let allocations = counted.count_total as f64 / f64::from(COUNTED);
        page.figure(format!("check/{id}/ns"), nanos);
        page.figure(format!("check/{id}/allocations"), allocations);
        rows.push([name.to_owned(), short(nanos), short(allocations)]);
    }
    page.table(["checked", "ns", "allocations"], &rows);
    Ok(())
}

fn limiter(algorithm: &str) -> Result<Limiter> {
    let limit =
        |key| format!("      - {{ name: per-{key}, says: As the numbers say, key: {key}, {algorithm} }}\n");
    let policy = format!(
        "tidegate: 1
keys: {{ account: {{ header: {HEADER} }} }}
rules:
  - name: bench
    match: {{ path: /api/** }}
    limits:
{}{}",
        limit("client_ip"),
        limit("account")
    );
    Ok(Limiter::from_policy(parse_embedded("bench.yaml", &policy)?)?)
}

fn request(headers: &HeaderMap) -> Request<'_> {
    Request {
        method: "GET",
        host: None,
        path: "/api/orders",
        query: None,
        headers,
        peer: Some(std::net::IpAddr::from([192, 0, 2, 7])),
        body: None,
    }
}

/// Checks a request. A store in memory answers at once, so nothing has to be waited for.
pub(in super::super) fn checked(limiter: &Limiter, request: &Request<'_>) -> Verdict {
    let mut check = pin!(limiter.check(request));
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(verdict) = check.as_mut().poll(&mut context) {
            return verdict;
        }
    }
}

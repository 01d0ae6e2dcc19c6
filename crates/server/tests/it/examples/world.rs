//! What one test of an example runs in: a gateway of its own before a service of its own, at a time of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use tidegate::policy_file::Policy;
use tidegate::policy_file::suite::{Case, Expect, Step};
use tidegate::{Limiter, MemoryOptions, MemoryStore, Span, Timestamp};
use tidegate_server::net::{Networks, ProxyProtocol};
use tidegate_server::{api, gateway};
use tidegate_store::Decided;
use tidegate_store::clocked::Clocked;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::hold::{Seen, Tally, Told, hold};
use super::wire::{Arrival, Behind, Reply, exchange, request};
use crate::api::world::Served;
use crate::support::{Gateway, soon};

/// A running gateway, and the requests that are under way in it.
pub(super) struct World<'a> {
    policy: &'a Policy,
    start: Timestamp,
    store: Arc<Clocked>,
    decided: mpsc::UnboundedReceiver<Span>,
    gateway: Gateway,
    api: Served,
    behind: Behind,
    last_number: u64,
    under_way: BTreeMap<u64, UnderWay<'a>>,
    /// Requests that passed, as their clients can tell.
    admitted: u64,
    pub(super) tally: Tally,
}

/// A request without its answer.
struct UnderWay<'a> {
    step: &'a Step,
    place: String,
    client: JoinHandle<Reply>,
    delay: Span,
    /// When the service behind answers; never when the client leaves before.
    due: Option<Timestamp>,
    /// There once the request has arrived behind.
    arrived: Option<oneshot::Sender<(http::StatusCode, http::HeaderMap)>>,
}

/// What came first of a request.
enum First {
    Answer(Reply),
    Arrival,
    Delay,
}

/// Returns a store at an instant that tells, of each batch it decides, how long an admitted request has to wait; zero
/// for a refused one.
fn clocked(start: Timestamp, decided: mpsc::UnboundedSender<Span>) -> Clocked {
    let store = MemoryStore::new(MemoryOptions::default()).unwrap();
    Clocked::new(store, start).watched(move |answer: &Decided, at| {
        assert_eq!(at, None, "the gateway leaves the time to its store");
        let delays = answer.outcomes.iter().map(|outcome| outcome.decision.delay());
        let delay = delays.max().filter(|_| answer.admitted).unwrap_or(Span::ZERO);
        // A test that has ended listens no more.
        let _ = decided.send(delay);
    })
}

impl<'a> World<'a> {
    pub(super) async fn of(policy: &'a Policy, case: &Case) -> Self {
        let behind = Behind::start().await;
        let (tell, decided) = mpsc::unbounded_channel();
        let store = Arc::new(clocked(case.start, tell));
        let limiter = Limiter::from_policy_with(policy.clone(), store.clone()).unwrap();
        let mut face = policy.gateway.clone().expect("every example has a gateway");
        face.upstream = format!("http://{}", behind.server.address).parse().unwrap();
        let service = gateway::service(&limiter, &face, &policy.trusted).unwrap();
        let mut options = gateway::options(&face, &Networks::default(), None).unwrap();
        let balancer = vec!["127.0.0.0/8".parse().unwrap()].into();
        options.proxy_protocol = Some(ProxyProtocol { trusted: balancer, ..ProxyProtocol::default() });
        Self {
            policy,
            start: case.start,
            store,
            decided,
            gateway: Gateway::around(service, options).await,
            api: Served::start(api::service(limiter, None)).await,
            behind,
            last_number: 0,
            under_way: BTreeMap::new(),
            admitted: 0,
            tally: Tally::default(),
        }
    }

    /// Makes a step's requests, one after the other, and holds what comes of them against what is expected.
    pub(super) async fn step(&mut self, step: &'a Step, place: &str) {
        let request = step.request.request();
        let Some(_) = request.peer.filter(|_| is_plain(step)) else {
            self.tally.skipped += 1;
            return;
        };
        let mut admitted = 0;
        for (instant, nth) in step.instants().zip(1..) {
            let place = format!("{place}, request {nth} of {}", step.repeat);
            let at = self.start.saturating_add(instant);
            self.answer_until(at).await;
            if step.peek {
                self.look(&step.expect, step, None, &place).await;
                continue;
            }
            let passed = self.send(step, place.clone()).await;
            admitted += u32::from(passed);
            self.answer_until(at).await;
            self.look(&step.expect, step, Some(passed), &place).await;
        }
        if let Some(expected) = step.expect.admitted() {
            assert_eq!(admitted, expected, "{place}: admitted");
            self.tally.note(place, "admitted", true);
        }
        if !step.after.is_empty() {
            self.look(&step.after, step, None, &format!("{place}, after")).await;
        }
    }

    /// Lets every request under way come to its end, and counts what came through.
    pub(super) async fn end(mut self, place: &str) -> Tally {
        self.answer_until(Timestamp::MAX).await;
        assert!(self.under_way.is_empty(), "{place}: without an answer");
        soon(self.gateway.stop()).await.unwrap();
        assert_eq!(self.behind.reached(), self.admitted, "{place}: reached the service behind");
        self.tally
    }

    /// Sends a request and returns whether it passes: whether it comes to the service behind, or is on its way there.
    async fn send(&mut self, step: &'a Step, place: String) -> bool {
        self.last_number += 1;
        let number = self.last_number;
        let peer = step.request.request().peer.unwrap();
        let bytes = request(&step.request, peer, number);
        let client = tokio::spawn(exchange(self.gateway.address, bytes));
        let sent = UnderWay { step, place, client, delay: Span::ZERO, due: None, arrived: None };
        self.under_way.insert(number, sent);
        let first = self.first(number).await;
        let sent = self.under_way.get_mut(&number).unwrap();
        if let First::Answer(reply) = first {
            let sent = self.under_way.remove(&number).unwrap();
            assert_eq!(reply.answered_behind(), None, "{}: nobody told the service to answer", sent.place);
            self.finish(&sent, Some(&reply), false);
            return false;
        }
        self.admitted += 1;
        sent.due = step
            .answer
            .after
            .map(|after| self.store.instant().saturating_add(sent.delay).saturating_add(after));
        if sent.due.is_none() {
            self.leave(number).await;
        }
        true
    }

    /// Waits for what comes first of a request: its answer, its arrival behind, or word that it has to wait.
    async fn first(&mut self, number: u64) -> First {
        loop {
            let sent = self.under_way.get_mut(&number).unwrap();
            let first = tokio::select! {
                biased;
                Some(delay) = self.decided.recv() => {
                    sent.delay = delay;
                    if delay == Span::ZERO {
                        continue;
                    }
                    First::Delay
                }
                Some(arrival) = self.behind.arrivals.recv() => {
                    let own = arrival.number == number;
                    self.arrive(arrival);
                    if !own {
                        continue;
                    }
                    First::Arrival
                }
                reply = &mut sent.client => First::Answer(reply.unwrap()),
            };
            // What was decided is known before anything comes of it.
            while let Ok(delay) = self.decided.try_recv() {
                self.under_way.get_mut(&number).unwrap().delay = delay;
            }
            return first;
        }
    }

    fn arrive(&mut self, arrival: Arrival) {
        let sent = self.under_way.get_mut(&arrival.number).expect("nothing arrives twice");
        assert!(sent.arrived.is_none(), "{}: arrived twice", sent.place);
        sent.arrived = Some(arrival.answer);
    }

    async fn until_arrived(&mut self, number: u64) {
        while self.under_way[&number].arrived.is_none() {
            let arrival = soon(self.behind.arrivals.recv()).await.unwrap();
            self.arrive(arrival);
        }
    }

    /// Lets the client leave while the service behind is at work.
    async fn leave(&mut self, number: u64) {
        self.until_arrived(number).await;
        let sent = self.under_way.remove(&number).unwrap();
        sent.client.abort();
        self.finish(&sent, None, true);
    }

    /// Lets the service behind give every answer that is due up to an instant, each at its own, and then sets the clock.
    async fn answer_until(&mut self, now: Timestamp) {
        loop {
            let due = self.under_way.iter().filter_map(|(number, sent)| Some((sent.due?, *number)));
            let Some((due, number)) = due.min().filter(|(due, _)| *due <= now) else { break };
            self.until_arrived(number).await;
            self.store.set(due);
            let mut sent = self.under_way.remove(&number).unwrap();
            Arrival::say(sent.arrived.take().unwrap(), &sent.step.answer);
            let reply = soon(&mut sent.client).await.unwrap();
            assert_eq!(reply.answered_behind(), Some(number), "{}: {reply:?}", sent.place);
            self.finish(&sent, Some(&reply), true);
        }
        self.store.set(now);
    }

    /// Holds what a client got against what is expected.
    fn finish(&mut self, sent: &UnderWay<'_>, reply: Option<&Reply>, passed: bool) {
        let told = Told::Wire { reply, passed, delay: sent.delay };
        let seen = Seen { policy: self.policy, step: sent.step, place: &sent.place };
        hold(&sent.step.expect, &seen, &told, &mut self.tally);
    }

    /// Asks the decision API, without taking, what it makes of a step's request at this moment.
    async fn look(&mut self, expect: &Expect, step: &Step, passed: Option<bool>, place: &str) {
        if expect.is_empty() || expect.admitted().is_some() {
            return;
        }
        let verdict = self.api.check(call(step)).await;
        let seen = Seen { policy: self.policy, step, place };
        hold(expect, &seen, &Told::Look { verdict: &verdict, passed }, &mut self.tally);
    }
}

/// Returns whether a step's request can be made over HTTP: a caller of the API alone gives keys, costs and delays.
fn is_plain(step: &Step) -> bool {
    let request = &step.request;
    request.keys().is_empty() && request.cost.is_none() && request.max_delay.is_none()
}

/// Describes a step's request to the decision API.
fn call(step: &Step) -> serde_json::Value {
    let request = step.request.request();
    let mut headers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, value) in request.headers {
        headers.entry(name.as_str()).or_default().push(value.to_str().unwrap());
    }
    serde_json::json!({
        "method": request.method,
        "path": request.path,
        "query": request.query,
        "host": request.host,
        "client": request.peer,
        "headers": headers,
        "body": request.body.map(|body| std::str::from_utf8(body).unwrap()),
        // 400 days: as the gateway does, it waits as long as need be.
        "max_delay_ms": 34_560_000_000_u64,
        "peek": true,
    })
}

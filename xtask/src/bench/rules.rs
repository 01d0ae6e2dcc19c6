//! Many rules: what a request costs when the policy has ten of them, and when it has ten thousand.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use http::{HeaderMap, HeaderName, HeaderValue};
use tidegate::Limiter;
use tidegate::files::load_embedded;
use tidegate::policy_file::Request;

use super::Scale;
use super::computed::figures::{median, ratio};
use super::computed::page::{Page, short};
use super::gateway::start_tidegate;
use super::memory::check::checked;
use super::memory::race::{self, Runner, each_of};
use super::process::{Process, file, free_port};
use super::redis::keys::Random;
use super::subject::{Seen, Turn};
use super::wrk::{self, Asks};

/// How many rules a policy has, the fewest first.
const RULES: [u32; 4] = [10, 100, 1_000, 10_000];
/// How many of them stand in one file.
const TEAM: usize = 2_500;
/// How many different requests there are, whatever the number of rules: as many keys in the store, then.
const REQUESTS: u32 = 10_000;
const ROUNDS: u32 = 30;
/// How long a round of checks is to take.
const ROUND: Duration = Duration::from_millis(20);
const TURNS: u32 = 5;
const SECONDS: u32 = 2;
const HEADER: HeaderName = HeaderName::from_static("x-account");

/// Measures, and adds the tables.
pub(super) fn measure(scale: Scale, page: &mut Page) -> Result<()> {
    page.line(&format!(
        "Each rule is for the paths below one of its own (`/v1/service-7/**`) and has one token bucket by an account in a header \
         field. Whatever the number of rules, {REQUESTS} different requests are asked, evenly over all rules or those that are told, \
         so that the store has as many keys. A ratio is to the throughput with {} rules.",
        RULES[0]
    ));
    in_process(scale, page)?;
    by_the_api(scale, page)
}

fn in_process(scale: Scale, page: &mut Page) -> Result<()> {
    let limiters = RULES
        .iter()
        .map(|&rules| {
            let path = file(&format!("rules-{rules}.yaml"), &policy(rules, "")?)?;
            Ok(Limiter::from_policy(load_embedded(Path::new(&path))?.policy)?)
        })
        .collect::<Result<Vec<Limiter>>>()?;
    // Each policy is asked about all of its rules, and the largest about no more of them than the smallest has as well.
    let asked = limiters.iter().zip(RULES).map(|(limiter, rules)| (limiter, rules, rules));
    let asked: Vec<_> = asked.chain(limiters.last().map(|limiter| (limiter, RULES[3], RULES[0]))).collect();
    let mut runners = Vec::new();
    for (limiter, _, about) in &asked {
        let asked = Asked::of(*about)?;
        let decisions = asked.in_a_round(limiter);
        runners.push(Runner::of("tidegate", decisions, move |round, _| {
            let mut random = Random::new(round.into());
            each_of(decisions, |_| asked.check(limiter, random.below(asked.requests.len())))
        }));
    }
    race::alone(scale.of(ROUNDS, 3), &mut runners, true)?;
    page.line("### `Limiter::check`, in process");
    let mut rows = Vec::new();
    for (runner, (_, rules, about)) in runners.iter().zip(&asked) {
        let nanos = median(runner.times());
        // Of times, the one with few rules over the one with many is that of their throughputs.
        let throughput = ratio(runners[0].times(), runner.times());
        let (whole, id) = (about == rules, format!("rules/check/{rules}/of-{about}"));
        let about = if whole { "all".to_owned() } else { about.to_string() };
        rows.push([rules_of(*rules), about, short(nanos), short(throughput)]);
        page.figure(format!("{id}/ns"), nanos);
        page.figure(format!("{id}/throughput"), throughput);
    }
    page.table(["policy", "asked about", "ns a check", "throughput"], &rows);
    Ok(())
}

/// The requests of a policy with so many rules.
struct Asked {
    requests: Vec<(String, HeaderMap)>,
}

impl Asked {
    fn of(rules: u32) -> Result<Self> {
        let request = |number: u32| {
            let account = HeaderValue::from_str(&format!("user-{number:06}"))?;
            Ok((path(number % rules), HeaderMap::from_iter([(HEADER, account)])))
        };
        Ok(Self { requests: (0..REQUESTS).map(request).collect::<Result<_>>()? })
    }

    fn check(&self, limiter: &Limiter, place: usize) -> bool {
        self.requests.get(place).is_some_and(|(path, headers)| {
            let request =
                Request { method: "GET", host: None, path, query: None, headers, peer: None, body: None };
            checked(limiter, &request).is_allowed()
        })
    }

    /// Asks once for everything, and returns how many checks take about as long as a round is to take.
    fn in_a_round(&self, limiter: &Limiter) -> u32 {
        let began = Instant::now();
        let all = self.requests.len();
        (0..all).for_each(|place| _ = self.check(limiter, place));
        let each = began.elapsed().as_nanos() / u128::from(REQUESTS);
        u32::try_from(ROUND.as_nanos() / each.max(1)).unwrap_or(u32::MAX).clamp(100, race::ROUND)
    }
}

/// A decision API with so many rules.
struct Api {
    rules: u32,
    process: Process,
    port: u16,
    seen: Seen,
}

fn by_the_api(scale: Scale, page: &mut Page) -> Result<()> {
    let mut apis = [RULES[0], RULES[3]].map(start).into_iter().collect::<Result<Vec<Api>>>()?;
    for turn in 0..=scale.of(TURNS, 1) {
        for api in &mut apis {
            let seconds = if turn == 0 { 1 } else { scale.of(SECONDS, 1) };
            api.turn(seconds.into(), turn > 0)?;
        }
    }
    page.line("### The decision API, over HTTP");
    let mut rows = Vec::new();
    for api in &apis {
        let throughput = ratio(api.seen.rates(), apis[0].seen.rates());
        page.figure(format!("rules/api/{}/requests-per-s", api.rules), median(api.seen.rates()));
        rows.push([
            rules_of(api.rules),
            short(median(api.seen.cpus())),
            short(median(api.seen.rates())),
            short(throughput),
        ]);
        if api.rules == RULES[3] {
            page.figure("rules/api/throughput", throughput);
        }
    }
    page.table(["policy", "CPU µs a decision", "a second", "throughput"], &rows);
    Ok(())
}

fn start(rules: u32) -> Result<Api> {
    let port = free_port()?;
    let faces = format!("api: {{ listen: 127.0.0.1:{port} }}\n");
    let process = start_tidegate("rules", &policy(rules, &faces)?, port)?;
    Ok(Api { rules, process, port, seen: Seen::default() })
}

impl Api {
    fn turn(&mut self, seconds: f64, counts: bool) -> Result<()> {
        let (rules, port) = (self.rules, self.port);
        let body = r#"{"method":"GET","path":"/v1/service-%d/orders","headers":{"x-account":"user-%06d"}}"#;
        let asks = Asks {
            name: "rules",
            count: REQUESTS,
            request: format!(
                "'POST', '/v1/check', {{ ['Content-Type'] = 'application/json' }}, \
                 string.format('{body}', number % {rules}, number)"
            ),
        };
        let mut warm = Seen::default();
        let seen = if counts { &mut self.seen } else { &mut warm };
        seen.turn(&self.process, None, || {
            let answered = wrk::run(&asks, port, seconds)?;
            ensure!(answered.refusals == 0, "{} answers of a wrong status", answered.refusals);
            Ok(Turn { requests: answered.requests, rate: answered.rate, p99: answered.p99 })
        })
    }
}

fn rules_of(rules: u32) -> String {
    format!("{rules} rules")
}

fn path(rule: u32) -> String {
    format!("/v1/service-{rule}/orders")
}

/// Returns a policy of so many rules, which stand in files of teams beside it: one file may not be as long.
fn policy(rules: u32, faces: &str) -> Result<String> {
    let mut text = format!("tidegate: 1\n{faces}keys: {{ account: {{ header: {HEADER} }} }}\ninclude:\n");
    for (team, first) in (0..rules).step_by(TEAM).enumerate() {
        let own = (first..rules).take(TEAM).map(rule).collect::<String>();
        let name = format!("rules-{rules}-{team}.yaml");
        file(&name, &format!("tidegate: 1\nrules:\n{own}"))?;
        writeln!(text, "  team-{team}: {name}")?;
    }
    Ok(text)
}

fn rule(number: u32) -> String {
    let bucket = "token_bucket: { capacity: 1000000, refill: 1 per 1m }";
    format!(
        "  - name: service-{number}
    match: {{ path: /v1/service-{number}/** }}
    limits: [{{ name: per-account, says: As the numbers say, key: account, {bucket} }}]
"
    )
}

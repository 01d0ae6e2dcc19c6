//! Decision servers: the decision API and Envoy's rate-limit service, in memory and with Redis, beside throttlecrab-server.

mod grpc;
mod http;

use anyhow::{Result, ensure};

use super::Scale;
use super::computed::message::{self, Load, Make};
use super::computed::page::{Page, short};
use super::computed::told::metric;
use super::gateway::start_tidegate;
use super::plain_http::get;
use super::process::{ASKING, MEASURED, Process, Starts, file, folder, free_port};
use super::subject::{Seen, Turn, show};
use super::tools::Tool;
use super::wrk::CONNECTIONS;

const TURNS: u32 = 4;
const SECONDS: u32 = 3;
/// Keys that are let through.
const KEYS: u32 = 100_000;

/// How a server is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Door {
    Http,
    Grpc,
}

const LOADS: [(Door, Load, &str); 4] = [
    (Door::Http, Load::Allowed, "servers/http/allowed"),
    (Door::Http, Load::Refused, "servers/http/refused"),
    (Door::Grpc, Load::Allowed, "servers/grpc/allowed"),
    (Door::Grpc, Load::Refused, "servers/grpc/refused"),
];

/// A server, and what it was seen to take under each load.
struct Server {
    id: &'static str,
    name: &'static str,
    make: Make,
    process: Process,
    http: u16,
    grpc: u16,
    /// Where its metrics are.
    metrics: u16,
    seen: [Seen; 4],
}

/// Measures, and adds the tables.
pub(super) fn measure(scale: Scale, page: &mut Page) -> Result<()> {
    let (redis, redis_port) = start_redis()?;
    let mut servers = [
        throttlecrab()?,
        tidegate("tidegate", "tidegate, in memory", "memory")?,
        tidegate("tidegate-redis", "tidegate, with Redis", &over(redis_port)?)?,
    ];
    for turn in 0..=scale.of(TURNS, 1) {
        let seconds = if turn == 0 { 1 } else { scale.of(SECONDS, 1) };
        for place in 0..LOADS.len() {
            for server in &mut servers {
                let behind = (server.id == "tidegate-redis").then_some(&redis);
                server.turn(place, behind, seconds.into(), turn > 0)?;
            }
        }
    }
    servers.iter().try_for_each(Server::never_lost_its_store)?;
    let (seconds, turns) = (scale.of(SECONDS, 1), scale.of(TURNS, 1));
    page.line(&format!(
        "{seconds} s a turn, {turns} turns; a server on one processor, who asks on the other, and Redis with him. HTTP: wrk with \
         {CONNECTIONS} connections. gRPC: a generator of the bench's, {} connections with {} streams each. All limits are token \
         buckets. In the last column stands what Redis takes. One key that is refused is remembered by the process for half a \
         second, so it seldom comes to Redis. throttlecrab-server has its default store (`periodic`), in memory.",
        grpc::CONNECTIONS,
        grpc::STREAMS,
    ));
    for (place, (door, load, id)) in LOADS.into_iter().enumerate() {
        let door = if door == Door::Http { "HTTP" } else { "gRPC" };
        let load = match load {
            Load::Allowed => format!("{} keys, allowed", short(KEYS.into())),
            Load::Refused => "one key, refused".to_owned(),
        };
        page.line(&format!("### {door}, {load}"));
        let rows: Vec<(&str, &str, &Seen)> =
            servers.iter().map(|server| (server.id, server.name, &server.seen[place])).collect();
        show(page, id, &rows, "throttlecrab");
    }
    Ok(())
}

impl Server {
    /// Takes its turn under a load.
    fn turn(&mut self, place: usize, behind: Option<&Process>, seconds: f64, counts: bool) -> Result<()> {
        let (door, load, _) = LOADS[place];
        let mut warm = Seen::default();
        let mut seen = std::mem::take(&mut self.seen[place]);
        let noting = if counts { &mut seen } else { &mut warm };
        let done = noting.turn(&self.process, behind, || {
            let (turn, admitted) = match door {
                Door::Http => self.by_http(load, seconds)?,
                Door::Grpc => grpc::run(&message::calls(self.make, load, KEYS), self.grpc, seconds)?,
            };
            self.judge(load, turn.requests, admitted)?;
            Ok(turn)
        });
        self.seen[place] = seen;
        done
    }

    /// Asks by wrk. Every answer has the status 200, so what became of them is read from the server's own counts.
    fn by_http(&self, load: Load, seconds: f64) -> Result<(Turn, u64)> {
        let before = self.counted()?;
        let answered = super::wrk::run(&http::asks(self.make, load, KEYS), self.http, seconds)?;
        ensure!(answered.refusals == 0, "{}: {} answers of a wrong status", self.name, answered.refusals);
        let after = self.counted()?;
        let [admitted, refused] = [after.0 - before.0, after.1 - before.1];
        let counted = admitted + refused;
        // What is under way when the time is over is counted by the server alone.
        let most = answered.requests + u64::from(CONNECTIONS);
        ensure!(
            (answered.requests..=most).contains(&counted),
            "{} counted {counted} decisions of {}",
            self.name,
            answered.requests
        );
        let turn = Turn { requests: answered.requests, rate: answered.rate, p99: answered.p99 };
        let admitted =
            if load == Load::Allowed { answered.requests.saturating_sub(refused) } else { admitted };
        Ok((turn, admitted))
    }

    /// All are admitted that may be. Of the one key two are at most, when it is asked for the first time.
    fn judge(&self, load: Load, requests: u64, admitted: u64) -> Result<()> {
        let right = match load {
            Load::Allowed => admitted == requests,
            Load::Refused => admitted <= 2,
        };
        ensure!(right, "{} admitted {admitted} of {requests} ({load:?})", self.name);
        Ok(())
    }

    /// Returns how many it says that it has admitted, and refused.
    fn counted(&self) -> Result<(u64, u64)> {
        let text = get(self.metrics, "/metrics", "Accept: */*")?.body;
        let names = match self.make {
            Make::Throttlecrab => ["throttlecrab_requests_allowed", "throttlecrab_requests_denied"],
            Make::Tidegate => {
                ["tidegate_requests_total{ruling=\"allowed\"}", "tidegate_requests_total{ruling=\"refused\"}"]
            }
        };
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts")]
        let [admitted, refused] = names.map(|name| metric(&text, name) as u64);
        Ok((admitted, refused))
    }

    /// Sees that no decision was made without the store: such a one is cheaper.
    fn never_lost_its_store(&self) -> Result<()> {
        if self.make == Make::Tidegate {
            let text = get(self.metrics, "/metrics", "Accept: */*")?.body;
            let lost = metric(&text, "tidegate_store_errors_total");
            ensure!(lost == 0.0, "{}: the store did not answer {lost} times", self.name);
        }
        Ok(())
    }
}

fn throttlecrab() -> Result<Server> {
    let (http, grpc) = (free_port()?, free_port()?);
    let ports = [http.to_string(), grpc.to_string()];
    let arguments = [
        "--http",
        "--http-host",
        "127.0.0.1",
        "--http-port",
        &ports[0],
        "--grpc",
        "--grpc-host",
        "127.0.0.1",
        "--grpc-port",
        &ports[1],
        "--log-level",
        "warn",
    ];
    let starts = Starts::new(Tool::ThrottlecrabServer, &arguments)?;
    Ok(Server {
        id: "throttlecrab",
        name: "throttlecrab-server",
        make: Make::Throttlecrab,
        process: Process::start("throttlecrab", MEASURED, &starts, http)?,
        http,
        grpc,
        metrics: http,
        seen: Default::default(),
    })
}

fn tidegate(id: &'static str, name: &'static str, store: &str) -> Result<Server> {
    let (http, grpc, metrics) = (free_port()?, free_port()?, free_port()?);
    let rule = |name: &str, matches: &str, key: &str, bucket: &str| {
        format!(
            "  - name: {name}
    match: {{ {matches} }}
    on_store_failure: deny
    limits: [{{ name: per-account, says: As the numbers say, key: {key}, token_bucket: {{ {bucket} }} }}]
"
        )
    };
    let (much, little) = ("capacity: 1000000, refill: 1 per 1m", "capacity: 1, refill: 1 per 24h");
    let policy = format!(
        "tidegate: 1
api: {{ listen: 127.0.0.1:{http} }}
envoy: {{ listen: 127.0.0.1:{grpc}, timeout: 5s }}
admin: {{ listen: 127.0.0.1:{metrics} }}
store: {store}
keys:
  account: {{ header: x-account }}
  allowed: {{ descriptor: allowed }}
  refused: {{ descriptor: refused }}
rules:
{}{}{}{}",
        rule("allowed", "path: /allowed", "account", much),
        rule("refused", "path: /refused", "account", little),
        rule("rls-allowed", "domain: bench, descriptor: [allowed]", "allowed", much),
        rule("rls-refused", "domain: bench, descriptor: [refused]", "refused", little),
    );
    let process = start_tidegate(id, &policy, http)?;
    Ok(Server { id, name, make: Make::Tidegate, process, http, grpc, metrics, seen: Default::default() })
}

/// Returns the store of a policy over the Redis on that port. Its patience is longer than any pause of a busy machine.
fn over(redis: u16) -> Result<String> {
    let secret = file("identities.secret", "a secret that measures nothing..")?;
    Ok(format!("{{ redis: {{ url: 'redis://127.0.0.1:{redis}', timeout: 5s }} }}\nkey_secret_file: {secret}"))
}

/// Starts a Redis beside those who ask.
fn start_redis() -> Result<(Process, u16)> {
    let port = free_port()?;
    let (number, folder) = (port.to_string(), folder()?.display().to_string());
    let arguments =
        ["--port", &number, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", &folder];
    let starts = Starts::new(Tool::Redis, &arguments)?;
    Ok((Process::start("redis", ASKING, &starts, port)?, port))
}

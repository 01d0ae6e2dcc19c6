//! The gateway beside nginx in front of the same upstream.

use anyhow::{Result, ensure};

use super::Scale;
use super::computed::page::Page;
use super::plain_http::get;
use super::process::{ASKING, MEASURED, Process, Starts, file, folder, free_port};
use super::subject::{Seen, Turn, show};
use super::tools::Tool;
use super::wrk::{self, Asks, CONNECTIONS};

const TURNS: u32 = 5;
const SECONDS: u32 = 3;
/// Users who are let through.
pub(super) const USERS: u32 = 100_000;
/// The field that tells users apart.
pub(super) const FIELD: &str = "X-Account";

/// A server in front of the upstream, and what it was seen to take.
struct Front {
    id: &'static str,
    name: &'static str,
    server: Process,
    port: u16,
    /// The path on which all is let through, then the one on which one user is refused, if any.
    paths: [&'static str; 2],
    seen: [Seen; 2],
}

/// Measures, and adds the tables.
pub(super) fn measure(scale: Scale, page: &mut Page) -> Result<()> {
    let upstream = upstream()?;
    let mut fronts = [
        Front::new("nginx", "nginx, no limit", nginx(upstream.1)?, ["/plain", ""]),
        Front::new("nginx-limit", "nginx, `limit_req`", nginx(upstream.1)?, ["/allowed", "/flood"]),
        Front::new("tidegate", "tidegate", tidegate(upstream.1)?, ["/allowed", "/flood"]),
    ];
    for front in &mut fronts {
        front.answers()?;
    }
    for turn in 0..=scale.of(TURNS, 1) {
        for front in &mut fronts {
            // The first turn only warms up.
            let seconds = if turn == 0 { 1 } else { scale.of(SECONDS, 1) };
            front.turn(&upstream.0, seconds.into(), turn > 0)?;
        }
    }
    let (seconds, turns) = (scale.of(SECONDS, 1), scale.of(TURNS, 1));
    page.line(&format!(
        "wrk with {CONNECTIONS} connections for {seconds} s a turn, {turns} turns; the gateway on one processor, wrk and the upstream (nginx, \
         80 bytes) on the other, which may be what limits the requests a second: look at the CPU. Each has one limit by a header \
         field, and answers as it is set up to from the start; Tidegate's answers tell the client what is left of it (`RateLimit` \
         fields), nginx's do not. Ratios are to nginx with `limit_req`."
    ));
    let loads = [
        (format!("### Allowed: {USERS} users, none of them refused"), "gateway/allowed"),
        ("### Flood: one user, refused".to_owned(), "gateway/flood"),
    ];
    for (place, (title, load)) in loads.iter().enumerate() {
        page.line(title);
        let servers: Vec<(&str, &str, &Seen)> = fronts
            .iter()
            .filter(|front| !front.paths[place].is_empty())
            .map(|front| (front.id, front.name, &front.seen[place]))
            .collect();
        show(page, load, &servers, "nginx-limit");
    }
    Ok(())
}

impl Front {
    fn new(
        id: &'static str,
        name: &'static str,
        (server, port): (Process, u16),
        paths: [&'static str; 2],
    ) -> Self {
        Self { id, name, server, port, paths, seen: [Seen::default(), Seen::default()] }
    }

    /// Sees that it lets through and refuses as it should. Afterwards the user of the flood has used up what he may.
    fn answers(&self) -> Result<()> {
        let [allowed, flood] = self.paths;
        let mut expected = vec![(allowed, 200), (allowed, 200)];
        if !flood.is_empty() {
            expected.extend([(flood, 200), (flood, 429), (flood, 429)]);
        }
        for (path, status) in expected {
            let answer = get(self.port, path, &format!("{FIELD}: user-000001"))?;
            ensure!(
                answer.status == status,
                "{} answered {} on {path}, not {status}: {}",
                self.name,
                answer.status,
                answer.body
            );
        }
        Ok(())
    }

    /// Takes its turn under each load.
    fn turn(&mut self, upstream: &Process, seconds: f64, counts: bool) -> Result<()> {
        for (place, path) in self.paths.into_iter().enumerate().filter(|(_, path)| !path.is_empty()) {
            let floods = place == 1;
            let asks = Asks {
                name: "gateway",
                count: if floods { 1 } else { USERS },
                request: format!("'GET', '{path}', {{ ['{FIELD}'] = string.format('user-%06d', number) }}"),
            };
            let mut warm = Seen::default();
            let seen = if counts { &mut self.seen[place] } else { &mut warm };
            seen.turn(&self.server, Some(upstream), || {
                let answered = wrk::run(&asks, self.port, seconds)?;
                let passed = answered.requests - answered.refusals;
                // One may pass each time that a minute is over.
                let right = if floods { passed <= 1 } else { answered.refusals == 0 };
                ensure!(right, "{} let {passed} of {} pass on {path}", self.name, answered.requests);
                Ok(Turn { requests: answered.requests, rate: answered.rate, p99: answered.p99 })
            })?;
        }
        Ok(())
    }
}

/// Starts the upstream: an nginx that answers by itself.
pub(super) fn upstream() -> Result<(Process, u16)> {
    let port = free_port()?;
    let body = format!("{:78}", "{ \"service\": \"upstream\" }");
    let server = format!("location / {{ default_type application/json; return 200 '{body}\\n'; }}");
    Ok((start_nginx("upstream", ASKING, port, "", &server)?, port))
}

/// Starts nginx with a limit for each of the loads.
pub(super) fn nginx(upstream: u16) -> Result<(Process, u16)> {
    let port = free_port()?;
    let field = FIELD.to_lowercase().replace('-', "_");
    let http = format!(
        "upstream back {{ server 127.0.0.1:{upstream}; keepalive 64; keepalive_requests 1000000000; }}
  limit_req_zone $http_{field} zone=allowed:64m rate=1r/m;
  limit_req_zone $http_{field} zone=flood:1m rate=1r/m;
  limit_req_zone $http_{field} zone=limited:64m rate=100r/s;
  limit_req_status 429;"
    );
    let pass = "proxy_pass http://back; proxy_http_version 1.1; proxy_set_header Connection '';";
    let server = format!(
        "location /plain {{ {pass} }}
    location /allowed {{ limit_req zone=allowed burst=1000000 nodelay; {pass} }}
    location /flood {{ limit_req zone=flood; {pass} }}
    location /limited {{ limit_req zone=limited burst=100 nodelay; {pass} }}"
    );
    Ok((start_nginx("nginx", MEASURED, port, &http, &server)?, port))
}

fn start_nginx(name: &'static str, cpu: usize, port: u16, http: &str, server: &str) -> Result<Process> {
    let own = folder()?.join(format!("{name}-{port}"));
    std::fs::create_dir_all(&own)?;
    let own = own.display();
    let text = format!(
        "daemon off;
worker_processes 1;
pid {own}/pid;
error_log stderr crit;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  keepalive_requests 1000000000;
  client_body_temp_path {own}/body;
  proxy_temp_path {own}/proxy;
  fastcgi_temp_path {own}/fastcgi;
  uwsgi_temp_path {own}/uwsgi;
  scgi_temp_path {own}/scgi;
  {http}
  server {{
    listen 127.0.0.1:{port};
    {server}
  }}
}}
"
    );
    let path = file(&format!("{name}-{port}.conf"), &text)?;
    let starts = Starts::new(Tool::Nginx, &["-e", "stderr", "-p", &own.to_string(), "-c", &path])?;
    Process::start(name, cpu, &starts, port)
}

/// Starts the gateway with a limit for each of the loads.
pub(super) fn tidegate(upstream: u16) -> Result<(Process, u16)> {
    let port = free_port()?;
    let rule = |name: &str, bucket: &str| {
        format!(
            "  - name: {name}
    match: {{ path: /{name} }}
    limits: [{{ name: per-account, says: As the numbers say, key: account, token_bucket: {{ {bucket} }} }}]
"
        )
    };
    let policy = format!(
        "tidegate: 1
gateway: {{ listen: 127.0.0.1:{port}, upstream: http://127.0.0.1:{upstream} }}
keys: {{ account: {{ header: {FIELD} }} }}
rules:
{}{}{}",
        rule("allowed", "capacity: 1000000, refill: 1 per 1m"),
        rule("flood", "capacity: 1, refill: 1 per 1m"),
        rule("limited", "capacity: 100, refill: 100 per 1s"),
    );
    Ok((start_tidegate("gateway", &policy, port)?, port))
}

/// Starts `tidegate serve` on the processor of what is measured.
pub(super) fn start_tidegate(name: &'static str, policy: &str, port: u16) -> Result<Process> {
    let path = file(&format!("{name}-{port}.yaml"), policy)?;
    let starts = Starts::new(Tool::Tidegate, &["serve", "--log-level", "warn", "--no-watch", &path])?;
    Process::start(name, MEASURED, &starts, port)
}

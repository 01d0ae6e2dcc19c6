//! Where counts are kept: in memory, or in a Redis by its address.

use std::path::PathBuf;

use tidegate_algorithms::Span;

use super::outside;
use super::span_within as span_in;
use crate::Reading;
use crate::file::{Fields, Node, Report};
use crate::store::{
    MemoryChoice, RedisChoice, RedisPassword, RedisServers, RedisTls, SnapshotChoice, StoreChoice,
};

/// How a store in Redis is written.
const SHAPE: &str = "write `store: { redis: { url: redis://host:6379 } }`";
const TIMEOUT: Span = Span::from_millis(50);
const DENIAL_MEMORY: Span = Span::from_millis(500);
const SNAPSHOT_EVERY: Span = Span::from_secs(30);
const QUEUE: usize = 10_000;
/// The most bytes of a file with a password.
const MOST_PASSWORD: usize = 4 << 10;

/// Reads the store.
pub(super) fn read(node: &Node, reading: Reading<'_>, report: &mut Report) -> Option<StoreChoice> {
    if let Some(word) = node.scalar() {
        if word.starts_with("redis") || word.starts_with("valkey") {
            report.add(node.place, "a store in Redis needs its address", SHAPE);
            return None;
        }
        return node.choice("the store", &[((), "memory")], report).map(|()| StoreChoice::default());
    }
    let mut fields = Fields::open(node, "the store", report)?;
    let (memory, redis) = (fields.get("memory"), fields.get("redis"));
    let is_empty = fields.is_empty();
    fields.finish(&[], report);
    match (memory, redis) {
        (Some(_), Some(redis)) => {
            report.add(redis.place, "the store is one of memory and redis", "leave one of them out");
            None
        }
        (Some(node), None) => memory_store(node, report).map(StoreChoice::Memory),
        (None, Some(node)) => redis_store(node, reading, report).map(Box::new).map(StoreChoice::Redis),
        (None, None) => {
            if is_empty {
                report.add(node.place, "the store is empty", "write `store: memory`");
            }
            None
        }
    }
}

fn memory_store(node: &Node, report: &mut Report) -> Option<MemoryChoice> {
    let mut fields = Fields::open(node, "the memory store", report)?;
    let keys = fields.get("max_keys").and_then(|node| node.integer_in("max_keys", 1..=1 << 32, report));
    let bytes = fields.get("max_bytes").and_then(|node| node.size("max_bytes", report));
    let snapshot = fields.get("snapshot").and_then(|node| snapshot(node, report));
    fields.finish(&[], report);
    let max_keys = keys.and_then(|count| usize::try_from(count).ok());
    Some(MemoryChoice { max_keys, max_bytes: bytes, snapshot })
}

fn snapshot(node: &Node, report: &mut Report) -> Option<SnapshotChoice> {
    let mut fields = Fields::open(node, "the snapshot", report)?;
    let file = fields.need("file", "/var/lib/tidegate/counts");
    let file = file.and_then(|node| node.text("file", report)).map(PathBuf::from);
    let bounds = (Span::from_secs(1), Span::from_secs(3_600));
    let every = fields.get("every").map(|node| span_in(node, "every", bounds, report));
    fields.finish(&[], report);
    Some(SnapshotChoice { file: file?, every: every.unwrap_or(Some(SNAPSHOT_EVERY))? })
}

fn redis_store(node: &Node, reading: Reading<'_>, report: &mut Report) -> Option<RedisChoice> {
    let mut fields = Fields::open(node, "the store in Redis", report)?;
    let url = fields.need("url", "redis://127.0.0.1:6379").and_then(|node| url(node, report));
    let username = text(&mut fields, "username", report);
    let password = password(&mut fields, "password", "password_file", reading, report);
    let sentinel_username = text(&mut fields, "sentinel_username", report);
    let sentinel_password =
        self::password(&mut fields, "sentinel_password", "sentinel_password_file", reading, report);
    let prefix = fields.get("prefix").map(|node| prefix(node, report));
    let bounds = (Span::from_millis(1), Span::from_secs(10));
    let timeout = fields.get("timeout").map(|node| span_in(node, "timeout", bounds, report));
    let queue = fields.get("queue").map(|node| node.integer_in("queue", 1..=1_000_000, report));
    let denial_memory = match fields.get("denial_memory") {
        Some(node) if node.scalar() == Some("off") => None,
        Some(node) => span_in(node, "denial_memory", (Span::from_millis(1), Span::from_secs(60)), report),
        None => Some(DENIAL_MEMORY),
    };
    let files = ["ca_file", "certificate_file", "key_file"].map(|name| (name, fields.get(name)));
    fields.finish(&["cluster", "sentinel", "host", "port"], report);
    let Url { mut servers, is_tls, database } = url?;
    let tls = tls(files, is_tls, report);
    match &mut servers {
        RedisServers::Sentinel { username, password, .. } => {
            (*username, *password) = (sentinel_username, sentinel_password);
        }
        _ if sentinel_username.is_some() || sentinel_password.is_some() => {
            report.add(node.place, "a user for sentinels, and the url names none", "leave sentinel_… out");
        }
        _ => {}
    }
    Some(RedisChoice {
        servers,
        tls,
        username,
        password,
        prefix: prefix.unwrap_or_else(|| Some("tg".to_owned()))?,
        timeout: timeout.unwrap_or(Some(TIMEOUT))?,
        queue: queue.map_or(Some(QUEUE), |count| usize::try_from(count?).ok())?,
        denial_memory,
        database,
    })
}

fn text(fields: &mut Fields<'_>, name: &'static str, report: &mut Report) -> Option<String> {
    fields.get(name).and_then(|node| node.text(name, report)).map(str::to_owned)
}

fn prefix(node: &Node, report: &mut Report) -> Option<String> {
    let prefix = node.text("prefix", report)?;
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    if prefix.is_empty() || prefix.len() > 64 || !prefix.bytes().all(known) {
        let message = format!("{prefix:?} is no prefix for keys");
        report.add(node.place, message, "choose 1 to 64 letters, digits, `-`, `_`, `.` and `:`");
        return None;
    }
    Some(prefix.to_owned())
}

/// Reads a password: from a file, or from the environment. One that is written into the policy is a secret in whatever keeps
/// the policy.
fn password(
    fields: &mut Fields<'_>,
    name: &'static str,
    file_name: &'static str,
    reading: Reading<'_>,
    report: &mut Report,
) -> Option<RedisPassword> {
    let (written, file) = (fields.get(name), fields.get(file_name));
    if let (Some(written), Some(_)) = (written, file) {
        report.add(
            written.place,
            format!("{name} and {file_name} are two passwords"),
            "leave one of them out",
        );
        return None;
    }
    if let Some(node) = written {
        if !report.is_variable(node.place) {
            let message = format!("{name} stands in the policy, where whoever reads the policy reads it");
            let remedy = format!(
                "write `{file_name}: …`, or `{name}: ${{REDIS_PASSWORD}}` alone, without a default, for the environment's"
            );
            report.add(node.place, message, remedy);
            return None;
        }
        return node.text(name, report).map(RedisPassword::new);
    }
    let node = file?;
    let outside = outside::file(node, file_name, MOST_PASSWORD, reading, report)?;
    let text =
        String::from_utf8(outside.bytes).ok().map(|text| text.trim_end_matches(['\r', '\n']).to_owned());
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        return Some(RedisPassword::new(text));
    }
    let message = format!("\"{}\" holds no password", outside.path);
    report.add(node.place, message, "write the password into it, as text, on one line");
    None
}

fn tls(files: [(&'static str, Option<&Node>); 3], is_tls: bool, report: &mut Report) -> Option<RedisTls> {
    if !is_tls {
        if let Some((name, node)) = files.iter().find_map(|(name, node)| Some((name, (*node)?))) {
            let message = format!("{name} is for TLS, and the url is without it");
            report.add(node.place, message, "write the url with `rediss`, or leave the file out");
        }
        return None;
    }
    let [ca, certificate, key] =
        files.map(|(name, node)| node.and_then(|node| node.text(name, report)).map(PathBuf::from));
    let [_, (_, certificate_node), (_, key_node)] = files;
    if let (Some(node), None) | (None, Some(node)) = (certificate_node, key_node) {
        let message = "a certificate and its key come together";
        report.add(node.place, message, "write both certificate_file and key_file, or neither");
    }
    Some(RedisTls { ca_file: ca, certificate_file: certificate, key_file: key })
}

/// What an address says.
struct Url {
    servers: RedisServers,
    is_tls: bool,
    database: u8,
}

const FORMS: &str = "write redis://host:6379, redis+sentinel://host:26379,host:26379/name or \
                     redis+cluster://host:6379,host:6379, with `rediss` for TLS";

fn url(node: &Node, report: &mut Report) -> Option<Url> {
    match parsed(node.text("url", report)?) {
        Ok(url) => Some(url),
        Err((message, remedy)) => {
            report.add(node.place, message, remedy);
            None
        }
    }
}

/// What is wrong with an address, and what to write instead.
type Fault = (String, &'static str);

fn parsed(text: &str) -> Result<Url, Fault> {
    // Before anything else, for no message may repeat an address that holds a password.
    if text.contains('@') {
        let remedy =
            "write `username:` and `password_file:` (or `password: ${REDIS_PASSWORD}`) beside the url";
        return Err(("the url holds a user or a password".to_owned(), remedy));
    }
    let (scheme, rest) =
        text.split_once("://").ok_or_else(|| (format!("\"{text}\" is no address of a Redis"), FORMS))?;
    let (is_tls, kind) = match scheme {
        "redis" | "valkey" => (false, ""),
        "rediss" | "valkeys" => (true, ""),
        "redis+sentinel" => (false, "sentinel"),
        "rediss+sentinel" => (true, "sentinel"),
        "redis+cluster" => (false, "cluster"),
        "rediss+cluster" => (true, "cluster"),
        _ => return Err((format!("`{scheme}` is no way to reach a Redis"), FORMS)),
    };
    if rest.contains(['?', '#']) {
        let remedy = "write them as fields beside the url";
        return Err(("the url has options after `?` or `#`".to_owned(), remedy));
    }
    let (hosts, path) = rest.split_once('/').unwrap_or((rest, ""));
    let default_port = if kind == "sentinel" { 26_379 } else { 6_379 };
    let hosts: Option<Vec<_>> = hosts.split(',').map(|host| host_and_port(host, default_port)).collect();
    let hosts = hosts.ok_or_else(|| (format!("\"{rest}\" names no host and port"), FORMS))?;
    let (servers, database) = match kind {
        "sentinel" => (sentinels(hosts, path)?, 0),
        "cluster" if path.is_empty() => (RedisServers::Cluster { seeds: hosts }, 0),
        "cluster" => {
            let remedy = "leave out what follows the hosts";
            return Err(("a cluster has only database 0".to_owned(), remedy));
        }
        _ => standalone(hosts, path)?,
    };
    Ok(Url { servers, is_tls, database })
}

fn sentinels(sentinels: Vec<(String, u16)>, name: &str) -> Result<RedisServers, Fault> {
    if name.is_empty() || name.contains('/') {
        let remedy = "end the url with the primary's name: redis+sentinel://host:26379/mymaster";
        return Err(("the url does not say which primary the sentinels are asked for".to_owned(), remedy));
    }
    // What sentinels themselves take; anything else, `%20` too, is the name of none.
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) {
        let remedy = "write it as `sentinel monitor` does: letters, digits, `-`, `_` and `.`";
        return Err((format!("{name:?} is no name of a primary"), remedy));
    }
    Ok(RedisServers::Sentinel { sentinels, name: name.to_owned(), username: None, password: None })
}

fn standalone(mut hosts: Vec<(String, u16)>, path: &str) -> Result<(RedisServers, u8), Fault> {
    if hosts.len() > 1 {
        let remedy = "write redis+cluster:// for a cluster's nodes, redis+sentinel:// for sentinels";
        return Err(("the url names several servers".to_owned(), remedy));
    }
    let database = match number(path) {
        Some(number) => number,
        None if path.is_empty() => 0,
        None => return Err((format!("\"{path}\" is no number of a database"), FORMS)),
    };
    let (host, port) = hosts.pop().ok_or_else(|| ("the url names no server".to_owned(), FORMS))?;
    Ok((RedisServers::Standalone { host, port }, database))
}

fn host_and_port(text: &str, default_port: u16) -> Option<(String, u16)> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']')?;
            host.parse::<std::net::Ipv6Addr>().ok()?;
            (host, port.strip_prefix(':').or(port.is_empty().then_some(""))?)
        }
        None => text.split_once(':').unwrap_or((text, "")),
    };
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    let port = if port.is_empty() { default_port } else { number(port).filter(|port| *port > 0)? };
    (!host.is_empty() && host.bytes().all(known)).then(|| (host.to_owned(), port))
}

/// Reads a number of digits alone: a sign is a slip.
fn number<N: std::str::FromStr>(text: &str) -> Option<N> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

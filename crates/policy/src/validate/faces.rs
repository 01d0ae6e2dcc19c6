//! Where the process listens, and what stands behind the gateway.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use http::Uri;
use http::uri::Authority;
use tidegate_algorithms::Span;

use super::span_in;
use crate::face::{Admin, Api, Envoy, Gateway, Health, Resp, TlsFiles};
use crate::file::{Fields, Node, Report, Value};
use crate::problem::Place;

/// Bodies are held only to read a key; a key is short, and its document rarely long.
const MAX_KEY_BODY: usize = 64 << 10;
/// What common servers take.
const MAX_HEADER_BYTES: usize = 32 << 10;
/// A connection costs tens of kilobytes; this many stay below a gigabyte.
const MAX_CONNECTIONS: u64 = 10_000;
const IDLE_TIMEOUT: Span = Span::from_secs(75);
const UPSTREAM_TIMEOUT: Span = Span::from_secs(30);
const DRAIN_TIMEOUT: Span = Span::from_secs(30);

/// The faces that could be read.
#[derive(Default)]
pub(super) struct Faces {
    pub(super) gateway: Option<Gateway>,
    pub(super) api: Option<Api>,
    pub(super) envoy: Option<Envoy>,
    pub(super) resp: Option<Resp>,
    pub(super) admin: Option<Admin>,
    pub(super) health: Option<Health>,
    /// Where the gateway asks for the PROXY protocol, if it does.
    pub(super) proxy_protocol: Option<Place>,
}

mod private;

/// The faces of which there has to be one.
const FACES: [&str; 5] = ["gateway", "api", "envoy", "resp", "health"];
/// What the file of a team holds: one that holds nothing else may be one.
const OF_A_TEAM: [&str; 5] = ["tidegate", "keys", "costs", "codes", "rules"];

/// Reads the faces; whether there has to be one depends on who reads the file.
pub(super) fn read(top: &mut Fields<'_>, needs_face: bool, report: &mut Report) -> Faces {
    let nodes = FACES.map(|face| top.get(face));
    let admin_node = top.get("admin");
    if needs_face && nodes.iter().all(Option::is_none) {
        let mut remedy = format!("write at least one of {}", FACES.join(", "));
        if top.has_only(&OF_A_TEAM) {
            remedy.push_str("; if a policy includes this file, check that policy instead");
        }
        top.lack(&FACES, "the policy has no face, so nobody could ask it", &remedy);
    }
    let [gateway_node, api_node, envoy_node, resp_node, health_node] = nodes;
    let mut listens = Vec::new();
    let gateway = gateway_node.and_then(|node| gateway(node, &mut listens, report));
    let api = api_node.and_then(|node| private::api(node, &mut listens, report));
    let envoy = envoy_node.and_then(|node| private::envoy(node, &mut listens, report));
    let resp = resp_node.and_then(|node| private::resp(node, &mut listens, report));
    let admin = admin_node.and_then(|node| private::admin(node, &mut listens, report));
    let health = health_node.and_then(|node| health(node, &mut listens, report));
    report_clashes(&listens, report);
    let proxy_protocol = gateway.as_ref().filter(|gateway| gateway.proxy_protocol);
    let proxy_protocol = proxy_protocol.and(gateway_node).and_then(|node| node.member("proxy_protocol"));
    let proxy_protocol = proxy_protocol.map(|node| node.place);
    Faces { gateway, api, envoy, resp, admin, health, proxy_protocol }
}

/// An address that a face listens on.
struct Listen {
    face: &'static str,
    address: SocketAddr,
    place: Place,
}

/// Two faces need two addresses: a public one must not answer for a private one.
fn report_clashes(listens: &[Listen], report: &mut Report) {
    for (index, second) in listens.iter().enumerate() {
        let clash = |first: &&Listen| {
            let (a, b) = (first.address, second.address);
            let same_ip = a.ip() == b.ip() || a.ip().is_unspecified() || b.ip().is_unspecified();
            a.port() == b.port() && a.port() != 0 && same_ip
        };
        if let Some(first) = listens.iter().take(index).find(clash) {
            let message = format!("{} listens where {} does, {}", second.face, first.face, first.address);
            report.add(second.place, message, "give each face a port of its own");
        }
    }
}

fn listen(
    fields: &mut Fields<'_>,
    face: &'static str,
    listens: &mut Vec<Listen>,
    report: &mut Report,
) -> Option<SocketAddr> {
    let example = match face {
        "api" => "127.0.0.1:8081",
        "envoy" => "127.0.0.1:8082",
        "resp" => "127.0.0.1:8085",
        "admin" => "127.0.0.1:8083",
        "health" => "127.0.0.1:8084",
        _ => "127.0.0.1:8080",
    };
    let node = fields.need("listen", example)?;
    let given = node.scalar().unwrap_or_default();
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let address =
        given.parse().ok().or_else(|| given.parse().ok().map(|port| SocketAddr::new(loopback, port)));
    let Some(address) = address else {
        let port = given.rsplit(':').next().unwrap_or_default();
        let too_high = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let v6 = given.rsplit_once(':').filter(|(host, _)| host.parse::<std::net::Ipv6Addr>().is_ok());
        let remedy = match port.parse::<u16>() {
            Ok(port) if let Some((host, _)) = v6 => format!("write [{host}]:{port}"),
            Ok(port) => format!("write an address and a port, such as 127.0.0.1:{port}"),
            Err(_) if too_high => "a port is at most 65535".to_owned(),
            Err(_) => format!("write an address and a port, such as {example}"),
        };
        report.add(node.place, format!("{face} cannot listen on \"{given}\""), remedy);
        return None;
    };
    listens.push(Listen { face, address, place: node.place });
    Some(address)
}

fn gateway(node: &Node, listens: &mut Vec<Listen>, report: &mut Report) -> Option<Gateway> {
    let mut fields = Fields::open(node, "gateway", report)?;
    let listen = listen(&mut fields, "gateway", listens, report);
    let upstream = fields.need("upstream", "http://127.0.0.1:3000");
    let upstream = upstream.and_then(|node| read_upstream(node, report));
    let tls = fields.get("tls").and_then(|node| tls(node, report));
    let mut flag = |key| fields.get(key).and_then(|node| node.boolean(key, report)).unwrap_or(false);
    let (proxy_protocol, upstream_http2) = (flag("proxy_protocol"), flag("upstream_http2"));
    let mut size = |key, default| fields.get(key).and_then(|node| node.size(key, report)).unwrap_or(default);
    let max_key_body = size("max_key_body", MAX_KEY_BODY);
    let max_header_bytes = size("max_header_bytes", MAX_HEADER_BYTES);
    let connections = fields.get("max_connections");
    let connections = connections.and_then(|node| node.integer_in("max_connections", 1..=1_000_000, report));
    let mut time = |key, default: Span| -> Duration {
        fields.get(key).and_then(|node| span_in(node, key, report)).unwrap_or(default).as_duration()
    };
    let idle_timeout = time("idle_timeout", IDLE_TIMEOUT);
    let upstream_timeout = time("upstream_timeout", UPSTREAM_TIMEOUT);
    let drain_timeout = time("drain_timeout", DRAIN_TIMEOUT);
    fields.finish(&[], report);
    Some(Gateway {
        listen: listen?,
        upstream: upstream?,
        tls,
        proxy_protocol,
        max_key_body,
        max_header_bytes,
        max_connections: usize::try_from(connections.unwrap_or(MAX_CONNECTIONS)).ok()?,
        idle_timeout,
        upstream_timeout,
        drain_timeout,
        upstream_http2,
    })
}

/// Reads `scheme://host:port`: a path would change what rules match, and credentials belong in no policy.
fn read_upstream(node: &Node, report: &mut Report) -> Option<Uri> {
    const EXAMPLE: &str = "write a scheme, a host and a port, such as http://127.0.0.1:3000";
    if matches!(node.value, Value::List(_)) {
        let message = "the upstream has to be one, and this is a list";
        report.add(
            node.place,
            message,
            "write one: several servers stand behind a load balancer of their own",
        );
        return None;
    }
    let given = node.text("the upstream", report)?;
    // Whatever else is wrong: a password goes into no message, nor into the log that holds it.
    if given.contains('@') {
        report.add(node.place, "the upstream has a name and password in it", EXAMPLE);
        return None;
    }
    let uri = given.parse::<Uri>().ok().filter(|uri| uri.authority().is_some());
    let why = match &uri {
        None => Some(format!("the upstream \"{given}\" is not a URL")),
        Some(uri) if uri.scheme_str() == Some("https") => Some(format!(
            "the upstream \"{given}\" is of the scheme https, which is not yet spoken to upstreams"
        )),
        Some(uri) if uri.scheme_str() != Some("http") => {
            Some(format!("the upstream \"{given}\" is not http"))
        }
        Some(uri) if uri.path() != "/" || uri.query().is_some() => {
            Some(format!("the upstream \"{given}\" has a path, which would not be the one that rules match"))
        }
        Some(_) => None,
    };
    match why {
        Some(message) => {
            let authority = if given.contains("://") { None } else { given.parse::<Authority>().ok() };
            let meant = authority.filter(|authority| authority.port().is_some());
            let remedy = meant.map_or_else(|| EXAMPLE.to_owned(), |host| format!("write http://{host}"));
            report.add(node.place, message, remedy);
            None
        }
        None => uri,
    }
}

fn tls(node: &Node, report: &mut Report) -> Option<TlsFiles> {
    let mut fields = Fields::open(node, "tls", report)?;
    let certificate = fields.need("certificate", "/etc/tidegate/chain.pem");
    let certificate = certificate.and_then(|node| file(node, "certificate", report));
    let key = fields.need("key", "/etc/tidegate/key.pem");
    let key = key.and_then(|node| file(node, "key", report));
    fields.finish(&[], report);
    Some(TlsFiles { certificate: certificate?, key: key? })
}

fn file(node: &Node, what: &str, report: &mut Report) -> Option<PathBuf> {
    node.text(what, report).map(PathBuf::from)
}

fn health(node: &Node, listens: &mut Vec<Listen>, report: &mut Report) -> Option<Health> {
    let mut fields = Fields::open(node, "health", report)?;
    let listen = listen(&mut fields, "health", listens, report);
    fields.finish(&[], report);
    Some(Health { listen: listen? })
}

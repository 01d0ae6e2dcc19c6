//! Whose word about a client's address is taken.

use http::HeaderName;
use ipnet::IpNet;

use crate::client::{ClientHeader, MAX_HOPS, Trust, TrustedProxies, canonical_net};
use crate::file::{Fields, Node, Report, Value, list, nearest};

/// Headers with one address that some product in front sets.
const SINGLES: [&str; 5] =
    ["x-real-ip", "cf-connecting-ip", "true-client-ip", "fly-client-ip", "x-client-ip"];

pub(super) fn read(top: &mut Fields<'_>, report: &mut Report) -> TrustedProxies {
    let who = top.get("trusted_proxies").and_then(|node| trust(node, report));
    let header = top.get("client_header").and_then(|node| header(node, report));
    TrustedProxies {
        who: who.unwrap_or(Trust::Networks(Vec::new())),
        header: header.unwrap_or(ClientHeader::XForwardedFor),
    }
}

fn trust(node: &Node, report: &mut Report) -> Option<Trust> {
    if matches!(node.value, Value::List(_)) {
        return Some(Trust::Networks(networks(node, false, report)));
    }
    if let Some(given) = node.scalar() {
        let network = given.parse::<IpNet>().is_ok() || given.parse::<std::net::IpAddr>().is_ok();
        let remedy = if network {
            format!("write [{given}]")
        } else {
            "write [10.0.0.0/8], or { hops: 1 }".to_owned()
        };
        report.add(node.place, "trusted_proxies has to be a list of networks, or a mapping", remedy);
        return None;
    }
    let mut fields = Fields::open(node, "trusted_proxies", report)?;
    let hops = fields.entry("hops");
    let nets = fields.entry("networks");
    let everyone = fields.get("trust_everyone").and_then(|node| node.boolean("trust_everyone", report));
    if hops.is_none() && nets.is_none() {
        let remedy = "write `[10.0.0.0/8]` or `{ hops: 1 }`";
        fields.lack_source(&["hops", "networks"], "trusted_proxies says neither networks nor hops", remedy);
    }
    fields.finish(&["trust_unix"], report);
    match (hops, nets) {
        (Some(hops), None) => {
            let most = u64::try_from(MAX_HOPS).unwrap_or(u64::MAX);
            let count = hops.value.integer_in("hops", 1..=most, report)?;
            u32::try_from(count).ok().map(Trust::Hops)
        }
        (None, Some(nets)) => Some(Trust::Networks(networks(&nets.value, everyone == Some(true), report))),
        (Some(_), Some(second)) => {
            report.add(second.place, "trusted_proxies has both hops and networks", "keep one");
            None
        }
        (None, None) => None,
    }
}

fn networks(node: &Node, everyone: bool, report: &mut Report) -> Vec<IpNet> {
    let items = list(node, "trusted_proxies", report).unwrap_or_default();
    let networks: Vec<IpNet> = items.iter().filter_map(|item| network(item, report)).collect();
    // Two halves are everyone as well.
    let all = IpNet::aggregate(&networks).iter().any(|net| net.prefix_len() == 0);
    if all && !everyone {
        let remedy = "name the proxies' networks; or, where nobody else can connect, `{ networks: …, trust_everyone: true }`";
        report.add(
            node.place,
            "trusted_proxies trusts everyone, so every client could name any address",
            remedy,
        );
    }
    networks
}

/// Reads an address or a network without host bits.
pub(super) fn network(node: &Node, report: &mut Report) -> Option<IpNet> {
    let given = node.scalar().unwrap_or_default();
    let single = || given.parse::<std::net::IpAddr>().ok().map(IpNet::from);
    let Some(network) = given.parse::<IpNet>().ok().or_else(single) else {
        report.add(
            node.place,
            format!("\"{given}\" is not a network"),
            "write one such as 10.0.0.0/8 or 2001:db8::/32",
        );
        return None;
    };
    if network.addr() != network.network() {
        let message = format!("{network} has bits beyond its prefix");
        report.add(node.place, message, format!("did you mean {}?", network.trunc()));
        return None;
    }
    Some(canonical_net(network))
}

fn header(node: &Node, report: &mut Report) -> Option<ClientHeader> {
    let given = node.text("client_header", report)?;
    match given.to_ascii_lowercase().as_str() {
        "x-forwarded-for" => return Some(ClientHeader::XForwardedFor),
        "forwarded" => return Some(ClientHeader::Forwarded),
        _ => {}
    }
    let known = ["x-forwarded-for", "forwarded"].into_iter().chain(SINGLES);
    let name = HeaderName::try_from(given).ok();
    // A header nobody sets would leave every client its proxy's address: a slip is more likely than a new product.
    let slip = nearest(given, known).filter(|near| !near.eq_ignore_ascii_case(given));
    match (name, slip) {
        (Some(name), None) => Some(ClientHeader::Single(name)),
        (_, slip) => {
            let remedy = slip.map(|near| format!("did you mean \"{near}\"?"));
            let remedy =
                remedy.unwrap_or_else(|| "write one such as x-forwarded-for or x-real-ip".to_owned());
            report.add(node.place, format!("client_header \"{given}\" is not a known header"), remedy);
            None
        }
    }
}

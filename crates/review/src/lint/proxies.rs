//! Whose word about a client is taken.

use tidegate_policy::{Limit, Place};

use super::Lint;
use super::draft::Draft;
use super::reach::{self, Kind};
use super::view::{Subject, View};
use crate::finding::Severity;

pub(super) const LINTS: &[Lint] = &[
    Lint {
        id: "proxies-not-trusted",
        summary: "proxies stand in front and are not trusted, so that everybody is one client",
        find: not_trusted,
    },
    Lint {
        id: "trusted-proxies-nobody-in-front",
        summary: "headers about the client are believed, and no proxy stands in front that would set them",
        find: nobody_in_front,
    },
    Lint {
        id: "hops-not-the-proxies",
        summary: "so many hops are trusted, and another number of proxies stands in front",
        find: hops,
    },
    Lint {
        id: "trusts-everybody",
        summary: "everybody's word about the client's address is taken",
        find: everybody,
    },
    Lint {
        id: "believes-nobody",
        summary: "something is taken from trusted proxies only, and none is trusted",
        find: believes_nobody,
    },
    Lint {
        id: "forward-auth-trusts-nobody",
        summary: "a proxy is to ask about requests, and none is trusted, so that every call is refused",
        find: asked_by_nobody,
    },
    Lint {
        id: "loopback-is-one-client",
        summary: "only this machine can connect, and nobody on it is trusted to name the client",
        find: loopback,
    },
];

/// Returns the first limit that tells clients apart by address, one that guards something before others, and whether it does.
fn by_address<'p>(view: &View<'p>) -> Option<(Subject<'p>, &'p Limit, bool)> {
    // What Envoy tells of a client is not read from connections and header fields.
    let of_requests = |subject: &Subject<'_>| !reach::is_for_descriptors(subject.rule);
    let limits = || {
        view.limits().filter(|(subject, limit)| of_requests(subject) && reach::has(&limit.key, Kind::Address))
    };
    let guards = limits().find(|(subject, _)| subject.class().is_guarded());
    guards
        .map(|(subject, limit)| (subject, limit, true))
        .or_else(|| limits().next().map(|(subject, limit)| (subject, limit, false)))
}

/// Returns so many proxies, for a sentence.
fn standing(proxies: u32) -> String {
    if proxies == 1 { "1 proxy stands".to_owned() } else { format!("{proxies} proxies stand") }
}

/// Returns a finding at the first limit by address.
fn at_first(
    view: &View<'_>,
    severity: impl Fn(bool) -> Severity,
    message: String,
    remedy: &str,
) -> Vec<Draft> {
    let first = by_address(view);
    first
        .map(|(subject, limit, guards)| Draft::of_limit((subject, limit), severity(guards), message, remedy))
        .into_iter()
        .collect()
}

fn not_trusted(view: &View<'_>) -> Vec<Draft> {
    let proxies = view.policy.topology.proxies.unwrap_or(0);
    if proxies == 0 || !view.policy.trusted.is_nobody() {
        return Vec::new();
    }
    let message = format!(
        "{} in front and nobody is trusted: every request comes from there, and all clients are one",
        standing(proxies)
    );
    let severity = |guards| if guards { Severity::Error } else { Severity::Warning };
    at_first(view, severity, message, "list their networks in `trusted_proxies`")
}

fn nobody_in_front(view: &View<'_>) -> Vec<Draft> {
    let trusted = &view.policy.trusted;
    if view.policy.topology.proxies != Some(0) || trusted.is_nobody() {
        return Vec::new();
    }
    let by_hops = trusted.hops().is_some();
    let message = format!(
        "no proxy stands in front, and {} is believed of {}: {}, and has any number of keys",
        trusted.client_header(),
        if by_hops { "whoever connects" } else { "some networks" },
        if by_hops {
            "every client writes the address it likes"
        } else {
            "whoever is in them writes the address he likes"
        },
    );
    let severity = |_| if by_hops { Severity::Error } else { Severity::Warning };
    at_first(
        view,
        severity,
        message,
        "leave `trusted_proxies` empty, or say in `topology` how many proxies there are",
    )
}

fn hops(view: &View<'_>) -> Vec<Draft> {
    let (Some(hops), Some(proxies)) = (view.policy.trusted.hops(), view.policy.topology.proxies) else {
        return Vec::new();
    };
    if hops == proxies || proxies == 0 {
        return Vec::new();
    }
    let why = if hops > proxies {
        "the address is read where the client itself writes, and can be any"
    } else {
        "the address read is that of a proxy, and all behind it are one client"
    };
    let message = format!("hops is {hops} and {} in front: {why}", standing(proxies));
    at_first(
        view,
        |_| Severity::Error,
        message,
        "write the number of proxies as `hops`, or name their networks",
    )
}

fn everybody(view: &View<'_>) -> Vec<Draft> {
    if !view.policy.trusted.networks().iter().any(|network| network.prefix_len() == 0) {
        return Vec::new();
    }
    let message =
        "every address there is may name the client, so that whoever reaches the port has any number of keys";
    at_first(
        view,
        |_| Severity::Warning,
        message.to_owned(),
        "name the proxies' networks in `trusted_proxies`",
    )
}

fn believes_nobody(view: &View<'_>) -> Vec<Draft> {
    if !view.policy.trusted.is_nobody() {
        return Vec::new();
    }
    let mut drafts = Vec::new();
    for (subject, limit) in view.limits().filter(|(subject, _)| !reach::is_for_descriptors(subject.rule)) {
        let Some(name) = limit.taken_from_proxies().into_iter().next() else { continue };
        let message = format!(
            "{} takes {name} from trusted proxies, and nobody is trusted: it is never there",
            limit.name
        );
        let remedy = "list the proxies' networks in `trusted_proxies`";
        drafts.push(Draft::of_limit((subject, limit), Severity::Warning, message, remedy));
    }
    drafts
}

fn asked_by_nobody(view: &View<'_>) -> Vec<Draft> {
    let asks = view.policy.api.as_ref().is_some_and(|api| api.forward_auth.request_id.is_some());
    if !asks || !view.policy.trusted.is_nobody() {
        return Vec::new();
    }
    let message = "`forward_auth` is for a proxy that asks about requests, and nobody is trusted: every call is answered 403";
    let remedy = "list the address that the proxy asks from in `trusted_proxies`";
    vec![Draft::of_policy(Place::START, Severity::Warning, message, remedy)]
}

fn loopback(view: &View<'_>) -> Vec<Draft> {
    let local = view.policy.gateway.as_ref().filter(|gateway| gateway.listen.ip().is_loopback());
    let (Some(gateway), None, true) = (local, view.policy.topology.proxies, view.policy.trusted.is_nobody())
    else {
        return Vec::new();
    };
    let message = format!(
        "the gateway listens on {}, where only this machine connects, and trusts nobody there: all requests are one client's",
        gateway.listen
    );
    let remedy = "name the proxy in `trusted_proxies` ([127.0.0.1/32]), or listen where clients are; `topology: { proxies: 0 }` says \
                  that it is meant";
    at_first(view, |_| Severity::Note, message, remedy)
}

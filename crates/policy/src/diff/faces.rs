//! What changes of the faces.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use tidegate_algorithms::Span;

use super::settings::{said, told};
use super::{Change, Effect};
use crate::face::{Counting, Envoy, Gateway, OnDeny};
use crate::policy::Policy;

pub(super) fn compare(old: &Policy, new: &Policy) -> Vec<Change> {
    let mut changes = Vec::new();
    match (&old.gateway, &new.gateway) {
        (Some(old), Some(new)) => changes.extend(gateway(old, new)),
        (old, new) => {
            let listen = |face: &Option<Gateway>| face.as_ref().map(|face| face.listen);
            changes.extend(told("gateway", face(listen(old), None), face(listen(new), None)));
        }
    }
    changes.extend(private(old, new));
    if let (Some(old), Some(new)) = (&old.envoy, &new.envoy) {
        changes.extend(envoy(old, new));
    }
    changes
}

/// Compares gateways field by field.
fn gateway(old: &Gateway, new: &Gateway) -> Vec<Change> {
    let tls = |face: &Gateway| {
        let shown = face
            .tls
            .as_ref()
            .map(|tls| format!("certificate in {}, key in {}", tls.certificate.display(), tls.key.display()));
        shown.unwrap_or_else(|| "none".to_owned())
    };
    let fields = [
        told("gateway.listen", old.listen, new.listen),
        told("gateway.upstream", &old.upstream, &new.upstream),
        told("gateway.tls", tls(old), tls(new)),
        told("gateway.proxy_protocol", old.proxy_protocol, new.proxy_protocol),
        told("gateway.max_key_body", old.max_key_body, new.max_key_body),
        told("gateway.max_header_bytes", old.max_header_bytes, new.max_header_bytes),
        told("gateway.max_connections", old.max_connections, new.max_connections),
        times("gateway.idle_timeout", old.idle_timeout, new.idle_timeout),
        times("gateway.upstream_timeout", old.upstream_timeout, new.upstream_timeout),
        times("gateway.drain_timeout", old.drain_timeout, new.drain_timeout),
        told("gateway.upstream_http2", old.upstream_http2, new.upstream_http2),
    ];
    fields.into_iter().flatten().collect()
}

/// Compares times as the file writes them.
fn times(what: &str, old: Duration, new: Duration) -> Option<Change> {
    let shown = |time: Duration| {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        Span::from_micros(micros).to_string()
    };
    told(what, shown(old), shown(new))
}

fn private(old: &Policy, new: &Policy) -> Vec<Change> {
    let api = |policy: &Policy| {
        let of = policy.api.as_ref();
        face(of.map(|api| api.listen), of.and_then(|api| api.token_file.as_ref()))
    };
    let envoy = |policy: &Policy| {
        let of = policy.envoy.as_ref();
        face(of.map(|envoy| envoy.listen), of.and_then(|envoy| envoy.token_file.as_ref()))
    };
    let resp = |policy: &Policy| {
        let of = policy.resp.as_ref();
        face(of.map(|resp| resp.listen), of.and_then(|resp| resp.token_file.as_ref()))
    };
    let admin = |policy: &Policy| {
        let of = policy.admin.as_ref();
        face(of.map(|admin| admin.listen), of.and_then(|admin| admin.token_file.as_ref()))
    };
    let health = |policy: &Policy| face(policy.health.as_ref().map(|health| health.listen), None);
    // A request that is named is charged once however often its proxy asks.
    let named =
        |policy: &Policy| said(policy.api.as_ref().and_then(|api| api.forward_auth.request_id.as_ref()));
    let faces = [
        told("api", api(old), api(new)),
        Change::of("api.forward_auth.request_id", named(old), named(new), Effect::Unclear),
        told("envoy", envoy(old), envoy(new)),
        told("resp", resp(old), resp(new)),
        told("admin", admin(old), admin(new)),
        told("health", health(old), health(new)),
    ];
    faces.into_iter().flatten().collect()
}

/// Compares what Envoy is answered: what it lets pass by itself is let through.
fn envoy(old: &Envoy, new: &Envoy) -> Vec<Change> {
    let on_deny = |face: &Envoy| match face.on_deny {
        OnDeny::OverLimit => "over_limit",
        OnDeny::Unavailable => "unavailable",
    };
    let passes = |face: &Envoy| u8::from(face.on_deny == OnDeny::Unavailable);
    let counting = |face: &Envoy| match face.counting {
        Counting::AllOrNothing => "all_or_nothing",
        Counting::Each => "each",
    };
    let effect = Effect::of_more(&passes(old), &passes(new));
    let fields = [
        Change::of("envoy.on_deny", on_deny(old), on_deny(new), effect),
        told("envoy.timeout", old.timeout, new.timeout),
        Change::of("envoy.counting", counting(old), counting(new), Effect::Unclear),
    ];
    fields.into_iter().flatten().collect()
}

fn face(listen: Option<SocketAddr>, token: Option<&PathBuf>) -> String {
    let Some(listen) = listen else { return "none".to_owned() };
    token.map_or_else(|| listen.to_string(), |token| format!("{listen}, token in {}", token.display()))
}

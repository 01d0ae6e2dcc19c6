//! What changes outside of rules.

use std::fmt;

use super::Change;
use super::rules::mode;
use crate::policy::{Gateway, Policy};

pub(super) fn compare(old: &Policy, new: &Policy) -> Vec<Change> {
    let mut changes = Vec::new();
    changes.extend(Change::of("mode", mode(old.mode), mode(new.mode)));
    changes.extend(Change::of("instances", old.instances, new.instances));
    match (old.gateway.as_ref(), new.gateway.as_ref()) {
        (Some(old), Some(new)) => changes.extend(gateway(old, new)),
        (old, new) => changes.extend(Change::of("gateway", presence(old), presence(new))),
    }
    changes.extend(shown("api", &old.api, &new.api));
    changes.extend(shown("admin", &old.admin, &new.admin));
    changes.extend(shown("health", &old.health, &new.health));
    changes.extend(shown("store", &old.store, &new.store));
    changes.extend(shown("trusted_proxies", &old.trusted, &new.trusted));
    changes.extend(shown("codes", &old.codes, &new.codes));
    changes.extend(shown("headers", &old.headers, &new.headers));
    changes.extend(shown("problem", &old.problem, &new.problem));
    changes.extend(shown("paths.encoded_slash", &old.encoded_slash, &new.encoded_slash));
    changes
}

/// Compares gateways field by field, as they are written.
fn gateway(old: &Gateway, new: &Gateway) -> Vec<Change> {
    let fields = [
        Change::of("gateway.listen", old.listen, new.listen),
        Change::of("gateway.upstream", &old.upstream, &new.upstream),
        shown("gateway.tls", &old.tls, &new.tls),
        Change::of("gateway.proxy_protocol", old.proxy_protocol, new.proxy_protocol),
        Change::of("gateway.max_key_body", old.max_key_body, new.max_key_body),
        Change::of("gateway.max_header_bytes", old.max_header_bytes, new.max_header_bytes),
        Change::of("gateway.max_connections", old.max_connections, new.max_connections),
        shown("gateway.idle_timeout", &old.idle_timeout, &new.idle_timeout),
        shown("gateway.upstream_timeout", &old.upstream_timeout, &new.upstream_timeout),
        shown("gateway.drain_timeout", &old.drain_timeout, &new.drain_timeout),
        Change::of("gateway.upstream_http2", old.upstream_http2, new.upstream_http2),
    ];
    fields.into_iter().flatten().collect()
}

fn presence<T>(face: Option<&T>) -> &'static str {
    if face.is_some() { "there" } else { "not there" }
}

/// Compares settings that have no form of their own for people. A policy holds the names of files with secrets, never
/// a secret.
fn shown(what: &str, old: &impl fmt::Debug, new: &impl fmt::Debug) -> Option<Change> {
    Change::of(what, format!("{old:?}"), format!("{new:?}"))
}

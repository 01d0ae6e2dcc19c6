//! What changes in where counts are kept.

use std::fmt;
use std::path::PathBuf;

use super::settings::told;
use super::{Change, Effect};
use crate::store::{MemoryChoice, RedisChoice, RedisPassword, RedisServers, RedisTls, StoreChoice};

pub(super) fn compare(old: &StoreChoice, new: &StoreChoice) -> Vec<Change> {
    match (old, new) {
        (StoreChoice::Redis(old), StoreChoice::Redis(new)) => redis(old, new),
        (StoreChoice::Memory(old), StoreChoice::Memory(new)) => {
            told("store", in_memory(old), in_memory(new)).into_iter().collect()
        }
        (old, new) => elsewhere("store", shown(old), shown(new)).into_iter().collect(),
    }
}

/// Returns a change of the place where counts are kept: what is there already nobody here can tell, most likely nothing.
fn elsewhere(what: &str, old: impl fmt::Display, new: impl fmt::Display) -> Option<Change> {
    Change::of(what, old, new, Effect::Unclear)
}

/// Compares two in Redis field by field, as the file has them.
fn redis(old: &RedisChoice, new: &RedisChoice) -> Vec<Change> {
    let path = |of: fn(&RedisTls) -> &Option<PathBuf>, redis: &RedisChoice| {
        let path = redis.tls.as_ref().and_then(|tls| of(tls).as_ref());
        path.map_or_else(|| "none".to_owned(), |path| path.display().to_string())
    };
    let file = |what, of| told(what, path(of, old), path(of, new));
    let (old_watch, new_watch) = (sentinel_user(old), sentinel_user(new));
    let fields = [
        elsewhere("store.redis.url", url(old), url(new)),
        told("store.redis.username", or_none(old.username.as_ref()), or_none(new.username.as_ref())),
        password("store.redis.password", old.password.as_ref(), new.password.as_ref()),
        told("store.redis.sentinel_username", or_none(old_watch.0), or_none(new_watch.0)),
        password("store.redis.sentinel_password", old_watch.1, new_watch.1),
        file("store.redis.ca_file", |tls| &tls.ca_file),
        file("store.redis.certificate_file", |tls| &tls.certificate_file),
        file("store.redis.key_file", |tls| &tls.key_file),
        elsewhere("store.redis.prefix", &old.prefix, &new.prefix),
        told("store.redis.timeout", old.timeout, new.timeout),
        told("store.redis.queue", old.queue, new.queue),
        told("store.redis.denial_memory", or_off(old), or_off(new)),
    ];
    fields.into_iter().flatten().collect()
}

fn shown(store: &StoreChoice) -> String {
    match store {
        StoreChoice::Memory(memory) => in_memory(memory),
        StoreChoice::Redis(redis) => url(redis),
    }
}

fn in_memory(memory: &MemoryChoice) -> String {
    let most =
        |what: &str, most: Option<usize>| most.map(|most| format!(", {what} {most}")).unwrap_or_default();
    let snapshot = memory.snapshot.as_ref();
    let snapshot = snapshot
        .map(|snapshot| format!(", snapshot in {} every {}", snapshot.file.display(), snapshot.every));
    let bounds = [most("max_keys", memory.max_keys), most("max_bytes", memory.max_bytes)].concat();
    format!("memory{bounds}{}", snapshot.unwrap_or_default())
}

/// Returns the address with all that its short forms leave out, so that two ways to write one thing are no change.
fn url(redis: &RedisChoice) -> String {
    let scheme = if redis.tls.is_some() { "rediss" } else { "redis" };
    let list = |hosts: &[(String, u16)]| {
        let hosts: Vec<String> = hosts.iter().map(|(host, port)| address(host, *port)).collect();
        hosts.join(",")
    };
    match &redis.servers {
        RedisServers::Standalone { host, port } => {
            format!("{scheme}://{}/{}", address(host, *port), redis.database)
        }
        RedisServers::Sentinel { sentinels, name, .. } => {
            format!("{scheme}+sentinel://{}/{name}", list(sentinels))
        }
        RedisServers::Cluster { seeds } => format!("{scheme}+cluster://{}", list(seeds)),
    }
}

fn address(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

fn sentinel_user(redis: &RedisChoice) -> (Option<&String>, Option<&RedisPassword>) {
    match &redis.servers {
        RedisServers::Sentinel { username, password, .. } => (username.as_ref(), password.as_ref()),
        RedisServers::Standalone { .. } | RedisServers::Cluster { .. } => (None, None),
    }
}

/// Returns whether a password is another, without a word of either.
fn password(what: &str, old: Option<&RedisPassword>, new: Option<&RedisPassword>) -> Option<Change> {
    let before = if old.is_some() { "a password" } else { "none" };
    let after = match (old, new) {
        (_, None) => "none",
        (Some(old), Some(new)) if old != new => "another password",
        (_, Some(_)) => "a password",
    };
    told(what, before, after)
}

fn or_none<T: fmt::Display>(value: Option<T>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| value.to_string())
}

fn or_off(redis: &RedisChoice) -> String {
    redis.denial_memory.map_or_else(|| "off".to_owned(), |span| span.to_string())
}

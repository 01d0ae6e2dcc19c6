//! What was meant by a member that nobody knows: a word of another product, or a word of the language elsewhere.

use super::sentences::{PLACES, SENTENCES};

/// Words of other products and of everyday speech, and the members they may stand for here: the first that the mapping
/// knows is meant. Case, hyphens and underscores do not count.
const SYNONYMS: [(&[&str], &[&str]); 43] = [
    (
        &[
            "limit",
            "max",
            "max_attempts",
            "max_retry",
            "tries",
            "failures",
            "max_failures",
            "threshold",
            "count",
            "requests",
            "after",
        ],
        &["attempts"],
    ),
    (&["window", "period", "interval", "per", "find_time", "time_window"], &["within"]),
    (
        &[
            "lock_for",
            "locked_for",
            "lock_time",
            "lock_duration",
            "lockout_time",
            "duration",
            "ban",
            "ban_time",
            "block_for",
            "penalty",
            "cooldown",
        ],
        &["lock"],
    ),
    (&["reason", "why"], &["because"]),
    (&["expires", "expires_at", "expiry", "end", "valid_until"], &["until"]),
    (&["key"], &["by"]),
    (&["private_key", "key_file"], &["key"]),
    (&["timeout", "read_timeout", "proxy_read_timeout", "response_timeout"], &["upstream_timeout"]),
    (&["keepalive_timeout", "keep_alive"], &["idle_timeout"]),
    (&["shutdown_timeout", "grace_period"], &["drain_timeout"]),
    (&["alert", "alerts", "alert_threshold", "warn_at"], &["alert_at"]),
    (&["metrics", "management", "operator"], &["admin"]),
    (&["healthz", "health_check", "readiness"], &["health"]),
    (&["status_codes", "statuses"], &["status"]),
    (&["on_ok", "after_success"], &["on_success"]),
    (&["table", "map", "mapping", "members"], &["values"]),
    (&["otherwise", "else", "fallback", "rest"], &["default"]),
    (
        &[
            "requests",
            "limit",
            "max",
            "count",
            "max_requests",
            "limit_for_period",
            "requests_per_unit",
            "requests_per_second",
            "requests_per_minute",
            "permits",
            "points",
            "hits",
            "threshold",
            "amount",
            "rps",
            "rpm",
            "tokens",
        ],
        &["limit", "capacity"],
    ),
    (
        &[
            "period",
            "interval",
            "duration",
            "per",
            "unit",
            "time",
            "seconds",
            "window_size",
            "limit_refresh_period",
            "ttl",
            "time_window",
            "time_unit",
            "within",
        ],
        &["window"],
    ),
    (
        &["burst", "bucket_size", "size", "max_burst", "burst_size", "burst_capacity", "max_tokens"],
        &["capacity", "queue"],
    ),
    (&["refill_rate", "rate"], &["refill", "rate"]),
    (&["leaky", "throttle"], &["leaky_bucket"]),
    (&["fixed", "counter"], &["fixed_window"]),
    (&["backlog", "max_queue"], &["queue"]),
    (&["description", "text", "message", "words", "reason", "comment"], &["says", "because", "note"]),
    (&["by", "on", "per", "identifier", "scope", "limit_by", "keyed_by"], &["key"]),
    (&["url", "uri", "route", "endpoint", "prefix", "path_prefix", "location"], &["path"]),
    (&["verb", "verbs", "http_method"], &["method"]),
    (&["domain", "domains", "hostname", "server_name", "authority"], &["host"]),
    (&["request_header_name", "header_name", "request_header"], &["header"]),
    (&["ip", "remote_addr", "remote_address", "source_ip", "address"], &["client_ip", "client", "listen"]),
    (&["exclude", "skip", "unless", "whitelist", "allowlist", "exempt"], &["except"]),
    (&["deny", "block", "reject", "forbid"], &["refuse"]),
    (&["id", "title"], &["name"]),
    (&["on_error", "failure_mode", "failure_mode_deny"], &["on_store_failure"]),
    (&["backend", "target", "proxy_pass", "origin", "service", "forward_to"], &["upstream"]),
    (&["bind", "addr", "host"], &["listen"]),
    (&["cert", "crt", "cert_file", "certificate_file"], &["certificate"]),
    (&["code", "status_code", "http_status"], &["status"]),
    (&["version", "api_version"], &["tidegate"]),
    (&["default", "default_rule"], &["fallback"]),
    (&["trust_proxy", "set_real_ip_from", "real_ip_from"], &["trusted_proxies"]),
    (&["policies", "rate_limits", "limiters", "descriptors"], &["limits", "rules"]),
];

/// What was probably meant.
pub(super) enum Hint {
    /// A member that the mapping knows.
    Member(&'static str),
    /// A file that holds what is not written into a policy.
    SecretFile(&'static str),
    /// Something else, in words, which speak of some members.
    Words(&'static str, &'static [&'static str]),
}

/// Returns what a word was probably meant for, in a mapping that knows some others.
pub(super) fn hint(word: &str, known: &[&'static str]) -> Option<Hint> {
    let given = squeeze(word);
    let among = |words: &[&str]| words.iter().any(|word| squeeze(word) == given);
    let file =
        known.iter().find(|known| known.strip_suffix("_file").is_some_and(|bare| squeeze(bare) == given));
    if let Some(file) = file {
        return Some(Hint::SecretFile(file));
    }
    let synonyms = SYNONYMS.iter().filter(|(words, _)| among(words)).flat_map(|(_, members)| *members);
    for member in synonyms {
        if let Some(member) = known.iter().find(|known| *known == member) {
            return Some(Hint::Member(member));
        }
    }
    let place = PLACES.iter().find(|(words, _, _)| among(words));
    place.map(|(_, place, covers)| Hint::Words(place, covers))
}

/// Returns a sentence on a word, and the members that it speaks of.
pub(super) fn sentence(
    word: &str,
    known: &[&'static str],
) -> Option<(&'static str, &'static [&'static str])> {
    let given = squeeze(word);
    let says = |words: &[&str]| words.iter().any(|word| squeeze(word) == given);
    let found = SENTENCES.iter().find(|(words, about, _, _)| says(words) && known.contains(about));
    found.map(|(_, _, sentence, covers)| (*sentence, *covers))
}

fn squeeze(word: &str) -> String {
    let letters = word.chars().filter(|letter| !matches!(letter, '-' | '_' | ' '));
    letters.flat_map(char::to_lowercase).collect()
}

//! What was meant by a member that nobody knows: a word of another product, or a word of the language elsewhere.

/// Words of other products and of everyday speech, and the members they may stand for here: the first that the mapping
/// knows is meant. Case, hyphens and underscores do not count.
const SYNONYMS: [(&[&str], &[&str]); 36] = [
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
    (&["status_codes", "statuses"], &["status"]),
    (&["on_ok", "after_success"], &["on_success"]),
    (&["table", "map", "mapping", "members"], &["values"]),
    (&["otherwise", "else", "fallback", "rest"], &["default"]),
    (
        &[
            "requests",
            "max",
            "count",
            "max_requests",
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
            "window_seconds",
            "window_ms",
            "ttl",
            "time_window",
            "time_unit",
            "within",
        ],
        &["window", "refill", "rate"],
    ),
    (&["burst", "bucket_size", "size", "max_burst", "burst_size", "max_tokens"], &["capacity", "queue"]),
    (
        &["fill_interval", "tokens_per_fill", "refill_rate", "replenish_rate", "average", "rate"],
        &["refill", "rate"],
    ),
    (&["leaky", "throttle"], &["leaky_bucket"]),
    (&["fixed", "counter"], &["fixed_window"]),
    (&["delay", "nodelay", "backlog", "max_queue"], &["queue"]),
    (&["description", "text", "message", "words", "reason", "comment"], &["says", "because", "note"]),
    (&["by", "on", "per", "identifier", "scope", "limit_by", "keyed_by"], &["key"]),
    (&["url", "uri", "route", "endpoint", "prefix", "path_prefix", "location"], &["path"]),
    (&["verb", "verbs", "http_method"], &["method"]),
    (&["domain", "domains", "hostname", "server_name", "authority"], &["host"]),
    (&["ip", "remote_addr", "source_ip", "address"], &["client_ip", "client", "listen"]),
    (&["exclude", "skip", "unless", "whitelist", "allowlist", "exempt"], &["except"]),
    (&["deny", "block", "reject", "forbid"], &["refuse"]),
    (&["id", "title"], &["name"]),
    (&["dry_run", "enabled", "enforced", "log_only", "action"], &["mode"]),
    (&["fail_open", "on_error", "failure_mode", "failure_mode_deny"], &["on_store_failure"]),
    (&["backend", "target", "proxy_pass", "origin", "service", "forward_to"], &["upstream"]),
    (&["port", "bind", "addr", "host"], &["listen"]),
    (&["cert", "crt", "cert_file", "certificate_file"], &["certificate"]),
    (&["code", "status_code", "http_status"], &["status"]),
    (&["version", "api_version"], &["tidegate"]),
    (&["default", "default_rule"], &["fallback"]),
    (&["trust_proxy", "set_real_ip_from", "real_ip_from"], &["trusted_proxies"]),
    (&["policies", "rate_limits", "limiters", "descriptors"], &["limits", "rules"]),
];

/// Words that need a sentence, and the member that the sentence is about, which the mapping has to know.
const SENTENCES: [(&[&str], &str, &str); 7] = [
    (
        &["key", "keys", "match", "for"],
        "until",
        "write `value: …`: an override is for one value of the limit's key",
    ),
    (
        &["algorithm", "strategy", "type", "policy", "rate_limit"],
        "sliding_counter",
        "write the algorithm's name itself: `sliding_counter: { limit: 10, window: 1m }`",
    ),
    (
        &["sliding_window", "rolling_window", "moving_window"],
        "sliding_log",
        "write sliding_log, which is exact, or sliding_counter, which takes less memory",
    ),
    (
        &["gcra", "spike_arrest", "tokens", "burst", "rate", "limit_req", "bucket"],
        "token_bucket",
        "write `token_bucket: { capacity: 4, refill: 1 per 10s }`",
    ),
    (
        &["concurrency", "max_concurrent", "limit_conn", "connections"],
        "token_bucket",
        "what is under way at once is not limited by rules; see `max_connections` of the gateway",
    ),
    (
        &["second", "minute", "hour", "day", "month", "year"],
        "window",
        "write `limit: 10, window: 1m`; two windows are two limits",
    ),
    (
        &["path", "paths", "method", "methods", "host", "hosts", "url", "uri", "route", "endpoint"],
        "match",
        "it belongs in `match`: `match: { method: POST, path: /otp/verify }`",
    ),
];

/// Where members of the language belong.
const PLACES: [(&[&str], &str); 6] = [
    (
        &["class", "match", "except", "limits", "guesses", "on_store_failure", "client_sees", "refuse"],
        "it belongs in a rule, beside `name`",
    ),
    (
        &[
            "says",
            "note",
            "key",
            "cost",
            "plan",
            "plans",
            "overrides",
            "count",
            "alert_at",
            "fixed_window",
            "sliding_log",
            "sliding_counter",
            "token_bucket",
            "leaky_bucket",
            "lockout",
        ],
        "it belongs in a limit, under `limits`",
    ),
    (
        &["limit", "window", "anchor", "capacity", "refill", "queue"],
        "it belongs in an algorithm, such as `sliding_counter: { limit: 10, window: 1m }`",
    ),
    (&["method", "path", "host"], "it belongs in `match`"),
    (&["upstream", "tls", "proxy_protocol", "max_key_body"], "it belongs in `gateway`"),
    (
        &[
            "gateway",
            "api",
            "health",
            "store",
            "trusted_proxies",
            "client_header",
            "instances",
            "codes",
            "keys",
            "rules",
            "fallback",
            "headers",
            "problem",
            "include",
        ],
        "it belongs to the first level of the file, without indentation",
    ),
];

/// What was probably meant.
pub(super) enum Hint {
    /// A member that the mapping knows.
    Member(&'static str),
    /// A file that holds what is not written into a policy.
    SecretFile(&'static str),
    /// Something else, in words.
    Words(&'static str),
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
    PLACES.iter().find(|(words, _)| among(words)).map(|(_, place)| Hint::Words(place))
}

/// Returns a sentence on a word, and the member that the sentence is about.
pub(super) fn sentence(word: &str, known: &[&'static str]) -> Option<(&'static str, &'static str)> {
    let given = squeeze(word);
    let about = |words: &[&str]| words.iter().any(|word| squeeze(word) == given);
    let found =
        SENTENCES.iter().find(|(words, about_member, _)| about(words) && known.contains(about_member));
    found.map(|(_, member, sentence)| (*sentence, *member))
}

fn squeeze(word: &str) -> String {
    let letters = word.chars().filter(|letter| !matches!(letter, '-' | '_' | ' '));
    letters.flat_map(char::to_lowercase).collect()
}

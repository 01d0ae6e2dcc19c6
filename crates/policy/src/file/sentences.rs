//! What is said of members that nobody knows where one word would not do.

/// Words that need a sentence; a member that the mapping has to know; the sentence; and the members that it speaks of,
/// whose absence is then not told as well.
pub(super) const SENTENCES: [(&[&str], &str, &str, &[&str]); 32] = [
    (
        &["key", "keys", "match", "for"],
        "until",
        "write `value: …`: an override is for one value of the limit's key",
        &["value"],
    ),
    (
        &["algorithm", "strategy", "type", "policy", "rate_limit"],
        "sliding_counter",
        "write the algorithm's name itself: `sliding_counter: { limit: 10, window: 1m }`",
        &["sliding_counter"],
    ),
    (
        &["sliding_window", "rolling_window", "moving_window"],
        "sliding_log",
        "write sliding_log, which is exact, or sliding_counter, which takes less memory",
        &["sliding_log"],
    ),
    (
        &["gcra", "spike_arrest", "tokens", "burst", "rate", "limit_req", "bucket"],
        "token_bucket",
        "write `token_bucket: { capacity: 4, refill: 1 per 10s }`",
        &["token_bucket"],
    ),
    (
        &["concurrency", "max_concurrent", "limit_conn", "connections"],
        "token_bucket",
        "what is under way at once is not limited by rules; see `max_connections` of the gateway",
        &["token_bucket"],
    ),
    (
        &["second", "minute", "hour", "day", "month", "year"],
        "window",
        "write `limit: 10, window: 1m`; two windows are two limits",
        &["limit", "window"],
    ),
    (
        &["window_ms", "window_seconds", "window_secs", "window_minutes"],
        "window",
        "write the time with its unit: `window: 60s`",
        &["window"],
    ),
    (
        &["anchor"],
        "window",
        "only a fixed_window has one: `fixed_window: { limit: 10, anchor: calendar, window: day }`",
        &[],
    ),
    (
        &["burst", "burst_size", "max_burst", "capacity", "refill"],
        "window",
        "a token_bucket has a burst: `token_bucket: { capacity: 20, refill: 10 per 1s }`",
        &["limit", "window"],
    ),
    (
        &[
            "block",
            "block_for",
            "block_duration",
            "ban",
            "ban_time",
            "penalty",
            "cooldown",
            "lock",
            "lock_for",
        ],
        "window",
        "a lockout locks: `lockout: { attempts: 10, within: 30m, lock: 30m }`",
        &[],
    ),
    (
        &["timezone", "time_zone", "tz"],
        "anchor",
        "remove it: windows of the calendar are days, weeks and months of UTC",
        &[],
    ),
    (&["limit_by", "keyed_by"], "window", "write `key: client_ip` in the limit itself", &[]),
    (
        &[
            "average",
            "period",
            "interval",
            "duration",
            "per",
            "time",
            "seconds",
            "window",
            "tokens_per_fill",
            "fill_interval",
            "refill_interval",
            "refill_tokens",
            "refill_amount",
            "refill_per_second",
            "refill_greedy",
            "replenish_rate",
        ],
        "refill",
        "one member says how many and how often: `refill: 10 per 1s`",
        &["refill"],
    ),
    (
        &["average", "period", "interval", "duration", "per", "time", "seconds", "window", "limit"],
        "queue",
        "one member says how many and how often: `rate: 10 per 1s`",
        &["rate"],
    ),
    (
        &["delay", "nodelay", "no_delay"],
        "queue",
        "a leaky_bucket makes requests wait; to let a burst pass at once, write `token_bucket: { capacity: 20, refill: 10 per 1s }` instead",
        &["queue"],
    ),
    (
        &["path", "paths", "method", "methods", "host", "hosts"],
        "match",
        "it belongs in `match`: `match: { method: POST, path: /otp/verify }`",
        &["match"],
    ),
    (
        &["url", "uri", "route", "endpoint"],
        "match",
        "write it as `path` in `match`: `match: { path: /otp/verify }`",
        &["match"],
    ),
    (
        &["enabled", "disabled", "dry_run", "shadow", "log_only", "report_only", "enforced", "active"],
        "mode",
        "remove it, or write `mode: shadow` to count and refuse nothing",
        &["mode"],
    ),
    (
        &["priority", "order", "weight"],
        "match",
        "remove it: every rule that matches applies, in whatever order",
        &[],
    ),
    (
        &["fail_open", "fault_tolerant", "skip_on_error"],
        "on_store_failure",
        "write `on_store_failure: allow`",
        &["on_store_failure"],
    ),
    (&["fail_closed"], "on_store_failure", "write `on_store_failure: deny`", &["on_store_failure"]),
    (
        &[
            "status",
            "status_code",
            "http_status",
            "response",
            "retry_after",
            "on_exceed",
            "on_limit",
            "action",
        ],
        "on_store_failure",
        "remove it: a limit answers 429 with Retry-After, and `problem` on the first level says the rest",
        &[],
    ),
    (
        &["headers", "query_params", "cookies"],
        "trailing_slash",
        "leave it out: rules match methods, hosts and paths in this version",
        &["path", "method", "host"],
    ),
    (
        &["source", "type", "kind", "in"],
        "phone_country",
        "write the source as the member, such as `header: x-api-key`",
        &["header"],
    ),
    (&["any_of", "one_of", "either", "fallback"], "first_of", "did you mean \"first_of\"?", &["first_of"]),
    (
        &["status", "statuses", "status_code", "codes", "errors"],
        "on_success",
        "write `failures: true, success: { status: 200 }`, where `status` is what a success answers",
        &["failures", "success"],
    ),
    (&["on_success"], "status", "it belongs in `count`, beside `success`", &["status"]),
    (&["port"], "listen", "write it behind the address: `listen: 127.0.0.1:8080`", &["listen"]),
    (
        &["redis", "valkey", "memcached"],
        "store",
        "write it below the store: `store: { redis: { url: redis://host:6379 } }`",
        &["store"],
    ),
    (
        &["defaults", "definitions", "anchors", "templates", "common", "shared"],
        "gateway",
        "a policy has no place for parts to share; give a part its anchor (`&name`) where it is first used",
        &[],
    ),
    (&["kind", "metadata"], "tidegate", "remove it: a policy is not a Kubernetes object", &[]),
    (
        &["spec"],
        "tidegate",
        "write what is below it on the first level: a policy is not a Kubernetes object",
        &["gateway", "rules"],
    ),
];

/// Where members of the language belong, and the members whose absence that explains.
pub(super) const PLACES: [(&[&str], &str, &[&str]); 6] = [
    (
        &["class", "match", "except", "limits", "guesses", "on_store_failure", "client_sees", "refuse"],
        "it belongs in a rule, beside `name`",
        &[],
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
        &["limits"],
    ),
    (
        &["limit", "window", "anchor", "capacity", "refill", "queue"],
        "it belongs in an algorithm, such as `sliding_counter: { limit: 10, window: 1m }`",
        &["sliding_counter"],
    ),
    (&["method", "path", "host"], "it belongs in `match`", &[]),
    (&["upstream", "tls", "proxy_protocol", "max_key_body"], "it belongs in `gateway`", &["gateway"]),
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
        &[],
    ),
];

/// What a mapping looks like, by what it is called in messages.
const MAPPINGS: [(&str, &str); 24] = [
    ("gateway", "{ listen: 127.0.0.1:8080, upstream: http://127.0.0.1:3000 }"),
    ("api", "{ listen: 127.0.0.1:8081 }"),
    ("admin", "{ listen: 127.0.0.1:8083 }"),
    ("health", "{ listen: 127.0.0.1:8084 }"),
    ("tls", "{ certificate: /etc/tidegate/chain.pem, key: /etc/tidegate/key.pem }"),
    ("the store", "memory"),
    ("the memory store", "{ max_keys: 1000000 }"),
    ("paths", "{ encoded_slash: keep }"),
    ("problem", "{ title: Slow down }"),
    ("jwt", "{ claim: sub, jwks_file: keys.json }"),
    ("client_ip", "{ ipv4: 32, ipv6: 64 }"),
    ("success", "{ status: 200 }"),
    ("fixed_window", WINDOW),
    ("sliding_log", WINDOW),
    ("sliding_counter", WINDOW),
    ("token_bucket", "{ capacity: 4, refill: 1 per 10s }"),
    ("leaky_bucket", "{ rate: 5 per 1s, queue: 10 }"),
    ("lockout", "{ attempts: 10, within: 30m, lock: 30m }"),
    ("the rule", "{ name: all, match: { path: /** }, limits: [ … ] }"),
    ("the limit", "{ name: per-client, says: …, key: client_ip, sliding_counter: … }"),
    ("fallback", "{ limits: [ … ] }"),
    ("the key ", "{ header: x-api-key }"),
    ("the code ", "{ digits: 6 }"),
    ("the plan ", "{ says: …, sliding_counter: { limit: 10, window: 1m } }"),
];
const WINDOW: &str = "{ limit: 10, window: 1m }";

/// What lists and mappings of names look like, by what they are called in messages.
const ITEMS: [(&str, &str); 10] = [
    ("rules", "begin each rule with `- `: `- name: all`"),
    ("limits", "begin each limit with `- `: `- name: per-client`"),
    ("overrides", "begin each override with `- `: `- value: alice`"),
    ("first_of", "write `[api_key, client_ip]`"),
    ("trusted_proxies", "write `[10.0.0.0/8]`"),
    ("keys", "write `account: { json: /account }`"),
    ("costs", "write `search: 5`"),
    ("descriptor", "write its entries in order: `[{ key: path, value: /checkout }, remote_address]`"),
    ("codes", "write `otp: { digits: 6 }`"),
    ("plans", "write `free: { says: …, sliding_counter: { limit: 10, window: 1m } }`"),
];

/// Says how a mapping is written.
pub(crate) fn mapping(what: &str) -> String {
    let fits = |(name, _): &&(&str, &str)| *name == what || (name.ends_with(' ') && what.starts_with(name));
    match MAPPINGS.iter().find(fits) {
        Some((_, example)) => format!("write {example}"),
        None => "write members, `name: value`".to_owned(),
    }
}

/// Says how a list, or a mapping of names to something, is written.
pub(crate) fn items(what: &str) -> &'static str {
    let found = ITEMS.iter().find(|(name, _)| *name == what);
    found.map_or("begin each item with `- `", |(_, remedy)| *remedy)
}

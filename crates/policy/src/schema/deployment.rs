//! Where the process listens, whom it believes, where counts are kept.

use serde_json::{Value, json};

use super::shape::{Member, boolean, integer, member, need, object, one_of_words, setting, size, text, time};

/// Returns the members of the first level that say how the process is run.
pub(super) fn members() -> Vec<Member> {
    vec![
        member("gateway", "The reverse proxy.", gateway()),
        member("api", "The decision API and forward-auth; off loopback only with a token.", api()),
        member("envoy", "Envoy's rate-limit service; off loopback only with a token.", envoy()),
        member(
            "resp",
            "`CL.THROTTLE` for clients of a Redis; off loopback only with a password.",
            private(Vec::new()),
        ),
        member("admin", "Metrics and reloads; off loopback only with a token.", private(Vec::new())),
        member("health", "The health endpoint.", object(vec![listen()])),
        member("store", "Where counts are kept.", store()),
        member("alerts", "Who is told when the store is lost.", alerts()),
        member("trusted_proxies", "Whose word about a client's address is taken.", trusted()),
        member("client_header", "The one header that word is read from.", setting(&text(""))),
        member("instances", "How many processes share the work.", setting(&integer(1, 10_000))),
        member("key_secret_file", "The secret under which identities leave the process.", path()),
    ]
}

fn listen() -> Member {
    let address = json!({ "anyOf": [
        { "type": "integer", "minimum": 0, "maximum": 65_535 },
        { "type": "string", "pattern": "^([0-9.]+:|\\[[0-9A-Fa-f:.]+\\]:)?[0-9]{1,5}$" }
    ] });
    need("listen", "An address and a port, or a port of 127.0.0.1.", setting(&address))
}

fn path() -> Value {
    setting(&text(""))
}

fn gateway() -> Value {
    let tls = object(vec![
        need("certificate", "A PEM file: the chain, the server's own first.", path()),
        need("key", "A PEM file.", path()),
    ]);
    let upstream = json!({ "type": "string", "pattern": "^http://[^/@?#]+/?$" });
    object(vec![
        listen(),
        need("upstream", "http://host:port, without a path.", setting(&upstream)),
        member("tls", "The certificate it shows.", tls),
        member("proxy_protocol", "Every connection opens with a PROXY protocol header.", setting(&boolean())),
        member("max_key_body", "The most bytes of a body that are held to read a key.", setting(&size())),
        member("max_header_bytes", "The most bytes of a request's header.", setting(&size())),
        member("max_connections", "The most connections at once.", setting(&integer(1, 1_000_000))),
        member("idle_timeout", "How long a connection may stay without a request.", setting(&time())),
        member("upstream_timeout", "How long the upstream may take to answer.", setting(&time())),
        member("drain_timeout", "How long requests may take once a stop is asked for.", setting(&time())),
        member("upstream_http2", "Speak HTTP/2 to the upstream.", setting(&boolean())),
    ])
}

/// A face that gives and takes.
fn private(own: Vec<Member>) -> Value {
    let mut members = vec![listen(), member("token_file", "A file with a bearer token or password.", path())];
    members.extend(own);
    object(members)
}

fn api() -> Value {
    let request_id =
        "The header by which a proxy names a request it asks about twice; it has to set it itself.";
    let forward_auth = object(vec![member("request_id", request_id, setting(&text("")))]);
    private(vec![member(
        "forward_auth",
        "How proxies that ask before they forward are answered.",
        forward_auth,
    )])
}

fn envoy() -> Value {
    let files = json!({ "anyOf": [path(), { "type": "array", "items": path() }] });
    private(vec![
        member("files", "Configuration files of envoyproxy/ratelimit.", files),
        member(
            "on_deny",
            "What is answered when the store is gone and a rule denies then.",
            one_of_words(&["over_limit", "unavailable"]),
        ),
        member("timeout", "How long an answer may take, 12 ms unless said.", setting(&time())),
        member(
            "counting",
            "Whether the descriptors of a call are counted all or none, or each by itself.",
            one_of_words(&["all_or_nothing", "each"]),
        ),
    ])
}

fn store() -> Value {
    let snapshot = object(vec![
        need("file", "The file that counts are written to and read from at a start.", path()),
        member("every", "How often it is written, 1 s to 1 h.", setting(&time())),
    ]);
    let memory = object(vec![
        member("max_keys", "The most keys.", setting(&integer(1, 1 << 32))),
        member("max_bytes", "The most bytes.", setting(&size())),
        member("snapshot", "Counts outlive a restart.", snapshot),
    ]);
    let memory = object(vec![need("memory", "In this process.", memory)]);
    let redis = object(vec![need("redis", "In Redis, for all processes.", redis())]);
    json!({ "anyOf": [one_of_words(&["memory"]), memory, redis] })
}

fn redis() -> Value {
    let url = json!({
        "type": "string",
        "pattern": "^((redis|valkey)s?|rediss?\\+(sentinel|cluster))://[^@?#]+$"
    });
    let password = json!({ "type": "string", "pattern": "^\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}$" });
    let prefix = json!({ "type": "string", "pattern": "^[A-Za-z0-9_.:-]{1,64}$" });
    let memory = json!({ "anyOf": [one_of_words(&["off"]), time()] });
    object(vec![
        need("url", "redis://host:6379, or redis+sentinel://… or redis+cluster://….", setting(&url)),
        member("username", "The user of an access list.", setting(&text(""))),
        member("password", "${NAME}, from the environment.", password.clone()),
        member("password_file", "A file with the password.", path()),
        member("sentinel_username", "The user at the sentinels.", setting(&text(""))),
        member("sentinel_password", "${NAME}, from the environment.", password),
        member("sentinel_password_file", "A file with the sentinels' password.", path()),
        member("ca_file", "The authorities that sign the server's certificate.", path()),
        member("certificate_file", "This process's own certificate.", path()),
        member("key_file", "The certificate's key.", path()),
        member("prefix", "What the names of its keys begin with.", setting(&prefix)),
        member("timeout", "How long an answer may take, 1 ms to 10 s.", setting(&time())),
        member("queue", "The most decisions that wait.", setting(&integer(1, 1_000_000))),
        member("denial_memory", "How long a refusal is answered from memory.", setting(&memory)),
    ])
}

fn alerts() -> Value {
    let url = setting(&json!({ "type": "string", "pattern": "^https?://[^@]+$" }));
    let urls = json!({ "anyOf": [url, { "type": "array", "items": url, "minItems": 1 }] });
    object(vec![
        need("webhook", "Alertmanager's address, or several.", urls),
        member("every", "How often an alert that lasts is repeated, 1 s to 1 h.", setting(&time())),
    ])
}

fn trusted() -> Value {
    let network = json!({ "type": "string", "pattern": "^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$" });
    let networks = json!({ "type": "array", "items": setting(&network) });
    let hops = object(vec![
        need("hops", "So many, counted from the right, whoever they are.", setting(&integer(1, 32))),
        member("trust_everyone", "Changes nothing beside hops.", boolean()),
    ]);
    let listed = object(vec![
        need("networks", "Addresses and networks.", networks.clone()),
        member("trust_everyone", "Says that 0.0.0.0/0 is meant.", boolean()),
    ]);
    json!({ "anyOf": [networks, hops, listed] })
}

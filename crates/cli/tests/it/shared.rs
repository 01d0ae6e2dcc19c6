//! A policy over a real Redis, for the commands that ask one.

use std::path::PathBuf;

use tidegate_redis_kit::Server;

use crate::process::Folder;

/// Writes a policy whose counts are in a Redis on a port; `more` are lines of the store.
pub(crate) fn policy(folder: &Folder, port: u16, more: &str) -> PathBuf {
    policy_at(folder, &format!("redis://127.0.0.1:{port}"), more)
}

/// Writes the same policy with any url.
pub(crate) fn policy_at(folder: &Folder, url: &str, more: &str) -> PathBuf {
    folder.file("keys.secret", "the same on every instance\n");
    let text = format!(
        "tidegate: 1
key_secret_file: keys.secret
store:
  redis:
    url: {url}
{more}
api: {{ listen: 127.0.0.1:0 }}
keys: {{ account: {{ json: /account, normalize: [trim, lowercase] }} }}
rules:
  - name: verify
    class: verify
    match: {{ method: POST, path: /otp/verify }}
    on_store_failure: deny
    limits:
      - name: per-account
        says: Two at once, then one every hour, per account.
        key: account
        token_bucket: {{ capacity: 2, refill: 1 per 1h }}
      - name: everyone
        says: Up to 600 an hour, for everyone together.
        key: global
        sliding_counter: {{ limit: 600, window: 1h }}
"
    );
    folder.file("policy.yaml", text)
}

/// Starts a server with a bound on its memory, as docs/redis.md wants it.
pub(crate) fn server() -> Server {
    Server::start(&["--maxmemory", "100mb", "--maxmemory-policy", "noeviction"])
}

/// Returns a port on which nothing listens.
pub(crate) fn nobody() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

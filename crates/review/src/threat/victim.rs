//! Whether a limit holds an attacker at one victim, and who can lock that victim out.

use tidegate_policy::{Chooser, Chosen, Key};

/// What a key of the body, the path or the query is called that is new with every attempt, so that whoever wants more
/// tries takes another.
const RENEWED: [&str; 16] = [
    "attempt",
    "challenge",
    "code",
    "csrf",
    "device",
    "fingerprint",
    "flow",
    "nonce",
    "otp",
    "request",
    "secret",
    "session",
    "state",
    "token",
    "transaction",
    "verification",
];
/// What a key is called that tells who the victim is.
const VICTIM: [&str; 18] = [
    "account",
    "address",
    "customer",
    "destination",
    "email",
    "identity",
    "login",
    "mail",
    "member",
    "msisdn",
    "number",
    "owner",
    "person",
    "phone",
    "sub",
    "subject",
    "user",
    "username",
];

/// Returns whether all tries at one victim are counted on one key, whoever makes them and from wherever.
///
/// An address, a header field and a cookie are changed at will, and a challenge is asked for anew: what is counted on
/// those holds nobody who wants to try more often. What a key is cannot be seen, so that its name in the file decides where
/// its source leaves it open. A key that may be read from several places holds when each of them does.
pub(super) fn holds(key: &Key) -> bool {
    key.chosen().iter().flatten().all(holds_one)
}

fn holds_one(chosen: &Chosen<'_>) -> bool {
    match chosen.by {
        Chooser::Nobody => true,
        Chooser::Network => false,
        Chooser::Caller | Chooser::Edge => is_called(chosen, &VICTIM) && !is_called(chosen, &RENEWED),
        Chooser::Issuer | Chooser::Stranger => is_called(chosen, &VICTIM) || !is_called(chosen, &RENEWED),
    }
}

/// Returns whether one of the words of a key's names is one of these.
fn is_called(chosen: &Chosen<'_>, words: &[&str]) -> bool {
    let names = std::iter::once(chosen.name).chain(chosen.called.iter().map(String::as_str));
    names.into_iter().any(|name| {
        name.split(|char: char| !char.is_ascii_alphabetic()).any(|part| {
            let part = part.to_ascii_lowercase();
            words.iter().any(|word| part == *word || part.strip_suffix('s') == Some(word))
        })
    })
}

/// Returns who can make the requests that keep a victim's key refused, in words.
pub(super) fn who_locks_out(key: &Key) -> &'static str {
    let choosers = key.choosers();
    let decides = |chooser| choosers.contains(&chooser);
    if decides(Chooser::Issuer) || decides(Chooser::Edge) {
        "only whoever has what the victim was given"
    } else if decides(Chooser::Network) {
        "whoever shares the victim's address"
    } else if decides(Chooser::Caller) || !holds(key) {
        "whoever knows what the victim sends"
    } else if decides(Chooser::Stranger) {
        "any stranger who names the victim"
    } else {
        "anybody, and with the victim everyone"
    }
}

#[cfg(test)]
mod tests {
    use super::{holds, who_locks_out};
    use crate::test_policy::policy;

    /// Guards against a time to a guess that a fresh challenge, or another address, shortens.
    #[test]
    fn a_key_that_is_changed_at_will_holds_nobody() {
        let policy = policy(
            "
tidegate: 1
trusted_proxies: [192.0.2.1]
keys:
  client: { client_ip: { ipv4: 32, ipv6: 64 } }
  account: { json: /account }
  user-id: { header: x-user-id, from: trusted_proxies }
  api_key: { header: x-api-key }
  challenge: { json: /challenge }
  account-token: { query: t }
  either: { first_of: [account, client] }
  twice: { first_of: [{ json: /email }, { form: email }] }
rules:
  - name: all
    match: { path: \"/v/{id}\" }
    limits:
      - { name: a, says: x, key: global, fixed_window: { limit: 1, window: 1m } }
      - { name: b, says: x, key: client, fixed_window: { limit: 1, window: 1m } }
      - { name: c, says: x, key: account, fixed_window: { limit: 1, window: 1m } }
      - { name: d, says: x, key: [account, client], fixed_window: { limit: 1, window: 1m } }
      - { name: e, says: x, key: user-id, fixed_window: { limit: 1, window: 1m } }
      - { name: f, says: x, key: api_key, fixed_window: { limit: 1, window: 1m } }
      - { name: g, says: x, key: challenge, fixed_window: { limit: 1, window: 1m } }
      - { name: h, says: x, key: account-token, fixed_window: { limit: 1, window: 1m } }
      - { name: i, says: x, key: either, fixed_window: { limit: 1, window: 1m } }
      - { name: j, says: x, key: twice, fixed_window: { limit: 1, window: 1m } }
      - { name: k, says: x, key: { path: id }, fixed_window: { limit: 1, window: 1m } }
      - { name: l, says: x, key: [account, route], fixed_window: { limit: 1, window: 1m } }
",
        );
        let held: Vec<(&str, bool)> = policy
            .limits()
            .map(|limit| (limit.name.rsplit('/').next().unwrap(), holds(&limit.key)))
            .collect();
        let holding: Vec<&str> = held.iter().filter(|(_, holds)| *holds).map(|(name, _)| *name).collect();
        assert_eq!(holding, ["a", "c", "e", "h", "j", "k", "l"]);
        let said: Vec<&str> = policy.limits().map(|limit| who_locks_out(&limit.key)).collect();
        assert_eq!(said[0], "anybody, and with the victim everyone");
        assert_eq!(said[2], "any stranger who names the victim");
        assert_eq!(said[3], "whoever shares the victim's address");
        assert_eq!(said[4], "only whoever has what the victim was given");
    }
}

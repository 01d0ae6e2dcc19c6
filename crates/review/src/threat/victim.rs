//! Who can lock a victim out.

use tidegate_policy::{Chooser, Key};

use crate::lint::reach::{Kind, holds_for_one, kind};

/// Returns who can make the requests that keep a victim's key refused, in words.
pub(super) fn who_locks_out(key: &Key) -> &'static str {
    let choosers = key.choosers();
    let decides = |chooser| choosers.contains(&chooser);
    let by_address = key.parts().flatten().any(|place| kind(&place) == Kind::Address);
    if decides(Chooser::Edge) && by_address {
        "whoever shares the victim's address"
    } else if decides(Chooser::Issuer) || decides(Chooser::Edge) {
        "only whoever has what the victim was given"
    } else if decides(Chooser::Network) {
        "whoever shares the victim's address"
    } else if decides(Chooser::Caller) || !holds_for_one(key) {
        "whoever knows what the victim sends"
    } else if decides(Chooser::Stranger) {
        "any stranger who names the victim"
    } else {
        "anybody, and with the victim everyone"
    }
}

#[cfg(test)]
mod tests {
    use super::{holds_for_one, who_locks_out};
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
            .map(|limit| (limit.name.rsplit('/').next().unwrap(), holds_for_one(&limit.key)))
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

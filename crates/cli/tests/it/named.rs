//! The names of keys: the same ones for `expect.keys`, for ready-made keys in tests, and for `why --key`.

use crate::process::{Folder, run, text};

const POLICY: &str = "
tidegate: 1
health: { listen: 127.0.0.1:0 }
trusted_proxies: [10.0.0.0/8]
keys:
  phone: { json: /phone, normalize: [{ e164: US }] }
  country: { phone_country: phone }
  customer: { header: x-customer, from: trusted_proxies }
  client: { client_ip: { ipv4: 24 } }
  caller: { first_of: [customer, client] }
  spare: { cookie: sid }
costs:
  cents: { by: country, default: 25, values: { FR: 5 } }
rules:
  - name: send
    match: { path: /send }
    limits:
      - name: spend
        says: Never more than 900 cents in any 24 hours, for everyone together.
        key: global
        cost: cents
        sliding_log: { limit: 900, window: 24h }
      - name: pace
        says: Ten a minute, per caller.
        key: caller
        sliding_counter: { limit: 10, window: 1m }
include: { payments: payments.yaml }
";

const TEAM: &str = "
tidegate: 1
keys:
  merchant: { header: x-merchant, normalize: lowercase }
  payer: { first_of: [merchant, client] }
rules:
  - name: charge
    match: { path: /charge }
    limits:
      - name: per-merchant
        says: Ten a minute, per payer.
        key: payer
        sliding_counter: { limit: 10, window: 1m }
";

fn folder(name: &str, tests: &str) -> (Folder, String, String) {
    let folder = Folder::new(name);
    folder.file("payments.yaml", TEAM);
    let policy = folder.file("policy.yaml", POLICY).display().to_string();
    let suite = folder.file("p.test.yaml", format!("tidegate-test: 1\npolicy: policy.yaml\ntests:\n{tests}"));
    let suite = suite.display().to_string();
    (folder, policy, suite)
}

/// Guards keys that only a cost looks at, that stand in a `first_of`, or that a team declares, against being unknown.
#[test]
fn every_declared_key_has_one_name_everywhere() {
    let tests = "
  - name: keys
    steps:
      - request: { path: /send, client: 10.0.0.1, json: { phone: '+33612345678' }, headers: { x-customer: acme } }
        expect: { keys: { country: FR, phone: '+33612345678', customer: acme, caller: acme, client: 10.0.0.0/24, spare: ~ }, cost: { send/spend: 5 } }
      - request: { path: /send, client: 192.0.2.1, keys: { country: FR, spare: a }, headers: { x-customer: acme } }
        expect: { keys: { country: FR, customer: ~, caller: 192.0.2.0/24, phone: ~, spare: a }, cost: { send/spend: 5 } }
      - request: { path: /charge, headers: { x-merchant: SHOP } }
        expect: { keys: { payments/merchant: shop, payments/payer: shop } }
      - request: { path: /charge, keys: { payments/merchant: Ready } }
        expect: { keys: { payments/payer: ready } }
";
    let (_folder, policy, suite) = folder("named", tests);
    let output = run(["test", &suite]);
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
    for name in ["country", "customer", "client", "phone", "spare", "payments/merchant"] {
        let value = if name == "client" { "192.0.2.1".to_owned() } else { "FR".to_owned() };
        let value = if name == "phone" { "+33612345678".to_owned() } else { value };
        let output = run(["why", &policy, "/send", "--key", &format!("{name}={value}")]);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", text(&output.stderr));
    }
}

/// Guards against a slip in a key's name that goes unnoticed, or whose remedy names other keys than there are.
#[test]
fn a_key_that_nobody_declares_is_told_with_those_there_are() {
    let tests = "
  - name: keys
    steps:
      - request: { path: /send, keys: { caller: x } }
        expect: { keys: { merchant: x } }
";
    let (_folder, policy, suite) = folder("unnamed", tests);
    let output = run(["test", &suite]);
    let told = format!("{}{}", text(&output.stdout), text(&output.stderr));
    assert!(told.contains("the policy has no key \"merchant\"; "), "{told}");
    assert!(
        told.contains("the policy has no key that is read \"caller\""),
        "a first_of is given by its keys: {told}"
    );
    let output = run(["why", &policy, "/send", "--key", "merchant=x"]);
    let told = text(&output.stderr);
    assert!(told.contains("client, country, customer, payments/merchant, phone, spare"), "{told}");
}

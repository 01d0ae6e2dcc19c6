//! Which policies have to be told the date.

use tidegate_policy::{Reading, Surroundings};

/// A set of keys, under every name.
struct Keys;

impl Surroundings for Keys {
    fn file(&self, _: &str) -> Result<Vec<u8>, String> {
        Ok(include_bytes!("../../src/key/jwt/vectors/keys.json").to_vec())
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }
}

const KEYS: &str = "
tidegate: 1
keys:
  user: { jwt: { claim: sub, jwks_file: k } }
  caller: { first_of: [user, client_ip] }
  phone: { jwt: { claim: phone, jwks_file: k }, normalize: [{ e164: US }] }
  country: { phone_country: phone }
  service: { header: x-service }
costs:
  by_user: { by: user, default: 1, values: { a: 2 } }
  by_service: { by: service, default: 1, values: { a: 2 } }
";

/// Guards against limits that take an expired token's word, or an override's that is over, since nobody told them the
/// date: each door to one is known, and whoever has none pays for none.
#[test]
fn whatever_ends_needs_the_date() {
    let counted = "says: One., sliding_log: { limit: 9, window: 1m }";
    let plans = format!("plans: {{ a: {{ {counted} }}, b: {{ {counted} }} }}");
    let overridden =
        |until: &str| format!("{counted}, overrides: [{{ value: a, {until}because: c, {counted} }}]");
    let table = [
        (format!("key: client_ip, {counted}"), false),
        (format!("key: [client_ip, service], cost: by_service, {counted}"), false),
        (format!("key: user, {counted}"), true),
        (format!("key: [client_ip, caller], {counted}"), true),
        (format!("key: country, {counted}"), true),
        (format!("key: client_ip, cost: by_user, {counted}"), true),
        (format!("key: client_ip, plan: {{ by: service, values: {{ x: b }}, default: a }}, {plans}"), false),
        (format!("key: client_ip, plan: {{ by: user, values: {{ x: b }}, default: a }}, {plans}"), true),
        (
            format!("key: client_ip, plan: {{ jwt: {{ claim: plan, jwks_file: k }}, default: a }}, {plans}"),
            true,
        ),
        (format!("key: service, {}", overridden("")), false),
        (format!("key: service, {}", overridden("until: 2031-05-31, ")), true),
    ];
    for (limit, needs) in table {
        for place in ["rules:\n  - name: r\n    match: { path: /** }\n", "fallback:\n"] {
            let text = format!("{KEYS}{place}    limits:\n      - {{ name: l, {limit} }}\n");
            let read = Reading::of(&Keys).embedded().parse("test.yaml", &text);
            let policy = read.unwrap_or_else(|problems| panic!("{limit}: {problems}"));
            assert_eq!(policy.needs_date(), needs, "{limit}");
        }
    }
}

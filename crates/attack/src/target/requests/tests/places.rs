//! Every place that a key or a cost is read from.

use tidegate_policy::{Reading, Surroundings};

use super::*;

/// A policy of one rule whose limits count on the named keys, one each.
fn counting(keys: &str, class: &str, matches: &str, names: &[&str]) -> String {
    let limits: Vec<String> = names.iter().map(|name| limit(name, name)).collect();
    format!(
        "trusted_proxies: [10.0.0.0/8]\nkeys:\n{keys}\nrules:\n  - name: r\n    class: {class}\n    on_store_failure: deny\n    \
         match: {matches}\n    limits:\n{}",
        limits.join("\n")
    )
}

fn limit(name: &str, key: &str) -> String {
    format!("      - {{ name: {name}, says: x, key: {key}, fixed_window: {{ limit: 1, window: 1m }} }}")
}

/// Guards against a request that leaves a key out, and against coordinates that change a key they do not belong to.
#[test]
fn each_source_is_filled_and_changed_by_its_coordinate_alone() {
    let declared = r#"
  client: { client_ip: { ipv4: 24, ipv6: 56 } }
  api_key: { header: x-api-key, normalize: [hash] }
  edge: { header: x-user, from: trusted_proxies }
  plain: { query: who }
  odd: { query: "a[b] c" }
  id: { path: id }
  sub: { path: sub, normalize: [lowercase] }
  deep: { json: "/data/0/user~1name", normalize: [trim, lowercase] }
  number: { json: /data/1/x }
  session: { json: /session }
  cook: { cookie: sid }
  mail: { json: /email }
  phone: { json: /to/phone, normalize: [{ e164: US }] }
  range: { phone_prefix: phone }
  country: { phone_country: phone }
  cluster: { descriptor: source_cluster }
  either: { first_of: [api_key, client] }
"#;
    let names = [
        "client", "api_key", "edge", "plain", "odd", "id", "sub", "deep", "number", "session", "cook",
        "mail", "phone", "range", "country", "cluster", "either", "global", "method", "route",
    ];
    let requests = first(&counting(declared, "verify", "{ path: \"/a/{id}/b/{sub}\" }", &names));
    let wire = requests.wire(&at_victim()).unwrap();
    assert_eq!(wire.method, "POST");
    assert_eq!(wire.path, "/a/customer-0/b/customer-0");
    assert_eq!(wire.query.as_deref(), Some("who=customer-0&a%5Bb%5D%20c=customer-0"));
    assert_eq!(wire.headers["cookie"], "sid=session-0");
    assert_eq!(wire.headers["x-user"], "customer-0");
    let body = std::str::from_utf8(&wire.body).unwrap();
    assert_eq!(
        body,
        r#"{"data":[{"user/name":"customer-0"},{"x":"customer-0"}],"session":"session-0","email":"customer-0@example.com","to":{"phone":"+16502000000"}}"#
    );
    assert_eq!(wire.ready.get("source_cluster").map(String::as_str), Some("customer-0"));

    let full = |short: &[&str]| -> Vec<String> {
        let mut full: Vec<String> = short.iter().map(|name| format!("r/{name}")).collect();
        full.sort();
        full
    };
    assert_eq!(keys_of(&requests), full(&names));
    let subject = ["edge", "plain", "odd", "id", "sub", "deep", "number", "mail", "phone", "cluster"];
    assert_eq!(changed(&requests, |who| who.subject = 7), full(&subject));
    let far = [&subject[..], &["range", "country"]].concat();
    assert_eq!(
        changed(&requests, |who| who.subject = 10_000),
        full(&far),
        "another range is of another country"
    );
    assert_eq!(changed(&requests, |who| who.session = 1), full(&["api_key", "session", "cook", "either"]));
    assert_eq!(changed(&requests, |who| who.address = "192.0.2.1".parse().unwrap()), full(&["client"]));
    let neighbour = |who: &mut Who| who.address = "198.18.0.99".parse().unwrap();
    assert_eq!(changed(&requests, neighbour), full(&[]), "of the same /24");
    assert_eq!(changed(&requests, |who| who.forwarded = "192.0.2.1".parse().ok()), full(&[]));
    // The class reads paths loosely, and `deep`, `sub` and `phone` are normalised.
    assert_eq!(changed(&requests, |who| who.spelling = 1), full(&["plain", "odd", "id", "number", "mail"]));
    assert_eq!(keys(&requests, &at_victim()), keys(&requests, &at_victim()));
    assert_eq!(requests.spellings(), 255);
    assert!(!requests.aim().one_spelling);
}

/// Guards long attacks against a subject whose name or number is none, and people against a request that is refused.
#[test]
fn everybody_has_a_request_of_his_own() {
    let keys = "
  mail: { json: /email, normalize: [trim, lowercase] }
  phone: { json: /phone, normalize: [{ e164: US }] }
  country: { phone_country: phone }
";
    let requests = first(&counting(keys, "send", "{ path: /send }", &["mail", "phone", "country"]));
    let limiter = requests.limiter(Arc::new(MemoryStore::with_secret(MemoryOptions::default(), [0; 16])));
    let snapshot = limiter.unwrap().snapshot();
    let subjects =
        (0..8).map(|range| range * 10_000).chain([1, 9_999, 80_000, 123_456_789, 1 << 30, u32::MAX]);
    let mut seen = std::collections::BTreeSet::new();
    let subjects: Vec<u32> = subjects.collect();
    for subject in &subjects {
        for spelling in [0, 1, 7, 255] {
            let who = Who { spelling, ..Who::new(*subject, "2001:db8::1".parse().unwrap()) };
            let prepared =
                requests.prepare(&snapshot, &who).unwrap_or_else(|| panic!("{:?}", requests.wire(&who)));
            assert_eq!(prepared.asked().count(), 3);
            seen.insert(prepared.asked().take(2).map(|asked| asked.key.to_vec()).collect::<Vec<_>>());
        }
    }
    assert_eq!(seen.len(), subjects.len(), "each has one pair of keys, however he is spelled");
    assert!(requests.aim().one_spelling);
}

/// One file, under every name.
struct OneFile(&'static str);

impl Surroundings for OneFile {
    fn file(&self, _: &str) -> Result<Vec<u8>, String> {
        Ok(self.0.into())
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }
}

/// Guards rules that count on tokens against being passed over: nobody can forge one, so whose it is stands ready.
#[test]
fn a_claim_is_given_ready_made_and_in_one_spelling() {
    let keys = r#"{"keys":[{"kty":"oct","alg":"HS256","k":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4v"}]}"#;
    let text = format!(
        "tidegate: 1\nkeys:\n  user: {{ jwt: {{ claim: sub, jwks_file: keys.json }} }}\n  caller: {{ first_of: [user, client_ip] }}\n\
         rules:\n  - name: r\n    match: {{ path: /a }}\n    limits:\n{}\n{}",
        limit("user", "user"),
        limit("caller", "caller")
    );
    let policy = Reading::of(&OneFile(keys)).embedded().parse("policy.yaml", &text);
    let requests =
        Requests::new(Arc::new(policy.unwrap_or_else(|problems| panic!("{problems}"))), 0).unwrap();
    assert_eq!(
        requests.wire(&at_victim()).unwrap().ready.get("user").map(String::as_str),
        Some("customer-0")
    );
    assert_eq!(changed(&requests, |who| who.subject = 1), ["r/caller", "r/user"]);
    assert_eq!(changed(&requests, |who| who.spelling = 1), Vec::<String>::new());
    assert_eq!(changed(&requests, |who| who.address = "192.0.2.1".parse().unwrap()), Vec::<String>::new());
    assert_eq!(requests.spellings(), 0);
}

fn keys_of(requests: &Requests) -> Vec<String> {
    keys(requests, &at_victim()).unwrap().into_keys().collect()
}

/// Guards the aliasing of path parameters: a server that drops `;v=1` serves the same account for each of them.
#[test]
fn parameters_of_a_segment_are_other_keys_where_paths_are_read_to_the_letter() {
    let keys = "  id: { path: id, normalize: [lowercase] }";
    for (class, others) in [("api", vec!["r/id".to_owned()]), ("verify", vec![])] {
        let requests = first(&counting(keys, class, "{ path: \"/a/{id}\" }", &["id"]));
        assert_eq!(changed(&requests, |who| who.spelling = 16), others, "{class}");
        assert_eq!(requests.aim().one_spelling, others.is_empty());
    }
}

/// Guards forms, and limits that would have two kinds of body at once: a form has an alternative here, a query none.
#[test]
fn a_body_is_of_the_kind_that_some_limit_cannot_do_without() {
    let keys = "
  user: { form: user, normalize: [trim, lowercase] }
  doc: { json: /user }
  any: { first_of: [doc, user] }
  jwt: { first_of: [doc, user] }
";
    let requests = first(&counting(keys, "login", "{ method: POST, path: /login }", &["any", "user"]));
    let wire = requests.wire(&Who { spelling: 0x21, ..at_victim() }).unwrap();
    assert_eq!(wire.body, b"user=%20%20CustoMer-0%20");
    assert_eq!(changed(&requests, |who| who.spelling = 0x21), Vec::<String>::new());
    let requests = first(&counting(keys, "login", "{ method: POST, path: /login }", &["any"]));
    assert_eq!(
        requests.wire(&at_victim()).unwrap().body,
        br#"{"user":"customer-0"}"#,
        "the first place, where there is a choice"
    );
}

/// Guards against an attacker who pays what the policy would let him pay less for.
#[test]
fn costs_are_the_least_that_the_policy_allows() {
    let text = r#"
trusted_proxies: [10.0.0.0/8]
keys:
  size: { query: size }
  phone: { json: /phone, normalize: [e164] }
  country: { phone_country: phone }
costs:
  by_size: { by: size, default: 9, values: { small: 2, large: 20 } }
  by_country: { by: country, default: 30, values: { FR: 8, "NO": 3 } }
  by_method: { by: method, default: 4, values: { PUT: 1 } }
  said: { header: x-cost, from: trusted_proxies, default: 5 }
rules:
  - name: r
    match: { path: /r }
    limits:
      - { name: size, says: x, key: global, cost: by_size, unit: u, fixed_window: { limit: 100, window: 1m } }
      - { name: country, says: x, key: global, cost: by_country, unit: u, fixed_window: { limit: 100, window: 1m } }
      - { name: method, says: x, key: global, cost: by_method, unit: u, fixed_window: { limit: 100, window: 1m } }
      - { name: said, says: x, key: global, cost: said, unit: u, fixed_window: { limit: 100, window: 1m } }
      - { name: items, says: x, key: phone, cost: { items: /list }, unit: u, fixed_window: { limit: 100, window: 1m } }
"#;
    let requests = first(text);
    let costs: Vec<u32> = requests.aim().guards.iter().map(|guard| guard.cost).collect();
    assert_eq!(costs, [2, 3, 1, 1, 1]);
    let wire = requests.wire(&at_victim()).unwrap();
    assert_eq!(wire.method, "PUT");
    let body = String::from_utf8(wire.body).unwrap();
    assert!(body.starts_with(r#"{"phone":"+47"#) && body.ends_with(r#","list":[{}]}"#), "{body}");
}

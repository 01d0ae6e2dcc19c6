//! Rules that no request reaches, and what stands in the way; and those that only some requests reach.

use super::*;

const LIMITS: &str = "limits: [{ name: l, says: x, key: client_ip, fixed_window: { limit: 1, window: 1m } }]";

fn why(text: &str, rule: usize) -> String {
    match Requests::new(policy(text), rule) {
        Ok(requests) => panic!("{:?}", requests.wire(&at_victim())),
        Err(unreachable) => unreachable.to_string(),
    }
}

/// Guards the reader of a report against a rule that is passed over without a reason.
#[test]
fn the_reason_names_what_is_in_the_way() {
    let excepted =
        format!("rules: [{{ name: r, match: {{ path: /a }}, except: [{{ path: /** }}], {LIMITS} }}]");
    assert!(why(&excepted, 0).starts_with("exception 1 of r leaves out"), "{}", why(&excepted, 0));
    let refused = format!(
        "rules: [{{ name: r, match: {{ path: /a }}, {LIMITS} }}, {{ name: shut, match: {{ path: /** }}, refuse: {{ status: 403, \
         because: closed }} }}]"
    );
    assert_eq!(why(&refused, 0), "shut refuses every request that r applies to; except them there");
    assert!(why(&refused, 1).starts_with("shut refuses whatever"));
    assert!(why(&refused, 2).starts_with("there is no such rule"));
    let covered =
        format!("rules: [{{ name: r, match: {{ path: /** }}, {LIMITS} }}]\nfallback: {{ {LIMITS} }}");
    assert!(why(&covered, 1).starts_with("the limits of r look at every request"), "{}", why(&covered, 1));
    let torn = "
rules:
  - name: r
    match: { path: /a }
    limits:
      - { name: doc, says: x, key: { json: /a }, fixed_window: { limit: 1, window: 1m } }
      - { name: form, says: x, key: { form: a }, fixed_window: { limit: 1, window: 1m } }
";
    let torn = why(torn, 0);
    assert!(
        torn.starts_with("every request that was tried for r is refused as a bad one: form a is read from"),
        "{torn}"
    );
    let untrusted = "
rules:
  - name: r
    match: { path: /a }
    limits:
      - { name: l, says: x, key: { header: x-user, from: trusted_proxies }, fixed_window: { limit: 1, window: 1m } }
";
    assert!(why(untrusted, 0).starts_with("no limit of r found its key"), "{}", why(untrusted, 0));
}

/// Guards against giving up at the first request that an exception or another rule takes away.
#[test]
fn exceptions_hosts_and_other_rules_are_gone_around() {
    let text = format!(
        "
rules:
  - name: r
    match: [{{ method: [GET, DELETE], host: \"*.x.example\", path: \"/a/**\" }}, {{ path: /b }}]
    except: [{{ method: GET }}, {{ path: \"/a/{{one}}\" }}, {{ path: /b }}]
    {LIMITS}
  - name: root
    match: {{ host: a.x.example, path: /a }}
    refuse: {{ status: 403, because: closed }}
fallback:
  {LIMITS}
"
    );
    let policy = policy(&text);
    let wire = Requests::new(Arc::clone(&policy), 0).unwrap().wire(&at_victim()).unwrap();
    assert_eq!((wire.method.as_str(), wire.path.as_str()), ("DELETE", "/a/1/1"));
    assert_eq!(wire.host.as_deref(), Some("a.x.example"));
    let fallback = Requests::new(policy, 2).unwrap();
    assert_eq!(fallback.aim().guards[0].name, "fallback/l");
}

/// Guards the fallback of a rule that skips requests without its key: it looks at those without.
#[test]
fn the_fallback_is_reached_without_the_keys_of_others() {
    let text = format!(
        "
rules:
  - name: r
    match: {{ path: /** }}
    on_missing_key: skip
    limits: [{{ name: l, says: x, key: {{ header: x-api-key }}, fixed_window: {{ limit: 1, window: 1m }} }}]
fallback:
  {LIMITS}
"
    );
    let policy = policy(&text);
    let fallback = Requests::new(Arc::clone(&policy), 1).unwrap();
    assert!(fallback.wire(&at_victim()).unwrap().headers.is_empty());
    assert_eq!(fallback.aim().guards.len(), 1);
    let own = Requests::new(policy, 0).unwrap();
    assert_eq!(own.aim().guards[0].name, "r/l");
}

/// Guards aims at limits that only look: they refuse nothing, and the fallback looks as well.
#[test]
fn a_limit_in_shadow_is_no_guard() {
    let text = format!(
        "
rules:
  - name: r
    mode: shadow
    match: {{ path: /** }}
    limits: [{{ name: l, says: x, key: {{ json: /a }}, fixed_window: {{ limit: 1, window: 1m }} }}]
fallback:
  {LIMITS}
"
    );
    let aim = first(&text).aim();
    let names: Vec<&str> = aim.guards.iter().map(|guard| guard.name.as_str()).collect();
    assert_eq!(names, ["fallback/l"]);
}

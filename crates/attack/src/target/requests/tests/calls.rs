//! Calls about descriptors that a rule applies to.

use tidegate_policy::{Counting, import};

use super::*;
use crate::act::{Outcome, Role};
use crate::adversary::{Keyed, home, ipv6_address};
use crate::world::World;

/// Begins a policy of rules for descriptors.
const ENVOY: &str = "envoy: { listen: 127.0.0.1:0 }\nkeys:\n  user: { descriptor: user, normalize: [lowercase] }\n  path: { \
                     descriptor: path }\n  raw: { descriptor: remote_address }\n  masked: { descriptor: masked_remote_address }\n  \
                     configured: { descriptor: generic_key }\n  phone: { descriptor: phone, normalize: [{ e164: US }] }\n  \
                     session: { descriptor: session }\n  account: { descriptor: account }\n  plan: { descriptor: plan }\n  tier: { descriptor: tier }\n";

/// A limit of one a minute on a key.
fn on(key: &str) -> String {
    format!("{{ name: {key}, says: x, key: {key}, fixed_window: {{ limit: 1, window: 1m }} }}")
}

/// A rule for descriptors of one domain, with a limit on each of the keys.
fn rule(name: &str, entries: &str, keys: &[&str], more: &str) -> String {
    let limits: Vec<String> = keys.iter().map(|key| on(key)).collect();
    let matched = if entries.is_empty() { String::new() } else { format!(", descriptor: [{entries}]") };
    format!(
        "  - name: {name}\n    match: {{ domain: shop{matched} }}\n    limits: [{}]\n{more}",
        limits.join(", ")
    )
}

fn calls(rules: &[String]) -> Requests {
    first(&format!("{ENVOY}rules:\n{}", rules.concat()))
}

/// Returns why no call is made for the first rule.
fn why(rules: &[String]) -> String {
    let policy = policy(&format!("{ENVOY}rules:\n{}", rules.concat()));
    Requests::new(policy, 0).unwrap_err().to_string()
}

/// Returns the values of somebody's descriptor, in the order of its entries.
fn values(requests: &Requests, who: &Who) -> Vec<String> {
    let Made::Call(call) = &requests.made else { panic!("a request over HTTP") };
    call.described(who, |descriptor| {
        descriptor.entries.iter().map(|(_, value)| (*value).to_owned()).collect()
    })
}

/// Guards entries against coordinates that do not belong to them: who is asked about, from where, and which session.
#[test]
fn each_entry_is_filled_by_whoever_chooses_it() {
    let entries = "{ key: kind, value: login }, user, remote_address, masked_remote_address, generic_key, phone, session, path";
    let keys = ["user", "client_ip", "raw", "masked", "configured", "phone", "session", "path", "global"];
    let requests = calls(&[rule("r", entries, &keys, "")]);
    let plain = values(&requests, &at_victim());
    assert_eq!(plain[..2], ["login".to_owned(), "customer-0".to_owned()]);
    let victim = at_victim().address;
    assert_eq!(plain[2..5], [victim.to_string(), format!("{victim}/32"), "1".to_owned()]);
    assert_eq!(plain[5..], ["+16502000000", "session-0", "session-0"]);
    let full = |names: &[&str]| -> Vec<String> {
        let mut full: Vec<String> = names.iter().map(|name| format!("r/{name}")).collect();
        full.sort();
        full
    };
    assert_eq!(changed(&requests, |who| who.subject = 7), full(&["user", "phone"]));
    assert_eq!(changed(&requests, |who| who.session = 7), full(&["session", "path"]));
    assert_eq!(changed(&requests, |who| who.address = home(7)), full(&["client_ip", "raw", "masked"]));
    assert_eq!(changed(&requests, |who| who.forwarded = Some(home(7))), full(&[]), "Envoy tells the address");
    assert_eq!(changed(&requests, |who| who.spelling = 3), full(&[]), "spellings of a user are one");
    let neighbour = |who: &mut Who| who.address = ipv6_address(0, 1);
    assert!(changed(&requests, neighbour).contains(&"r/client_ip".to_owned()));
    assert_eq!(requests.wire(&at_victim()), None);
    let aim = requests.aim();
    assert!(aim.one_spelling && !aim.believes_anybody && aim.one_address.is_none());
    let keyed = |name: &str| aim.guards.iter().find(|guard| guard.name == format!("r/{name}")).unwrap().keyed;
    let none = Keyed::default();
    assert_eq!(keyed("client_ip"), Keyed { address: Some((32, 64)), ..none });
    assert_eq!(keyed("raw"), Keyed { address: Some((32, 128)), ..none });
    assert_eq!(keyed("configured"), none);
    assert_eq!(keyed("user"), Keyed { subject: true, ..none });
}

/// Guards against spellings that are told apart unseen where whoever calls writes an entry, and against made up ones where
/// Envoy does: as the policy judges its keys.
#[test]
fn who_writes_an_entry_may_spell_it_otherwise() {
    let rules = [rule("r", "account, { key: generic_key, value: \"*\" }", &["account", "configured"], "")];
    let requests = calls(&rules);
    let choosers: Vec<_> = requests.policy.limits().map(|limit| limit.key.choosers()).collect();
    let theirs = choosers[0] == [tidegate_policy::Chooser::Stranger];
    assert_eq!((requests.spellings() > 0, requests.aim().one_spelling), (theirs, !theirs));
    let spelled = changed(&requests, |who| who.spelling = 3);
    assert_eq!(spelled, if theirs { vec!["r/account".to_owned()] } else { Vec::new() });
    let told = values(&requests, &Who { spelling: 3, ..at_victim() });
    assert_eq!(
        told,
        [if theirs { "CUstomer-0" } else { "customer-0" }, "1"],
        "a field has no blanks around it"
    );
}

/// Guards patterns against values that they do not take, and rules against values that others are about.
#[test]
fn a_value_is_one_that_the_pattern_takes_and_no_exception_nor_another_rule() {
    let of = |entry: &str, more: &[String]| {
        let rules = [&[rule("r", entry, &["path"], "")], more].concat();
        let requests = calls(&rules);
        assert_eq!(requests.aim().guards.len(), 1, "{entry} meets another rule");
        values(&requests, &Who { session: 3, ..at_victim() }).swap_remove(0)
    };
    assert_eq!(of("{ key: path, value: /login }", &[]), "/login");
    assert_eq!(of("{ key: path, value: \"/api*\" }", &[]), "/apisession-3");
    assert_eq!(of("{ key: path, value: \"/a/*/b/*\" }", &[]), "/a/session-3/b/");
    assert_eq!(of("path", &[]), "session-3");
    assert_eq!(of("{ key: path, except: [\"session*\", \"*-x\"] }", &[]), "x-session-3");
    let other = rule("other", "{ key: path, value: \"s*\" }", &["global"], "");
    assert_eq!(of("path", &[other]), "x-session-3");
    // Where all that anybody chooses is taken away, what is left is one value.
    assert_eq!(of("{ key: path, except: [\"*session*\"] }", &[]), "1");
    let entries = "{ key: remote_address, value: \"10.*\" }";
    let requests = calls(&[rule("r", entries, &["raw"], "")]);
    assert_eq!(values(&requests, &at_victim()), ["10.1.1.1"], "an address that the pattern takes");
}

/// Guards the report against a rule that is passed over without a reason, and against one that is played all the same.
#[test]
fn the_reason_names_what_is_in_the_way_of_a_call() {
    let unlimited =
        "  - { name: r, match: { domain: shop, descriptor: [user] }, envoy: { unlimited: true } }\n"
            .to_owned();
    assert!(why(&[unlimited]).starts_with("r limits nothing, as its `unlimited` says"));
    let own = rule("r", "user", &["user"], "");
    let replaces = rule("wide", "user", &["global"], "    envoy: { replaces: r }\n");
    assert!(why(&[own.clone(), replaces]).starts_with("wide takes the place of r at every descriptor"));
    let shut =
        "  - { name: shut, match: { domain: shop }, refuse: { status: 403, because: closed } }\n".to_owned();
    assert_eq!(
        why(&[own.clone(), shut.clone()]),
        "shut refuses every descriptor that r applies to; except them there"
    );
    assert!(why(&[shut.replace("shut", "r")]).starts_with("r refuses whatever it applies to"));
    let nothing = rule("r", "{ key: path, except: \"*\" }", &["path"], "");
    assert!(why(&[nothing]).starts_with("no descriptor was found that r applies to"));
    let left_out = "    except: [{ client: [0.0.0.0/0, \"::/0\"] }]\n";
    let left_out = rule("r", "user, remote_address", &["user"], left_out);
    assert!(why(&[left_out]).starts_with("exception 1 of r leaves out every descriptor"));
}

/// Guards rules that ask for no entries, and the fallback of a policy that Envoy alone asks, against being found nowhere.
#[test]
fn a_descriptor_is_made_up_where_none_is_named() {
    let any = rule("r", "", &["user", "client_ip"], "");
    let requests = calls(&[any]);
    assert_eq!(values(&requests, &at_victim())[0], "customer-0");
    assert_eq!(requests.aim().guards.len(), 2);
    let exact = rule("exact", "user, remote_address", &["global"], "");
    let requests = calls(&[rule("r", "", &["user", "client_ip"], ""), exact]);
    assert_eq!(values(&requests, &at_victim()).len(), 3, "an entry more meets no other rule");
    assert_eq!(requests.aim().guards.len(), 2);
    let text = format!(
        "{ENVOY}rules:\n{}fallback: {{ limits: [{}] }}\n",
        rule("r", "user", &["user"], ""),
        on("raw")
    );
    let fallback = Requests::new(policy(&text), 1).unwrap();
    assert!(fallback.are_calls());
    assert_eq!(
        fallback.aim().guards.iter().map(|guard| guard.name.as_str()).collect::<Vec<_>>(),
        ["fallback/raw"]
    );
    let with_gateway = format!(
        "gateway: {{ listen: 127.0.0.1:0, upstream: http://127.0.0.1:1 }}\n{}",
        text.replace("[user]", "[user, x]").replace(
            "limits: [{ name: raw, says: x, key: raw",
            "limits: [{ name: raw, says: x, key: client_ip"
        )
    );
    assert!(!Requests::new(policy(&with_gateway), 1).unwrap().are_calls(), "the gateway's requests meet it");
}

/// Guards the units that a request takes: the limit's own where it says so, else one, and the least that a table has.
#[test]
fn a_call_costs_what_its_limits_say() {
    let costs = "costs: { tiers: { by: tier, values: { gold: 2, lead: 9 }, default: 5 }, steep: { by: tier, values: { lead: 9 }, \
                 default: 5 } }\n";
    for (cost, units) in [("", 1), ("cost: 3, ", 3), ("cost: tiers, ", 2), ("cost: steep, ", 5)] {
        let text = format!(
            "{ENVOY}{costs}rules:\n  - {{ name: r, match: {{ domain: shop, descriptor: [user, tier] }}, limits: [{{ name: l, says: x, key: \
             user, {cost}fixed_window: {{ limit: 100, window: 1m }} }}] }}\n"
        );
        let aim = first(&text).aim();
        assert_eq!(aim.guards.iter().map(|guard| guard.cost).collect::<Vec<_>>(), [units], "{cost}");
    }
}

/// Guards against a success that gives back what it took: nobody tells of a call what became of it.
#[test]
fn no_outcome_gives_a_call_s_charge_back() {
    let limit = "{ name: l, says: x, key: user, count: { failures: true, success: { status: 200 } }, sliding_log: { limit: 3, window: \
                 1m } }";
    let text = format!(
        "{ENVOY}rules:\n  - {{ name: r, class: login, on_store_failure: deny, match: {{ domain: shop, descriptor: [user] }}, limits: \
         [{limit}] }}\n"
    );
    let requests = first(&text);
    let aim = requests.aim();
    assert_eq!(aim.guards[0].failures, None);
    let mut world = World::new(Arc::new(requests), aim.setting).unwrap();
    let at = tidegate::Timestamp::saturating_from_micros(1 << 50);
    let passed = (0..10).filter(|_| {
        let seen = world.request(at, &at_victim(), Outcome::Success, Role::Adversary);
        seen.admitted
    });
    assert_eq!(passed.count(), 3);
}

/// Guards against a policy's way of counting that is played otherwise, and rules of files that are played by halves.
#[test]
fn every_rule_of_an_imported_file_is_played_as_it_is_counted() {
    let file = "
domain: shop
descriptors:
  - key: path
    value: /login
    rate_limit: { unit: minute, requests_per_unit: 5 }
    descriptors:
      - key: remote_address
        rate_limit: { unit: hour, requests_per_unit: 10 }
  - key: path
    value: /api*
    rate_limit: { unit: second, requests_per_unit: 20 }
  - key: path
    rate_limit: { unit: day, requests_per_unit: 1000 }
  - key: monitoring
    rate_limit: { unlimited: true }
";
    let imported = import::envoy(&[("ratelimit.yaml", file)]).unwrap_or_else(|problems| panic!("{problems}"));
    let text = imported.text.replace("envoy: { listen:", "envoy: { counting: each, listen:");
    let policy =
        Arc::new(parse_embedded("policy.yaml", &text).unwrap_or_else(|problems| panic!("{problems}")));
    let mut played = 0;
    for index in 0..policy.rules.len() {
        let name = &policy.rules[index].name;
        let Ok(requests) = Requests::new(Arc::clone(&policy), index) else {
            assert_eq!(name, "shop.monitoring");
            continue;
        };
        let Made::Call(call) = &requests.made else { panic!("{name} is played over HTTP") };
        assert_eq!(call.counting, Counting::Each);
        let aim = requests.aim();
        assert_eq!((aim.guards.len(), aim.guards[0].name.as_str()), (1, format!("{name}/limit").as_str()));
        played += 1;
    }
    assert_eq!(played, 4);
}

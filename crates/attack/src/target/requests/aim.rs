//! What an adversary reads in a policy about the requests that are made for a rule.
//!
//! What tells keys apart is seen from the keys themselves: of two requests that differ in one coordinate, the keys that
//! differ are told apart by it.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use tidegate::Counts;
use tidegate_policy::{Class, KeySource, Limit, Policy, Reads, Rule, StoreChoice};
use tidegate_review::USUAL_BUDGET;

use super::made::Made;
use super::phones::RANGE;
use super::search::Aimed;
use crate::act::Who;
use crate::adversary::{Aim, Guard, Keyed, OneAddress, at_victim, home};
use crate::world::Setting;

/// Spellings of which each changes one thing.
const SPELLINGS: [u8; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 255];
/// An address that somebody claims, of a network for examples.
const CLAIMED: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 7));

/// The keys of a request by the names of their limits.
type Keys = BTreeMap<String, Vec<u8>>;

/// Returns what an adversary reads.
pub(super) fn aim(aimed: Aimed<'_>, made: &Made) -> Aim {
    let view = View::of(aimed, made);
    let guards = view.guards();
    let Aimed { policy, rule, .. } = aimed;
    let code = rule.guesses.as_ref().and_then(|name| policy.codes.iter().find(|code| code.name == *name));
    let is_own = |guard: &Guard| rule.limits.iter().any(|limit| limit.name == guard.name);
    Aim {
        rule: rule.name.clone(),
        class: rule.class,
        senders: code.filter(|code| code.step.is_none()).map_or_else(Vec::new, |_| senders(aimed)),
        code: code.cloned(),
        borne: policy.budget.map_or(USUAL_BUDGET, |budget| budget.guess_per_year),
        price: rule.price.clone(),
        focus: guards.iter().position(is_own).unwrap_or(0),
        setting: setting(policy),
        believes_anybody: view.believes_anybody(&guards),
        why_believed: why_believed(policy),
        one_spelling: view.is_spelled_once(&guards),
        // Envoy tells the address itself, whatever stands before whom.
        one_address: if made.is_call() { None } else { one_address(policy) },
        guards,
    }
}

struct View<'a> {
    aimed: Aimed<'a>,
    made: &'a Made,
    keys: Keys,
}

impl<'a> View<'a> {
    fn of(aimed: Aimed<'a>, made: &'a Made) -> Self {
        Self { aimed, made, keys: keys(aimed, made, &at_victim()) }
    }

    fn guards(&self) -> Vec<Guard> {
        let other = |change: fn(&mut Who)| self.with(change);
        let neighbour = other(|who| who.subject = 1);
        let session = other(|who| who.session = 1);
        let address = other(|who| who.address = home(1));
        let country = other(|who| who.subject = RANGE);
        let subject = RANGE.saturating_mul(self.made.countries());
        let range = keys(self.aimed, self.made, &Who { subject, ..at_victim() });
        let Ok(prepared) = self.made.prepare(self.aimed.snapshot, &at_victim()) else {
            return Vec::new();
        };
        // A request that takes nothing is never refused.
        let enforced = prepared.asked().filter(|asked| !asked.limit.is_shadow() && asked.cost > 0);
        let guards = enforced.map(|asked| {
            let name = asked.limit.name();
            let limit = self.aimed.policy.limits().find(|limit| limit.name == name);
            let reads = |wanted: Reads<'_>| limit.is_some_and(|limit| has(limit, &wanted));
            let prefixes = limit.and_then(prefixes);
            let is_address = limit.is_some_and(is_address) || self.differs(name, &address);
            let subject = self.differs(name, &neighbour);
            Guard {
                name: name.to_owned(),
                quota: *asked.limit.quota(),
                cost: asked.cost,
                keyed: Keyed {
                    subject,
                    address: is_address.then(|| prefixes.unwrap_or((32, 128))),
                    session: self.differs(name, &session),
                    range: !subject && reads(Reads::PhonePrefix) && self.differs(name, &range),
                    country: !subject && reads(Reads::PhoneCountry) && self.differs(name, &country),
                },
                failures: match asked.limit.counts() {
                    // Nobody tells of a call what became of it, so that every charge stays.
                    _ if self.made.is_call() => None,
                    Counts::Every => None,
                    Counts::Failures { on_success, .. } => Some(*on_success),
                },
                on_store_failure: asked.limit.store_failure(),
            }
        });
        guards.collect()
    }

    /// Returns the keys of a request that differs from the victim's.
    fn with(&self, change: impl FnOnce(&mut Who)) -> Keys {
        let mut who = at_victim();
        change(&mut who);
        keys(self.aimed, self.made, &who)
    }

    /// Returns whether a limit has another key in another request; one that is refused has none.
    fn differs(&self, name: &str, others: &Keys) -> bool {
        others.get(name).is_some_and(|key| self.keys.get(name) != Some(key))
    }

    /// Returns whether an address that the request claims changes its client, or a key.
    fn believes_anybody(&self, guards: &[Guard]) -> bool {
        let client = |forwarded| self.made.client(self.aimed.policy, &Who { forwarded, ..at_victim() });
        let claimed = self.with(|who| who.forwarded = Some(CLAIMED));
        client(None) != client(Some(CLAIMED))
            || guards.iter().any(|guard| self.differs(&guard.name, &claimed))
    }

    /// Returns whether no spelling of a subject makes a key that tells subjects apart another.
    fn is_spelled_once(&self, guards: &[Guard]) -> bool {
        !SPELLINGS.into_iter().any(|spelling| {
            let others = self.with(|who| who.spelling = spelling);
            guards.iter().any(|guard| guard.keyed.subject && self.differs(&guard.name, &others))
        })
    }
}

fn keys(aimed: Aimed<'_>, made: &Made, who: &Who) -> Keys {
    let Ok(prepared) = made.prepare(aimed.snapshot, who) else { return Keys::new() };
    prepared.asked().map(|asked| (asked.limit.name().to_owned(), asked.key.to_vec())).collect()
}

fn has(limit: &Limit, wanted: &Reads<'_>) -> bool {
    limit.key.parts().flatten().any(|place| place.reads == *wanted)
}

/// Returns whether a part of a limit's key is an address, whatever the request.
fn is_address(limit: &Limit) -> bool {
    let address = |place: &KeySource<'_>| matches!(place.reads, Reads::Address { .. });
    limit.key.parts().any(|places| places.iter().all(address))
}

fn prefixes(limit: &Limit) -> Option<(u8, u8)> {
    limit.key.parts().flatten().find_map(|place| match place.reads {
        Reads::Address { ipv4, ipv6 } => Some((ipv4, ipv6)),
        _ => None,
    })
}

/// Returns the limits that a request for a new code has to pass: of the rule that sends something and whose keys have the
/// most places in common with those of the rule that checks the code.
fn senders(aimed: Aimed<'_>) -> Vec<Guard> {
    let places = |rule: &Rule| -> Vec<String> {
        let places = rule.limits.iter().flat_map(|limit| limit.key.origins().flatten());
        places.map(|place| format!("{:?}", place.reads)).collect()
    };
    let own = places(aimed.rule);
    let sends =
        |rule: &Rule| rule.class == Class::Send && rule.name != aimed.rule.name && !rule.limits.is_empty();
    let rules = aimed.policy.rules.iter().enumerate().filter(|(_, rule)| sends(rule));
    // The last of equals is taken, so the first has to come last.
    let sender =
        rules.rev().max_by_key(|(_, rule)| places(rule).iter().filter(|place| own.contains(place)).count());
    let Some((index, rule)) = sender else { return Vec::new() };
    let sender = Aimed { rule, index: Some(index), ..aimed };
    sender.search().map_or_else(|_| Vec::new(), |made| View::of(sender, &made).guards())
}

fn setting(policy: &Policy) -> Setting {
    let usual =
        Setting { instances: policy.instances, regions: policy.topology.regions, ..Setting::default() };
    match &policy.store {
        StoreChoice::Redis(_) => Setting { shared: true, ..usual },
        StoreChoice::Memory(memory) => Setting {
            shared: false,
            keys: memory.max_keys.unwrap_or(usual.keys),
            snapshot: memory.snapshot.is_some(),
            ..usual
        },
    }
}

/// Returns the review's finding on why an address that anybody claims is believed, where it is.
fn why_believed(policy: &Policy) -> &'static str {
    match (policy.trusted.hops(), policy.topology.proxies) {
        (Some(_), Some(0)) => "trusted-proxies-nobody-in-front",
        (Some(hops), Some(proxies)) if hops > proxies => "hops-not-the-proxies",
        _ => "trusts-everybody",
    }
}

/// Returns why all clients come from one address, if they do.
fn one_address(policy: &Policy) -> Option<OneAddress> {
    if let (Some(hops), Some(proxies)) = (policy.trusted.hops(), policy.topology.proxies) {
        return (hops < proxies).then_some(OneAddress::Hops);
    }
    if !policy.trusted.is_nobody() {
        return None;
    }
    let local = policy.gateway.as_ref().is_some_and(|gateway| gateway.listen.ip().is_loopback());
    match policy.topology.proxies {
        Some(0) => None,
        Some(_) => Some(OneAddress::Proxy),
        None => local.then_some(OneAddress::Loopback),
    }
}

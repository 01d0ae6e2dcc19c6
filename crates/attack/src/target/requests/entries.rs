//! Descriptors that a rule may apply to: what can stand in each entry that its pattern asks for.

use std::net::IpAddr;

use tidegate_policy::{
    Chooser, Cost, Descriptor, DescriptorPattern, EntryPattern, KeySource, Limit, Policy, Reads, Rule,
    ValuePattern,
};
use tidegate_review::{KeyKind, key_kind};

use super::call::{Entry, Value, What};
use super::names::Form;
use super::phones::{Phones, RANGE};
use crate::act::Who;
use crate::adversary::{at_victim, home};

/// The most descriptors that are tried for a rule.
const MOST: usize = 512;
/// The entry that holds the client's address.
const ADDRESS: &str = "remote_address";
/// The entry that holds its network.
const NETWORK: &str = "masked_remote_address";
/// What entries that hold the path are called, in the end.
const PATH: &str = "path";
/// An entry of Envoy's configuration, for a descriptor that needs none by its rule.
const CONFIGURED: &str = "generic_key";
/// The domain that is asked under where no rule names one.
const DOMAIN: &str = "tidegate";
/// What is written around a value that another rule, or an exception, may be about.
const AROUND: [(&str, &str); 4] = [("", ""), ("x-", ""), ("", "-x"), ("1", "1")];
/// What stands for any text where nobody who asks chooses it. The longer ones make an address of the beginning of one.
const ANYTHING: [&str; 8] = ["1", "x", "", "tidegate", "0.1", "1.1", "1.1.1", ":1"];

/// A descriptor with what may stand in its entries.
pub(super) struct Described {
    pub(super) domain: String,
    pub(super) entries: Vec<Entry>,
}

/// Returns descriptors that a rule may apply to, the plainest first. The fallback has no match, and any may be its.
pub(super) fn descriptors(policy: &Policy, rule: &Rule, phones: &Phones) -> Vec<Described> {
    let mut all = Vec::new();
    for pattern in patterns(policy, rule) {
        let each: Vec<Vec<Value>> =
            pattern.entries.iter().flatten().map(|entry| values(entry, rule, phones)).collect();
        for values in combinations(&each) {
            let keys = pattern.entries.iter().flatten().map(|entry| entry.key.clone());
            let entries = keys.zip(values).map(|(key, value)| Entry { key, value }).collect();
            all.push(Described { domain: pattern.domain.clone(), entries });
        }
    }
    all.truncate(MOST);
    all
}

/// Returns patterns that name every entry.
fn patterns(policy: &Policy, rule: &Rule) -> Vec<DescriptorPattern> {
    let written = |rule: &Rule| -> Vec<DescriptorPattern> {
        rule.matches.iter().filter_map(|matcher| matcher.descriptor.clone()).collect()
    };
    let mut own = written(rule);
    if rule.matches.is_empty() {
        for domain in
            policy.rules.iter().flat_map(written).map(|pattern| pattern.domain).chain([DOMAIN.to_owned()])
        {
            if own.iter().all(|pattern| pattern.domain != domain) {
                own.push(DescriptorPattern { domain, entries: None });
            }
        }
    }
    let named = |pattern: DescriptorPattern| match pattern.entries {
        Some(_) => vec![pattern],
        None => of_any(&pattern.domain, rule),
    };
    own.into_iter().flat_map(named).collect()
}

/// Returns descriptors of a domain with what a rule's limits read: with nothing else, and with an entry more, so that rules
/// which ask for exactly those entries may be gone around.
fn of_any(domain: &str, rule: &Rule) -> Vec<DescriptorPattern> {
    let mut keys: Vec<String> = Vec::new();
    for place in places(rule).chain(costs(rule)) {
        let key = match place.reads {
            Reads::Descriptor(name) => name,
            Reads::Address { .. } => ADDRESS,
            _ => continue,
        };
        if !keys.iter().any(|known| known == key) {
            keys.push(key.to_owned());
        }
    }
    let open = |key: &String| EntryPattern {
        key: key.clone(),
        value: ValuePattern::Any,
        except: Vec::new(),
        called: None,
    };
    let bare: Vec<EntryPattern> = keys.iter().map(open).collect();
    let more = bare.iter().cloned().chain([open(&CONFIGURED.to_owned())]).collect();
    let all = [bare, more].into_iter().filter(|entries: &Vec<EntryPattern>| !entries.is_empty());
    all.map(|entries| DescriptorPattern { domain: domain.to_owned(), entries: Some(entries) }).collect()
}

/// Returns the places that a rule's keys are read from.
fn places(rule: &Rule) -> impl Iterator<Item = KeySource<'_>> {
    rule.limits.iter().flat_map(|limit| limit.key.origins().flatten())
}

/// Returns the places that its costs are read from.
fn costs(rule: &Rule) -> impl Iterator<Item = KeySource<'_>> {
    rule.limits.iter().flat_map(|limit| match &limit.cost {
        Cost::Table(table) => table.origins(),
        Cost::Units(_) | Cost::Items(_) | Cost::Header(_) => Vec::new(),
    })
}

/// Returns every combination of one value for each entry, the first of all first.
fn combinations(each: &[Vec<Value>]) -> Vec<Vec<Value>> {
    let mut all = vec![Vec::new()];
    for values in each {
        let longer = all.iter().flat_map(|before: &Vec<Value>| {
            values.iter().map(|value| before.iter().chain([value]).cloned().collect())
        });
        all = longer.take(MOST).collect();
    }
    all
}

/// Returns what may stand in an entry: texts that its pattern takes, whoever asks, the plainest first.
fn values(entry: &EntryPattern, rule: &Rule, phones: &Phones) -> Vec<Value> {
    let fixed = |text: &str| Value::Fixed(text.to_owned());
    if let ValuePattern::Exact(text) = &entry.value {
        return vec![fixed(text)];
    }
    let (before, behind) = match &entry.value {
        ValuePattern::Wild(pattern) => pattern.split_once('*').unwrap_or((pattern, "")),
        _ => ("", ""),
    };
    // What one star stands for is enough to tell values apart; the others stand for nothing.
    let behind = behind.replace('*', "");
    let mut all: Vec<Value> = Vec::new();
    if read(entry, rule).is_none() {
        all.extend(cheapest(entry, rule).map(Value::Fixed));
    }
    if let Some(what) = what(entry, rule) {
        let own = AROUND.iter().map(|(left, right)| Value::Says {
            before: format!("{before}{left}"),
            what,
            behind: format!("{right}{behind}"),
        });
        // An address has nothing around it.
        let most = match what {
            What::Address | What::Network => usize::from(before.is_empty() && behind.is_empty()),
            What::Subject { .. } | What::Session => AROUND.len(),
        };
        all.extend(own.take(most));
    }
    let some = ANYTHING.iter().map(|text| format!("{before}{text}{behind}"));
    let mut some: Vec<String> = some.collect();
    if entry.key == ADDRESS {
        some.sort_by_key(|text| text.parse::<IpAddr>().is_err());
    }
    let told: Vec<Value> = all.into_iter().filter(|value| is_taken(entry, value, phones)).collect();
    // Only where nobody who asks chooses what stands there, or nothing that he chooses is taken.
    let said = told.iter().any(|value| matches!(value, Value::Says { .. }));
    let some = some.iter().map(|text| fixed(text)).filter(|value| is_taken(entry, value, phones));
    told.into_iter().chain(some.filter(|_| !said)).collect()
}

/// Returns the value of an entry that makes a request cost the least, if one is written that costs less than others do.
fn cheapest(entry: &EntryPattern, rule: &Rule) -> Option<String> {
    let tables = rule.limits.iter().filter_map(|limit: &Limit| match &limit.cost {
        Cost::Table(table) => Some(table),
        Cost::Units(_) | Cost::Items(_) | Cost::Header(_) => None,
    });
    let own = tables
        .filter(|table| table.origins().iter().any(|place| place.reads == Reads::Descriptor(entry.name())));
    let least = own.filter_map(|table| {
        let written = table.values().filter(|(value, _)| !value.starts_with("sha256:"));
        written.filter(|(_, units)| *units < table.default_units()).min_by_key(|(_, units)| *units)
    });
    least.min_by_key(|(_, units)| *units).map(|(value, _)| value.to_owned())
}

/// Returns what an entry of which any value is taken says of somebody; nothing where Envoy's configuration says it.
fn what(entry: &EntryPattern, rule: &Rule) -> Option<What> {
    match entry.key.as_str() {
        ADDRESS => return Some(What::Address),
        NETWORK => return Some(What::Network),
        // Where a pattern applies, there is always another path; and Envoy's holds the query.
        key if key.ends_with(PATH) => return Some(What::Session),
        _ => {}
    }
    // One that no limit reads may be anything.
    let Some((place, writer)) = read(entry, rule) else {
        return Some(What::Subject { form: Form::Account, spelled: false });
    };
    match key_kind(&place) {
        _ if writer == Chooser::Nobody => None,
        KeyKind::Few => None,
        KeyKind::Renewable => Some(What::Session),
        KeyKind::Somebody | KeyKind::Address => {
            let spelled = matches!(writer, Chooser::Stranger | Chooser::Caller);
            Some(What::Subject { form: Form::of(&place), spelled })
        }
    }
}

/// Returns the place of a rule's keys that reads an entry, and who decides what stands there.
fn read<'r>(entry: &EntryPattern, rule: &'r Rule) -> Option<(KeySource<'r>, Chooser)> {
    let parts = rule.limits.iter().flat_map(|limit| limit.key.origins().zip(limit.key.chosen()));
    let mut places = parts.flat_map(|(places, chosen)| places.into_iter().zip(chosen));
    let found = places.find(|(place, _)| place.reads == Reads::Descriptor(entry.name()));
    found.map(|(place, chosen)| (place, chosen.by))
}

/// Returns whether an entry takes a value, whoever asks.
fn is_taken(entry: &EntryPattern, value: &Value, phones: &Phones) -> bool {
    let pattern = DescriptorPattern { domain: String::new(), entries: Some(vec![entry.clone()]) };
    let victim = at_victim();
    let others = [
        victim,
        Who { subject: 1, spelling: 3, session: 1, address: home(1), ..victim },
        Who { subject: RANGE, session: 10, address: home(70_000), ..victim },
    ];
    others.iter().all(|who| {
        let text = value.text(phones, who);
        pattern.matches(&Descriptor { domain: "", entries: &[(entry.key.as_str(), text.as_str())] })
    })
}

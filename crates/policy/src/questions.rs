//! Questions that only a review asks of a policy, answered from what the file alone says.

use crate::cost::Cost;
use crate::key::{KeySource, Part};
use crate::limit::Limit;
use crate::matcher::{Matcher, Pattern};
use crate::plan::{PlanBy, Plans};
use crate::policy::Policy;
use crate::problem::Place;
use crate::rule::Rule;
use crate::validate::lies_within;

impl Policy {
    /// Returns the declared keys that nothing counts on, prices by, or chooses plans by, each with its place.
    pub fn unused_keys(&self) -> impl Iterator<Item = (&str, Place)> {
        let mut used = Vec::new();
        for limit in self.limits() {
            limit.key.parts.iter().for_each(|part| part.names_within(&mut used));
            if let Cost::Table(table) = &limit.cost {
                table.by.names_within(&mut used);
            }
            if let Some(part) = limit.plans.as_ref().and_then(Plans::key) {
                part.names_within(&mut used);
            }
        }
        let unused = move |part: &&Part| !used.contains(&part.name.as_str());
        self.keys.iter().filter(unused).map(|part| (part.name.as_str(), part.at.0))
    }
}

impl Plans {
    /// Returns the key whose values choose a plan, if a table does.
    fn key(&self) -> Option<&Part> {
        match &self.by {
            PlanBy::Table(part, _) => Some(part),
            PlanBy::Header(_) | PlanBy::Claim(_) => None,
        }
    }
}

impl Limit {
    /// Returns what the limit takes from trusted proxies only, to count on, as its cost or as its plan: names of keys, or
    /// `header` and the field's name.
    pub fn taken_from_proxies(&self) -> Vec<&str> {
        let trusted = |place: &KeySource<'_>| matches!(place.reads, crate::key::Reads::TrustedHeader(_));
        let mut names: Vec<&str> =
            self.key.parts().flatten().filter(trusted).map(|place| place.name).collect();
        if let Cost::Header(header) = &self.cost {
            names.push(&header.part.name);
        }
        if let Some(PlanBy::Header(part)) = self.plans.as_ref().map(|plans| &plans.by) {
            names.push(&part.name);
        }
        names
    }
}

impl Rule {
    /// Returns whether every request that another rule applies to is certainly one that this applies to. An exception of
    /// this rule's makes that uncertain, whatever it leaves out.
    pub fn covers(&self, other: &Self) -> bool {
        let covered = |inner: &Matcher| {
            if self.matches.iter().all(|outer| outer.reads_no_stricter(inner)) {
                return lies_within(inner, &self.matches);
            }
            let fit: Vec<Matcher> =
                self.matches.iter().filter(|outer| outer.reads_no_stricter(inner)).cloned().collect();
            lies_within(inner, &fit)
        };
        self.except.is_empty() && !other.matches.is_empty() && other.matches.iter().all(covered)
    }
}

impl Matcher {
    /// Returns whether every spelling of a path that another matcher takes is one for this as well.
    fn reads_no_stricter(&self, other: &Self) -> bool {
        let words = self.paths.iter().any(Pattern::has_literals);
        let slashes = self.paths.iter().any(|path| !path.open);
        (self.loose || !other.loose || !words) && (!self.strict_slash || !slashes)
    }
}

#[cfg(test)]
mod tests {
    use crate::parse;

    /// Guards the review against calling a rule covered by one that leaves some of its requests to others.
    #[test]
    fn a_rule_covers_another_only_where_that_is_certain() {
        let head = "tidegate: 1\nhealth: { listen: 127.0.0.1:0 }\nrules:\n";
        let rule = |name: &str, rest: &str| {
            format!("  - {{ name: {name}, {rest}, refuse: {{ status: 403, because: closed }} }}\n")
        };
        for (outer, inner, covers) in [
            ("match: { path: /** }", "match: { path: /a }", true),
            ("match: { path: /** }", "class: verify, match: { method: POST, path: /a }", true),
            ("match: { path: \"/a/**\" }", "class: verify, match: { path: /a/b }", false),
            ("class: login, match: { path: \"/a/**\" }", "class: verify, match: { path: /a/b }", true),
            ("match: { path: /a }", "match: { path: /** }", false),
            ("match: { method: GET, path: /** }", "match: { path: /a }", false),
            ("match: { host: a.example, path: /** }", "match: { path: /a }", false),
            ("match: { path: /** }, except: [{ client: 192.0.2.1 }]", "match: { path: /a }", false),
            ("match: { path: /a }", "match: [{ path: /a }, { path: /b }]", false),
        ] {
            let text = format!("{head}{}{}", rule("outer", outer), rule("inner", inner));
            let policy = parse("p.yaml", &text).unwrap_or_else(|problems| panic!("{text}{problems}"));
            assert_eq!(policy.rules[0].covers(&policy.rules[1]), covers, "{outer} over {inner}");
        }
    }

    /// Guards the review against calling a key unused that a limit reads through another one.
    #[test]
    fn a_key_is_used_by_what_is_read_from_it() {
        let text = "tidegate: 1
health: { listen: 127.0.0.1:0 }
keys:
  phone: { json: /phone, normalize: [{ e164: US }] }
  country: { phone_country: phone }
  api_key: { header: x-api-key }
  caller: { first_of: [api_key, client_ip] }
  spare: { header: x-spare }
rules:
  - name: send
    match: { path: /send }
    limits:
      - { name: a, says: 5 a minute per country., key: country, sliding_log: { limit: 5, window: 1m } }
      - { name: b, says: 5 a minute per caller., key: caller, sliding_log: { limit: 5, window: 1m } }
";
        let policy = parse("p.yaml", text).unwrap();
        let unused: Vec<_> = policy.unused_keys().map(|(name, place)| (name, place.line)).collect();
        assert_eq!(unused, [("spare", 8)]);
    }
}

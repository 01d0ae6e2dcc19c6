//! The section as the parts of a policy.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use smallvec::smallvec;
use tidegate_algorithms::{Quota, Span};

use super::overlap::covers;
use super::read::{Algorithm, Config, Section};
use crate::cost::Cost;
use crate::count::Count;
use crate::import::quote::{quote, quoted_list};
use crate::key::{Key, Origin, Part, Source, SourceKind};
use crate::words::{Meaning, canonical};

/// What that service calls its keys in Redis by.
const COUNTER: &str = "rate-limit";
const WHOLE_ADDRESS: SourceKind = SourceKind::ClientIp { ipv4: 32, ipv6: 128 };

const HEAD: &str = "\
# Made by `tidegate import rate-limit` of the `rate-limit` section of a service.
tidegate: 1

";

const NO_FACE: &str = "\
# Where requests come in, and where your service listens.
gateway: { listen: 127.0.0.1:8080, upstream: http://127.0.0.1:3000 }
";

/// What a section that cannot be read stands for, so that the rest of its file is looked at as well.
pub(super) fn nothing() -> &'static str {
    "tidegate: 1\nrules:\n  - { name: none, match: { path: /** }, refuse: { status: 503, because: unread } }\n"
}

/// Writes a whole policy, with what stood beside the section.
pub(super) fn policy(section: &Section, deployment: &str, has_face: bool) -> String {
    let mut text = HEAD.to_owned();
    if !has_face {
        text.push_str(NO_FACE);
    }
    text.push_str(deployment);
    text.push('\n');
    let parts = parts(section);
    text.push_str(parts.strip_prefix("tidegate: 1\n").unwrap_or(&parts));
    text
}

/// Writes the parts that the section comes to.
pub(super) fn parts(section: &Section) -> String {
    let mut text = "tidegate: 1\n".to_owned();
    if !section.trusted.is_empty() {
        let networks = section.trusted.iter().map(|(network, _)| network.as_str());
        // Writing to a string cannot fail.
        let _ = writeln!(text, "trusted_proxies: {}", quoted_list(networks));
    }
    text.push_str("headers: { x-ratelimit: reset-on }\n\nkeys:\n");
    text.push_str("  client: { client_ip: { ipv4: 32, ipv6: 128 } }\n  endpoint: { request: path }\n");
    if !section.endpoints.is_empty() {
        text.push_str("\nrules:\n");
    }
    let mut names = BTreeSet::from(["fallback".to_owned()]);
    for endpoint in &section.endpoints {
        let except: Vec<&str> = section
            .endpoints
            .iter()
            .map(|other| other.path.as_str())
            .filter(|other| *other != endpoint.path && covers(&endpoint.path, other))
            .collect();
        let _ = writeln!(text, "  - name: {}", name(&endpoint.path, &mut names));
        let _ = writeln!(text, "    match: {{ path: {} }}", quote(&endpoint.path));
        if !except.is_empty() {
            let _ = writeln!(text, "    except: {{ path: {} }}", quoted_list(except));
        }
        // Of one path the rule's own says as much as the request's, and nobody chooses it.
        let is_one = !endpoint.path.contains(['{', '*']);
        limit(&mut text, "    ", &endpoint.config, is_one);
    }
    if let Some(config) = &section.fallback {
        text.push_str("\nfallback:\n");
        limit(&mut text, "  ", config, false);
    }
    text
}

/// Writes the members of a rule but its name and match.
fn limit(text: &mut String, indent: &str, config: &Config, is_one: bool) {
    let endpoint = if is_one { "route" } else { "endpoint" };
    let _ = write!(
        text,
        "{indent}on_store_failure: allow\n{indent}client_sees: all\n{indent}limits:\n{indent}  - name: per-client\n\
         {indent}    says: {says}\n{indent}    key: [client, {endpoint}]\n",
        says = quote(&says(&config.quota, is_one)),
    );
    if config.algorithm == Algorithm::FixedCounter {
        let _ = writeln!(text, "{indent}    shared_counter: {COUNTER}");
    }
    let _ = writeln!(text, "{indent}    {}", numbers(config));
}

fn numbers(config: &Config) -> String {
    let rate = || {
        let (units, seconds) = config.rate.unwrap_or((1, 1));
        format!("{units} per {}", Span::from_secs(seconds))
    };
    match &config.quota {
        Quota::FixedWindow(window) => {
            format!(
                "fixed_window: {{ limit: {}, window: {}, anchor: first_hit }}",
                window.limit(),
                window.window()
            )
        }
        Quota::SlidingLog(log) => {
            format!("sliding_log: {{ limit: {}, window: {} }}", log.limit(), log.window())
        }
        Quota::TokenBucket(bucket) => {
            format!("token_bucket: {{ capacity: {}, refill: {} }}", bucket.capacity(), rate())
        }
        Quota::LeakyBucket(bucket) => {
            format!("leaky_bucket: {{ rate: {}, queue: {} }}", rate(), bucket.queue())
        }
        // Nothing else is made of the section.
        Quota::SlidingCounter(_) | Quota::Lockout(_) => String::new(),
    }
}

/// Writes the sentence of a limit, as Tidegate would.
fn says(quota: &Quota, is_one: bool) -> String {
    let part = |name: &str, kind| {
        Part::new(name.to_owned(), Vec::new(), Origin::One(Source { kind, normalize: Vec::new() }))
    };
    let endpoint =
        if is_one { part("route", SourceKind::Route) } else { part("endpoint", SourceKind::RequestPath) };
    let key = Key { parts: smallvec![part("client", WHOLE_ADDRESS), endpoint] };
    canonical(&Meaning { quota, key: &key, unit: None, cost: &Cost::Units(1), count: &Count::Every })
}

/// Makes a name of a path that no other rule has.
fn name(path: &str, names: &mut BTreeSet<String>) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
    let spelled = path.replace("**", "all");
    let mut name: String = spelled.chars().map(plain).collect();
    while name.contains("--") {
        name = name.replace("--", "-");
    }
    let name: String = name.trim_matches('-').chars().take(48).collect();
    let name = name.trim_matches('-');
    let name = if name.is_empty() { "root" } else { name };
    let numbered = (2_u32..).map(|number| format!("{name}-{number}"));
    let mut free = std::iter::once(name.to_owned()).chain(numbered).filter(|name| !names.contains(name));
    let name = free.next().unwrap_or_default();
    names.insert(name.clone());
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two rules of one name are refused, and paths may differ in what a name cannot hold.
    #[test]
    fn every_path_has_a_name_of_its_own() {
        let mut names = BTreeSet::from(["fallback".to_owned()]);
        let made =
            ["/", "/a/b", "/a-b", "/A_b", "/fallback", "/a/**", "/é"].map(|path| name(path, &mut names));
        assert_eq!(made, ["root", "a-b", "a-b-2", "a-b-3", "fallback-2", "a-all", "root-2"]);
    }
}

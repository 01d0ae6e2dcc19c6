//! The section as that service reads it.

use tidegate_algorithms::{Anchor, Quota, QuotaError, Rate, Span};

use super::members::{Members, plain};
use super::number;
use super::overlap::is_undecided;
use crate::file::{Node, Report, Value, nearest};
use crate::problem::{Place, Problem};
use crate::validate::path_pattern;

const EXAMPLE: &str = "{ algorithm: FIXED_COUNTER, maxRequests: 100, windowSize: 60 }";
/// Every number of any algorithm.
const NUMBERS: [&str; 5] = ["maxRequests", "windowSize", "capacity", "refillRate", "flowRate"];
/// Those of them that are rates a second.
const RATES: [&str; 2] = ["refillRate", "flowRate"];

/// The section.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) fallback: Option<Config>,
    pub(super) endpoints: Vec<Endpoint>,
    /// Who is believed about a client's address, each where it stands.
    pub(super) trusted: Vec<(String, Place)>,
}

/// An endpoint and how it is limited.
#[derive(Debug)]
pub(super) struct Endpoint {
    pub(super) path: String,
    pub(super) config: Config,
}

/// An algorithm with its numbers.
#[derive(Debug)]
pub(super) struct Config {
    pub(super) algorithm: Algorithm,
    pub(super) quota: Quota,
    /// A rate as units in so many seconds.
    pub(super) rate: Option<(u64, u64)>,
    pub(super) place: Place,
}

/// An algorithm of that service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Algorithm {
    FixedCounter,
    SlidingWindow,
    TokenBucket,
    LeakyBucket,
}

impl Algorithm {
    const ALL: [(Self, &'static str); 4] = [
        (Self::FixedCounter, "FIXED_COUNTER"),
        (Self::SlidingWindow, "SLIDING_WINDOW"),
        (Self::TokenBucket, "TOKEN_BUCKET"),
        (Self::LeakyBucket, "LEAKY_BUCKET"),
    ];
}

impl Section {
    /// Returns where the parts of a member of the policy come from.
    pub(super) fn places_of(&self, member: &str) -> Vec<Place> {
        match member {
            "rules" => self.endpoints.iter().map(|endpoint| endpoint.config.place).collect(),
            "fallback" => self.fallback.iter().map(|config| config.place).collect(),
            "trusted_proxies" => self.trusted.iter().map(|(_, place)| *place).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns what is not as it was.
    pub(super) fn remarks(&self, at: Place) -> Vec<Problem> {
        let remark = |place, message: &str, remedy: &str| Problem {
            place,
            message: message.to_owned(),
            remedy: remedy.to_owned(),
        };
        let mut remarks = vec![remark(
            at,
            "when counts cannot be kept, requests pass (`on_store_failure: allow`)",
            "write deny or local where an outage must not open the door",
        )];
        if self.fallback.is_none() {
            remarks.push(remark(at, "there is no `fallback`, so that other paths are not limited", ""));
        }
        let configs = self.endpoints.iter().map(|endpoint| &endpoint.config).chain(&self.fallback);
        for config in configs.filter(|config| config.algorithm == Algorithm::LeakyBucket) {
            let message = "LEAKY_BUCKET holds requests until their turn: its capacity is the one that goes and those \
                           that wait";
            remarks.push(remark(config.place, message, "write `queue: 0` to refuse instead of holding"));
        }
        remarks
    }
}

/// Reads the section.
pub(super) fn section(node: &Node, report: &mut Report) -> Option<Section> {
    let example = format!("rate-limit: {{ fallback: {EXAMPLE} }}");
    let mut members = Members::open(node, "rate-limit", &example, report)?;
    let (fallback, endpoints, trusted) = (
        members.get("fallback", report),
        members.get("endpoints", report),
        members.get("trustedProxies", report),
    );
    members.finish(&[], report);
    if fallback.is_none() && endpoints.is_none() {
        report.add(
            node.place,
            "rate-limit limits nothing",
            format!("write `fallback: {EXAMPLE}`, or `endpoints`"),
        );
        return None;
    }
    let read_fallback = fallback.map(|node| config(node, "the fallback", false, report));
    let endpoints = endpoints.map(|node| self::endpoints(node, report)).unwrap_or_default();
    let trusted = trusted.map(|node| self::trusted(node, report)).unwrap_or_default();
    Some(Section { fallback: read_fallback.flatten(), endpoints, trusted })
}

/// Reads the endpoints: a mapping of paths, or a list of mappings with a path each.
fn endpoints(node: &Node, report: &mut Report) -> Vec<Endpoint> {
    let mut read: Vec<Endpoint> = Vec::new();
    let mut add = |path: &str, at: Place, config: Option<Config>, report: &mut Report| {
        let Some(path) = self::path(path, at, report) else { return };
        if read.iter().any(|other| other.path == path) {
            report.add(at, format!("the endpoint {path} is here twice"), "keep one");
        } else if let Some(other) = read.iter().find(|other| is_undecided(&other.path, &path)) {
            let message = format!("the endpoints {} and {path} hold for the same paths", other.path);
            report.add(at, message, "keep one, or write paths of which one says more than the other");
        } else if let Some(config) = config {
            read.push(Endpoint { path, config });
        }
    };
    match &node.value {
        Value::Map(entries) => {
            for entry in entries {
                let config = config(&entry.value, &format!("the endpoint {}", entry.key), false, report);
                let config = config.map(|config| Config { place: entry.place, ..config });
                add(&entry.key, entry.place, config, report);
            }
        }
        Value::List(items) => {
            for item in items {
                let named = match &item.value {
                    Value::Map(entries) => entries.iter().find(|entry| plain(&entry.key) == "path"),
                    _ => None,
                };
                let config = config(item, "the endpoint", true, report);
                let Some(named) = named else { continue };
                match named.value.scalar() {
                    Some(path) => add(path, named.value.place, config, report),
                    None => report.add(named.value.place, "the path is no text", "write one such as /login"),
                }
            }
        }
        Value::Scalar { .. } => {
            let message = format!("endpoints has to be a mapping or a list, and this is {}", node.kind());
            let remedy =
                format!("write `endpoints: {{ /login: {EXAMPLE} }}`, or a list of `{{ path: /login, … }}`");
            report.add(node.place, message, remedy);
        }
    }
    read
}

/// Reads a path; Spring has those that are keys of a mapping in brackets.
fn path(given: &str, at: Place, report: &mut Report) -> Option<String> {
    let bare = given.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(given).trim();
    match path_pattern(bare) {
        Ok(_) => Some(bare.to_owned()),
        Err((message, remedy)) => {
            report.add(at, format!("the path \"{bare}\" {message}"), remedy);
            None
        }
    }
}

/// Reads who is believed: a list, or one text with commas.
fn trusted(node: &Node, report: &mut Report) -> Vec<(String, Place)> {
    match &node.value {
        Value::List(items) => {
            let mut all = Vec::new();
            for item in items {
                match item.scalar() {
                    Some(text) => all.push((text.to_owned(), item.place)),
                    None => {
                        report.add(item.place, "a trusted proxy is no text", "write one such as 10.0.0.0/8");
                    }
                }
            }
            all
        }
        Value::Map(_) => {
            report.add(
                node.place,
                "trusted-proxies has to be a list, and this is a mapping",
                "write [10.0.0.0/8]",
            );
            Vec::new()
        }
        Value::Scalar { .. } => {
            let text = node.scalar().unwrap_or_default();
            let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            parts.map(|part| (part.to_owned(), node.place)).collect()
        }
    }
}

/// Reads an algorithm and its numbers.
fn config(node: &Node, what: &str, has_path: bool, report: &mut Report) -> Option<Config> {
    let example = if has_path { "{ path: /login, algorithm: FIXED_COUNTER, … }" } else { EXAMPLE };
    let mut members = Members::open(node, what, example, report)?;
    if has_path {
        members.need("path", "/login", report);
    }
    let named = members.need("algorithm", "FIXED_COUNTER", report);
    let Some(algorithm) = named.and_then(|node| algorithm(node, report)) else {
        // Without it nobody can tell which numbers belong here; their names are known all the same, and what none of them is.
        for name in NUMBERS {
            match members.get(name, report) {
                Some(node) if RATES.contains(&name) => _ = number::per_second(node, name, report),
                Some(node) => _ = number::whole(node, name, report),
                None => {}
            }
        }
        members.finish(&[], report);
        return None;
    };
    let read = numbers(algorithm, &mut members, report);
    members.finish(&NUMBERS, report);
    let (quota, rate) = read?;
    Some(Config { algorithm, quota, rate, place: node.place })
}

fn algorithm(node: &Node, report: &mut Report) -> Option<Algorithm> {
    let given = node.scalar().unwrap_or_default();
    let names = || Algorithm::ALL.iter().map(|(_, name)| *name);
    let found = Algorithm::ALL.iter().find(|(_, name)| plain(name) == plain(given));
    if found.is_none() {
        let remedy = match nearest(&given.to_ascii_uppercase().replace('-', "_"), names()) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("it is one of {}", names().collect::<Vec<_>>().join(", ")),
        };
        report.add(node.place, format!("the algorithm \"{given}\" is not known"), remedy);
    }
    found.map(|(algorithm, _)| *algorithm)
}

type Numbers = (Quota, Option<(u64, u64)>);

/// Reads the numbers of an algorithm, each tried beside ones that fit, so that every misfit is told.
fn numbers(algorithm: Algorithm, members: &mut Members<'_>, report: &mut Report) -> Option<Numbers> {
    match algorithm {
        Algorithm::FixedCounter => {
            windowed(members, |limit, window| Quota::fixed_window(limit, window, Anchor::FirstHit), report)
        }
        Algorithm::SlidingWindow => windowed(members, Quota::sliding_log, report),
        Algorithm::TokenBucket => paced(members, "refillRate", Quota::token_bucket, report),
        Algorithm::LeakyBucket => paced(
            members,
            "flowRate",
            |units, rate| Quota::leaky_bucket(rate, units.saturating_sub(1)),
            report,
        ),
    }
}

fn windowed(
    members: &mut Members<'_>,
    build: impl Fn(u64, Span) -> Result<Quota, QuotaError>,
    report: &mut Report,
) -> Option<Numbers> {
    let minute = Span::from_secs(60);
    let requests = members.need("maxRequests", "100", report).and_then(|node| {
        let number = number::whole(node, "maxRequests", report)?;
        fits(build(number, minute), node, "maxRequests", report).map(|_| number)
    });
    let window = members.need("windowSize", "60", report).and_then(|node| {
        let window = Span::from_secs(number::whole(node, "windowSize", report)?);
        fits(build(1, window), node, "windowSize", report).map(|_| window)
    });
    Some((build(requests?, window?).ok()?, None))
}

fn paced(
    members: &mut Members<'_>,
    rate_name: &'static str,
    build: impl Fn(u64, Rate) -> Result<Quota, QuotaError>,
    report: &mut Report,
) -> Option<Numbers> {
    let one = Rate::new(1, Span::from_secs(60)).ok()?;
    let capacity = members.need("capacity", "100", report).and_then(|node| {
        let number = number::whole(node, "capacity", report)?;
        fits(build(number, one), node, "capacity", report).map(|_| number)
    });
    let rate = members.need(rate_name, "10", report).and_then(|node| {
        let (units, seconds) = number::per_second(node, rate_name, report)?;
        let rate = fits(Rate::new(units, Span::from_secs(seconds)), node, rate_name, report)?;
        fits(build(1, rate), node, rate_name, report).map(|_| (rate, (units, seconds)))
    });
    let (rate, written) = rate?;
    Some((build(capacity?, rate).ok()?, Some(written)))
}

/// Reports a number outside of what a limit can be.
fn fits<T>(built: Result<T, QuotaError>, node: &Node, what: &str, report: &mut Report) -> Option<T> {
    built
        .map_err(|error| {
            let given = node.scalar().unwrap_or_default();
            report.add(node.place, format!("{what} {given}: {error}"), "");
        })
        .ok()
}

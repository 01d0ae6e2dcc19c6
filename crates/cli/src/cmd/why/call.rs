//! A call of Envoy's about descriptors, explained.

use serde_json::{Map, Value, json};
use tidegate::policy_file::suite::parse_descriptor;
use tidegate::policy_file::{Counting, Descriptor, HeaderStyle};
use tidegate::why::{CallWhy, DescriptorWhy};
use tidegate::{CheckOptions, DescriptorAsk, Limiter, Span, Timestamp};

use super::request::now;
use super::show::{fields, rule_json, rule_lines};
use super::{block_on, limiter, write};
use crate::args::WhyArgs;
use crate::cmd::test::status_name;
use crate::exit::Failure;

/// The entries of a descriptor, as they are written in an argument.
#[derive(Debug, Clone)]
pub(crate) struct Entries(Vec<(String, String)>);

/// Reads the entries of a descriptor as a test file writes them.
pub(crate) fn descriptor(text: &str) -> Result<Entries, String> {
    parse_descriptor("descriptor", text).map(Entries).map_err(|problems| problems.to_string())
}

/// Explains a call.
///
/// # Errors
/// When the policy cannot be used.
pub(super) fn run(args: &WhyArgs, domain: &str) -> Result<(), Failure> {
    let policy = args.policy.load().map_err(Failure::unusable)?.policy;
    let styles = policy.headers.clone();
    let counting = policy.envoy.as_ref().map_or(Counting::AllOrNothing, |face| face.counting);
    let limiter = limiter(policy)?;
    let entries: Vec<Vec<(&str, &str)>> = args.descriptor.iter().map(Entries::borrowed).collect();
    let ask =
        |entries| DescriptorAsk { descriptor: Descriptor { domain, entries }, hits: args.hits, limit: None };
    let asks: Vec<DescriptorAsk<'_>> = entries.iter().map(|entries| ask(entries)).collect();
    let at = args.at.unwrap_or_else(now);
    let why = block_on(explain(&limiter, &asks, counting, (at, args.repeat)))?;
    let call = Call { asks: &asks, at, styles: &styles };
    write(args.output, || call.lines(&why), || call.json(&why))
}

/// Makes the call as often as was asked for, then explains the next.
async fn explain(
    limiter: &Limiter,
    asks: &[DescriptorAsk<'_>],
    counting: Counting,
    (at, repeat): (Timestamp, u32),
) -> CallWhy {
    let options = CheckOptions { at: Some(at), max_delay: Span::ZERO, cost: None, peek: false };
    let in_force = limiter.snapshot();
    for _ in 0..repeat {
        let _ = in_force.check_descriptors(asks, counting, options).await;
    }
    in_force.why_descriptors(asks, counting, options).await
}

impl Entries {
    fn borrowed(&self) -> Vec<(&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect()
    }
}

/// What was asked.
struct Call<'a> {
    asks: &'a [DescriptorAsk<'a>],
    at: Timestamp,
    styles: &'a [HeaderStyle],
}

impl Call<'_> {
    fn lines(&self, why: &CallWhy) -> Vec<String> {
        let mut lines = Vec::new();
        for (ask, one) in self.asks.iter().zip(&why.descriptors) {
            let by = why.told(&one.answer).map(|by| format!(", by {}", by.limit.name())).unwrap_or_default();
            lines.push(format!("{}: {}{by}", ask.descriptor, status_name(one.answer.status)));
            for rule in &one.rules {
                lines.push(String::new());
                lines.extend(rule_lines(rule));
            }
            lines.push(String::new());
        }
        lines.push(why.verdict.explain());
        lines.push(format!("Envoy is answered {}", code(why)));
        for (name, value) in fields(&why.verdict, self.styles) {
            lines.push(format!("  {name}: {value}"));
        }
        lines
    }

    fn json(&self, why: &CallWhy) -> Value {
        let each = self.asks.iter().zip(&why.descriptors).map(|(ask, one)| descriptor_json(ask, one, why));
        let fields = fields(&why.verdict, self.styles);
        let fields: Map<String, Value> =
            fields.into_iter().map(|(name, value)| (name, Value::from(value))).collect();
        json!({
            "domain": self.asks.first().map(|ask| ask.descriptor.domain),
            "at_micros": self.at.as_micros(),
            "descriptors": each.collect::<Vec<_>>(),
            "allowed": why.verdict.is_allowed(),
            "code": code(why),
            "limit": why.verdict.deciding().map(|by| by.limit.name()),
            "explain": why.verdict.explain(),
            "headers": fields,
        })
    }
}

fn descriptor_json(ask: &DescriptorAsk<'_>, one: &DescriptorWhy, why: &CallWhy) -> Value {
    json!({
        "entries": ask.descriptor.entries,
        "status": status_name(one.answer.status),
        "limit": why.told(&one.answer).map(|by| by.limit.name()),
        "rules": one.rules.iter().map(rule_json).collect::<Vec<_>>(),
    })
}

/// Returns what Envoy is answered, which it acts upon.
fn code(why: &CallWhy) -> &'static str {
    if why.verdict.is_allowed() { "OK" } else { "OVER_LIMIT" }
}

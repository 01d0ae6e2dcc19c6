//! What a refusal tells a client.

use tidegate_algorithms::Quota;
use tidegate_policy::{
    ClientSees, HeaderStyle, Limit, Mode, Policy, ProblemTemplate, ResetUnit, Rule, Terms,
};

/// What a limit's refusal tells a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What the client may see.
    pub sees: ClientSees,
    /// The status; none in shadow mode, where nobody is refused.
    pub status: Option<u16>,
    /// The header fields, on a refusal.
    pub fields: Vec<&'static str>,
    /// All of it in a sentence.
    pub says: String,
}

impl Refusal {
    pub(super) fn of(policy: &Policy, rule: &Rule, limit: &Limit, terms: &Terms) -> Self {
        let sees = limit.client_sees.unwrap_or(rule.client_sees);
        if limit.mode == Mode::Shadow {
            let says =
                "nobody is refused, since the limit is in shadow mode; what it would have refused is counted";
            return Self { sees, status: None, fields: Vec::new(), says: says.to_owned() };
        }
        let waits = terms.quota.nominal() > 0;
        let mut fields = Vec::new();
        if waits && sees != ClientSees::Nothing {
            fields.push("Retry-After");
        }
        if sees == ClientSees::All {
            fields.extend(policy.headers.iter().flat_map(|of| style(*of)).copied());
        }
        let says = if rule.matches.iter().any(|matcher| matcher.descriptor.is_some()) {
            let told = told(policy, sees, &fields, waits);
            format!("OVER_LIMIT, for which Envoy answers 429 unless its filter says another status{told}")
        } else {
            format!("429{}{}", told(policy, sees, &fields, waits), held(&terms.quota))
        };
        Self { sees, status: Some(429), fields, says }
    }
}

fn told(policy: &Policy, sees: ClientSees, fields: &[&str], waits: bool) -> String {
    let with = if fields.is_empty() { String::new() } else { format!(" with {}", fields.join(", ")) };
    let body = match (&policy.problem, sees) {
        (ProblemTemplate::Own { .. }, ClientSees::All) => {
            "the policy's own body may name the limit and its words"
        }
        (_, ClientSees::All) => "the body names the limit and says its words",
        (_, ClientSees::RetryAfter) => "not which limit, nor how much is left",
        (_, ClientSees::Nothing) => "nothing else",
    };
    let wait = match (waits, sees) {
        (false, _) => "; waiting never helps",
        (true, ClientSees::Nothing) => "",
        (true, _) => "; the wait is exact, rounded up to seconds",
    };
    format!("{with}; {body}{wait}")
}

/// Returns what becomes of whoever finds room in a queue.
fn held(quota: &Quota) -> String {
    match quota {
        Quota::LeakyBucket(bucket) if bucket.queue() > 0 => {
            format!(
                "; who finds room in the queue is held instead, for up to {}",
                bucket.rate().time_for(bucket.queue().into())
            )
        }
        _ => String::new(),
    }
}

fn style(style: HeaderStyle) -> &'static [&'static str] {
    match style {
        HeaderStyle::Ietf => &["RateLimit-Policy", "RateLimit"],
        HeaderStyle::Draft03 => &["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"],
        HeaderStyle::XRateLimit(ResetUnit::ResetOn) => {
            &["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-ResetOn"]
        }
        HeaderStyle::XRateLimit(_) => &["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"],
    }
}

//! `tidegate explain`: what each limit of a policy comes to.

use serde_json::{Value, json};
use tidegate_review::{Explained, ExplainedRule, explain, spoken_count, spoken_rate};

use crate::args::ExplainArgs;
use crate::exit::{Exit, Failure};
use crate::output::Output;

/// Explains a policy, or one of its rules.
///
/// # Errors
/// When the policy cannot be used, has no such rule, or the explanation cannot be written.
pub(crate) fn run(args: &ExplainArgs) -> Result<Exit, Failure> {
    let policy = args.policy.load().map_err(Failure::unusable)?.policy;
    let mut rules = explain(&policy);
    if let Some(wanted) = &args.rule {
        let names: Vec<String> = rules.iter().map(|rule| rule.rule.name.clone()).collect();
        rules.retain(|rule| rule.rule.name == *wanted);
        if rules.is_empty() {
            let message = format!("{} has no rule {wanted}", args.policy.name());
            return Err(Failure::unusable(message).advise(format!("its rules are: {}", names.join(", "))));
        }
    }
    let mut out = Output::stdout();
    if args.json {
        let rules: Vec<Value> = rules.iter().map(ExplainedRule::to_json).collect();
        out.line(&format!("{:#}", json!({ "policy": args.policy.name(), "rules": rules })));
    } else {
        for (index, rule) in rules.iter().enumerate() {
            if index > 0 {
                out.line("");
            }
            for line in lines(rule) {
                out.line(&line);
            }
        }
    }
    out.finish()?;
    Ok(Exit::Fine)
}

fn lines(rule: &ExplainedRule<'_>) -> Vec<String> {
    let applies = if rule.applies.is_empty() {
        "what no enforced limit looked at".to_owned()
    } else {
        rule.applies.join("; ")
    };
    let mut lines = vec![format!("{} ({}): {applies}", rule.rule.name, rule.rule.class.name())];
    lines.extend(rule.guesses().map(|guesses| format!("  guesses at {guesses}")));
    if let Some(refuse) = &rule.rule.refuse {
        lines.push(format!("  refuses all with {}: {}", refuse.status.as_u16(), refuse.because));
    }
    if rule.rule.envoy.unlimited {
        lines.push("  never limited, not by the fallback either".to_owned());
    }
    for limit in &rule.limits {
        lines.push(String::new());
        lines.push(format!("  {}", limit.name()));
        lines.extend(limit_lines(limit).into_iter().map(|line| format!("    {line}")));
    }
    lines
}

fn limit_lines(limit: &Explained<'_>) -> Vec<String> {
    let admits = &limit.admits;
    let mut lines = vec![limit.words.clone()];
    if limit.terms.says != limit.words {
        lines.push(format!("as the policy says: {}", limit.terms.says));
    }
    let shadow = if limit.is_enforced() { "" } else { ", in shadow mode" };
    let mut rows = vec![
        ("limit".to_owned(), format!("{}{shadow}", limit.numbers())),
        ("counts".to_owned(), format!("{}, on the key {}", limit.counts(), limit.limit.key)),
        ("at most".to_owned(), format!("{} at once", spoken_count(admits.at_once))),
    ];
    for (span, most) in &admits.in_any {
        let window = if *span == admits.window { ", its window" } else { "" };
        rows.push((String::new(), format!("{} in any {span}{window}", spoken_count(*most))));
    }
    if let Some(start) = admits.start_in_window {
        rows.push((String::new(), format!("of which {} start in its window", spoken_count(start))));
    }
    rows.push(("in the long run".to_owned(), spoken_rate(admits.long_run)));
    rows.push((
        "state".to_owned(),
        format!("{} bytes a key at most", spoken_count(admits.state_bytes.into())),
    ));
    rows.push(("a refusal".to_owned(), limit.refusal.says.clone()));
    rows.push(("without the store".to_owned(), format!("{}: {}", limit.gone.word(), limit.gone.says())));
    if let Some(share) = &limit.gone.share {
        rows.push((String::new(), format!("each instance: {}", share.words)));
    }
    lines.extend(rows.into_iter().map(|(label, value)| format!("{label:17}  {value}").trim_end().to_owned()));
    lines
}

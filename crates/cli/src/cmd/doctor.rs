//! `tidegate doctor`: whether this machine and the store are fit for a policy, each thing with its remedy.

mod machine;
mod network;

use std::time::Duration;

use serde_json::json;
use tidegate::files::Loaded;
use tidegate::policy_file::Policy;
use tidegate_store_redis::{Finding, Level};

use crate::args::DoctorArgs;
use crate::exit::{Exit, Failure};
use crate::lifetime;
use crate::output::Output;
use crate::table::Table;

/// How long the store may take to be looked at; all in all it stays below five seconds.
const STORE_PATIENCE: Duration = Duration::from_millis(3_500);

/// Looks at everything and tells it.
///
/// # Errors
/// When the policy cannot be read, or the findings cannot be written.
pub(crate) fn run(args: &DoctorArgs) -> Result<Exit, Failure> {
    let Loaded { policy, .. } = match args.policy.load() {
        Ok(loaded) => loaded,
        Err(error) if error.is_unreadable() => return Err(Failure::unusable(error)),
        Err(error) => {
            return Err(Failure::failed(format!("the policy has problems; mend these first\n{error}")));
        }
    };
    lifetime::block_on(async {
        let mut findings = machine::look(&policy);
        let (beyond, store) = tokio::join!(network::look(&policy), store(&policy));
        findings.extend(store);
        findings.extend(beyond);
        tell(&findings, args.json)
    })
}

async fn store(policy: &Policy) -> Vec<Finding> {
    match tidegate_server::store::connect(policy) {
        Ok(Some(store)) => store.diagnose(STORE_PATIENCE).await,
        // What there is to say of a store in memory is said of this machine.
        Ok(None) => Vec::new(),
        // Its words have the remedy in them.
        Err(error) => vec![told("store", Level::Wrong, error.to_string())],
    }
}

/// Builds a finding of words that end in their remedy, behind the last semicolon.
fn told(about: &'static str, level: Level, words: String) -> Finding {
    match words.rsplit_once("; ") {
        Some((found, remedy)) => {
            Finding { level, about, found: found.to_owned(), remedy: Some(remedy.to_owned()) }
        }
        None => Finding { level, about, found: words, remedy: None },
    }
}

fn tell(findings: &[Finding], as_json: bool) -> Result<Exit, Failure> {
    let worst = findings.iter().map(|finding| finding.level).max().unwrap_or(Level::Fine);
    let mut out = Output::stdout();
    if as_json {
        let level = |level: Level| level.to_string().to_lowercase();
        let findings: Vec<_> = findings
            .iter()
            .map(|Finding { level: how, about, found, remedy }| {
                json!({ "level": level(*how), "about": about, "found": found, "remedy": remedy })
            })
            .collect();
        out.line(&json!({ "level": level(worst), "findings": findings }).to_string());
    } else {
        let mut table = Table::new(["LEVEL", "ABOUT", "FOUND"]);
        for Finding { level, about, found, remedy } in findings {
            let remedy = remedy.as_ref().map(|remedy| format!("; {remedy}")).unwrap_or_default();
            table.push([level.to_string(), (*about).to_owned(), one_line(&format!("{found}{remedy}"))]);
        }
        table.lines().skip(1).for_each(|line| out.line(&line));
    }
    out.finish()?;
    Ok(if worst == Level::Wrong { Exit::Problems } else { Exit::Fine })
}

/// Puts words on one line, whatever a server or a library put into them.
fn one_line(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

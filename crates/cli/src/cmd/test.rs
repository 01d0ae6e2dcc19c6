//! `tidegate test`: requests at virtual times, held against what a test file expects of its policy.

mod call;
mod compare;
mod report;
mod run;

pub(crate) use call::status_name;
pub(crate) use compare::status;

use std::path::Path;

use tidegate::files;
use tidegate_policy::suite::Suite;
use tidegate_policy::{Policy, Problems};

use crate::args::{OutputStyle, TestArgs};
use crate::exit::{Exit, Failure};
use crate::input::read_text;
use crate::output::Output;

/// Runs each file's tests and returns the worst that was found.
///
/// # Errors
/// When the findings cannot be written, or no store can be made.
pub(crate) fn run(args: &TestArgs) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.map_err(|error| Failure::failed(format!("cannot start: {error}")))?;
    let mut out = Output::stdout();
    let mut worst = Exit::Fine;
    let (mut ran, mut unusable) = (Vec::new(), Vec::new());
    for path in &args.files {
        match prepare(path) {
            Ok((suite, policy)) => {
                let file = runtime.block_on(run::file(&suite, &policy, args.filter.as_deref()))?;
                if args.output == OutputStyle::Human {
                    report::file(&file, &mut out);
                }
                ran.push(file);
            }
            Err(failure) => {
                worst = worst.max(failure.tell());
                let (name, errors) = (path.display().to_string(), failure.message().to_owned());
                unusable.push(report::Unusable { name, errors });
            }
        }
    }
    match args.output {
        OutputStyle::Human => report::summary(&ran, &unusable, &mut out),
        OutputStyle::Json => out.line(&report::json(&ran, &unusable).to_string()),
    }
    out.finish()?;
    if ran.iter().all(|file| file.cases.is_empty())
        && let Some(filter) = args.filter.as_deref().filter(|_| worst == Exit::Fine)
    {
        return Err(Failure::unusable(format!("no test's name contains \"{filter}\"")));
    }
    let failed = ran.iter().any(|file| file.failed() > 0 || (args.strict && !file.never_matched.is_empty()));
    Ok(if failed { worst.max(Exit::Problems) } else { worst })
}

/// Reads a test file and the policy it is about.
fn prepare(path: &Path) -> Result<(Suite, Policy), Failure> {
    let name = path.display().to_string();
    let text = read_text(path, "a test file")?;
    let problems = |problems: Problems| Failure::unusable(problems);
    let suite = Suite::parse(&name, &text).map_err(problems)?;
    let policy = path.parent().unwrap_or(Path::new("")).join(&suite.policy);
    let loaded = files::load_embedded(&policy).map_err(|error| {
        if error.problems().is_some() {
            return Failure::unusable(error);
        }
        let (place, remedy) = (suite.policy_place, "write its path from the folder of this file");
        Failure::unusable(format!("{name}:{place}: {error}; {remedy}"))
    });
    let policy = loaded?.policy;
    suite.check_names(&policy).map_err(problems)?;
    Ok((suite, policy))
}

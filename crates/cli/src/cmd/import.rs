//! `tidegate import`: another limiter's configuration, written as a policy file.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use tidegate::files::Files;
use tidegate_policy::import::{Imported, envoy, rate_limit};
use tidegate_policy::{Policy, Problems, Reading};

use super::{check, words};
use crate::args::{ImportArgs, ImportCommand, ToArgs};
use crate::exit::{Exit, Failure};
use crate::input::{Source, read_text};
use crate::output::{Output, to_stderr};
use crate::report;

/// What the policy is called in messages when it goes to standard output.
const STDOUT: &str = "<stdout>";

/// Writes the policy, then tells what is to be told of it.
///
/// # Errors
/// When a file cannot be read, or the policy cannot be written.
pub(crate) fn run(args: &ImportArgs) -> Result<Exit, Failure> {
    let (sources, to) = match &args.command {
        ImportCommand::Envoy { files, to } => (files.as_slice(), to),
        ImportCommand::RateLimit { file, to } => (std::slice::from_ref(file), to),
    };
    let mut texts = Vec::new();
    for source in sources {
        texts.push((source.name(), text(source)?));
    }
    let texts: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let imported = match (&args.command, texts.as_slice()) {
        (ImportCommand::RateLimit { .. }, [(name, text), ..]) => rate_limit(name, text),
        _ => envoy(&texts),
    };
    let imported = match imported {
        Ok(imported) => imported,
        Err(problems) => return Ok(refused(&problems)),
    };
    write(&imported.text, to)?;
    for remark in &imported.remarks {
        let file = texts.get(usize::from(remark.place.file)).map_or("", |(name, _)| *name);
        to_stderr(&format!("{file}:{}: {remark}", remark.place));
    }
    Ok(tell(&imported, to.output.as_deref()))
}

fn text(source: &Source) -> Result<String, Failure> {
    match source {
        Source::File(path) => read_text(path, "a configuration"),
        Source::Stdin => {
            let mut text = String::new();
            // As much as is read of a file, and one byte more.
            let read = io::stdin().lock().take((4 << 20) + 1).read_to_string(&mut text);
            let unreadable = |error| Failure::unusable(format!("cannot read {}: {error}", source.name()));
            read.map_err(unreadable).map(|_| text)
        }
    }
}

/// Tells what is wrong with a configuration.
fn refused(problems: &Problems) -> Exit {
    to_stderr(&problems.to_string());
    if problems.is_not_yaml() { Exit::Unusable } else { Exit::Problems }
}

/// Puts the policy where it belongs.
fn write(text: &str, to: &ToArgs) -> Result<(), Failure> {
    let Some(path) = &to.output else {
        let mut out = Output::stdout();
        out.line(text.trim_end_matches('\n'));
        return out.finish();
    };
    let name = path.display();
    let created = File::create_new(path);
    let written = match created {
        Ok(mut file) => file.write_all(text.as_bytes()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && to.force => words::replace(path, text),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let message = format!("{name} is there already; --force replaces it");
            return Err(Failure::failed(message));
        }
        Err(error) => Err(error),
    };
    written.map_err(|error| Failure::failed(format!("{name} cannot be written: {error}")))
}

/// Tells what a check says of the policy. What it needs beside itself is looked for where it was put.
fn tell(imported: &Imported, output: Option<&Path>) -> Exit {
    let name = output.map_or_else(|| STDOUT.to_owned(), |path| path.display().to_string());
    let files = output.map_or_else(|| Files::of(Path::new("")), Files::beside);
    match Reading::of(&files).parse(&name, &imported.text) {
        Ok(policy) => {
            tell_findings(&policy);
            Exit::Fine
        }
        Err(problems) => {
            to_stderr("the policy is not complete:");
            refused(&problems)
        }
    }
}

fn tell_findings(policy: &Policy) {
    let items = check::found(policy);
    let summary = report::summary(&items);
    to_stderr(&format!(
        "the review finds {}",
        summary.map_or_else(|| "nothing".to_owned(), |found| found + ":")
    ));
    for item in &items {
        to_stderr(&format!("  {}", item.line()));
    }
}

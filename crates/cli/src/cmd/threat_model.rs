//! `tidegate threat-model`: a policy's threat model, written or held against a committed copy.

use std::fs;
use std::path::Path;

use tidegate_review::{ThreatModel, compare};

use crate::args::{ThreatFormat, ThreatModelArgs};
use crate::exit::{Exit, Failure};
use crate::output::Output;

/// Writes a policy's threat model, or compares it with a copy.
///
/// # Errors
/// When the policy or the copy cannot be used, or the page cannot be written.
pub(crate) fn run(args: &ThreatModelArgs) -> Result<Exit, Failure> {
    let policy = args.policy.load().map_err(Failure::unusable)?.policy;
    let name = args.policy.name();
    let model = ThreatModel::of(&name, &policy);
    if let Some(copy) = &args.check {
        return check(&model, copy, &name);
    }
    let text = match args.format.unwrap_or_else(|| by_ending(args.output.as_deref())) {
        ThreatFormat::Markdown => model.to_markdown(),
        ThreatFormat::Html => model.to_html(),
        ThreatFormat::Json => format!("{:#}\n", model.to_json()),
    };
    if let Some(path) = &args.output {
        let written = fs::write(path, text);
        let failed = |error| Failure::failed(format!("cannot write {}: {error}", path.display()));
        return written.map(|()| Exit::Fine).map_err(failed);
    }
    let mut out = Output::stdout();
    out.write(text.as_bytes());
    out.finish()?;
    Ok(Exit::Fine)
}

/// Returns the format that a file's name ends in.
fn by_ending(path: Option<&Path>) -> ThreatFormat {
    let ending = path.and_then(Path::extension).and_then(|ending| ending.to_str()).unwrap_or_default();
    match ending.to_ascii_lowercase().as_str() {
        "html" | "htm" => ThreatFormat::Html,
        "json" => ThreatFormat::Json,
        _ => ThreatFormat::Markdown,
    }
}

/// Tells what of a copy is no longer so, and how to renew it.
fn check(model: &ThreatModel<'_>, copy: &Path, policy: &str) -> Result<Exit, Failure> {
    // A page in HTML would be no better when renewed.
    let ours = if matches!(by_ending(Some(copy)), ThreatFormat::Html) {
        copy.with_extension("md")
    } else {
        copy.to_owned()
    };
    let renew = format!("renew it with: tidegate threat-model {policy} --output {}", ours.display());
    let text = fs::read_to_string(copy).map_err(|error| {
        Failure::unusable(format!("cannot read {}: {error}", copy.display())).advise(&renew)
    })?;
    let differences = compare(model, &text)
        .map_err(|error| Failure::unusable(format!("{}: {error}", copy.display())).advise(&renew))?;
    if differences.is_empty() {
        return Ok(Exit::Fine);
    }
    let mut out = Output::stdout();
    for difference in &differences {
        out.line(&format!("{}: {difference}", copy.display()));
    }
    let json = if text.trim_start().starts_with('{') { " --format json" } else { "" };
    out.line(&format!("{renew}{json}"));
    out.finish()?;
    Ok(Exit::Problems)
}

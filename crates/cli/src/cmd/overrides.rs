//! `tidegate override`: exceptions from limits of running gateways, for a while.

use http::Method;
use serde_json::{Map, Value};

use crate::admin::Admin;
use crate::args::OverrideArgs;
use crate::exit::{Exit, Failure};
use crate::key_words::{Style, members};
use crate::lifetime;
use crate::output::Output;

const PATH: &str = "/v1/overrides";

/// Lists exceptions, makes one or removes one.
///
/// # Errors
/// When the endpoint or its store does not answer, or the exception cannot be.
pub(crate) fn run(args: &OverrideArgs) -> Result<Exit, Failure> {
    let admin = Admin::of(&args.admin, args.policy.as_ref())?;
    match &args.name {
        None => lifetime::block_on(list(&admin, args.json)),
        Some(name) if args.remove => lifetime::block_on(remove(&admin, name, args)),
        Some(name) if args.limit.is_none() && args.terms.is_none() && args.mode.is_none() => {
            let about = format!("what is to become of {name} is not said");
            Err(Failure::unusable(about).advise("give one of --limit, --terms, --mode and --remove"))
        }
        Some(name) => lifetime::block_on(put(&admin, name, args)),
    }
}

async fn list(admin: &Admin, json: bool) -> Result<Exit, Failure> {
    let answer = admin.ask(Method::GET, PATH, None).await?.found()?;
    let mut out = Output::stdout();
    if json {
        out.json(&answer)?;
        return out.finish().map(|()| Exit::Fine);
    }
    let list = answer["overrides"].as_array().cloned().unwrap_or_default();
    if list.is_empty() {
        out.line("no overrides: the policy files are what holds");
    }
    for one in &list {
        for line in lines(one) {
            out.line(&line);
        }
    }
    out.finish()?;
    Ok(Exit::Fine)
}

async fn put(admin: &Admin, name: &str, args: &OverrideArgs) -> Result<Exit, Failure> {
    let mut call = call(name, &args.key)?;
    let said = [
        ("number", args.limit.map(Value::from)),
        ("terms", args.terms.clone().map(Value::from)),
        ("mode", args.mode.clone().map(Value::from)),
        ("for", args.lasts.clone().map(Value::from)),
        ("because", args.because.clone().map(Value::from)),
    ];
    call.extend(said.into_iter().filter_map(|(member, value)| Some((member.to_owned(), value?))));
    let answer = admin
        .ask(Method::PUT, PATH, Some(&Value::Object(call)))
        .await?
        .found_key(&args.key, Style::Option)?;
    let mut out = Output::stdout();
    if args.json {
        out.json(&answer)?;
    } else {
        for line in lines(&answer["override"]) {
            out.line(&line);
        }
        for found in answer["warnings"].as_array().into_iter().flatten() {
            let (id, message, remedy) = (text(found, "id"), text(found, "message"), text(found, "remedy"));
            out.line(&format!("{} [{id}]: {message}; {remedy}", text(found, "severity")));
        }
        if answer["replaced"] == true {
            out.line("it stands in the place of the one before");
        }
    }
    out.finish()?;
    Ok(Exit::Fine)
}

async fn remove(admin: &Admin, name: &str, args: &OverrideArgs) -> Result<Exit, Failure> {
    let call = Value::Object(call(name, &args.key)?);
    let answer = admin.ask(Method::DELETE, PATH, Some(&call)).await?;
    let is_missing = answer.status == 404;
    let answer = match answer.found_key(&args.key, Style::Option) {
        // There is none, which is no wrong call.
        Err(failure) if is_missing => return Err(Failure::failed(failure.message())),
        found => found?,
    };
    let mut out = Output::stdout();
    if args.json {
        out.json(&answer)?;
    } else {
        let removed = &answer["removed"];
        out.line(&format!("{}: removed ({}); the policy file is what holds", whose(removed), sets(removed)));
    }
    out.finish()?;
    Ok(Exit::Fine)
}

/// Returns the members of a call that name a limit and a key.
fn call(name: &str, keys: &[String]) -> Result<Map<String, Value>, Failure> {
    let mut call = members(keys, Style::Option)?;
    call.insert("limit".to_owned(), name.into());
    Ok(call)
}

fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value[member].as_str().unwrap_or_default()
}

/// Says which limit, and which key of it.
fn whose(one: &Value) -> String {
    match one["key"].as_str() {
        Some(key) => format!("{}, for {key}", text(one, "limit")),
        None => text(one, "limit").to_owned(),
    }
}

/// Says what is different.
fn sets(one: &Value) -> String {
    let number = one["number"].as_u64().map(|number| format!("limit {number}"));
    let terms = one["terms"].as_str().map(|terms| format!("terms {terms}"));
    let mode = one["mode"].as_str().map(|mode| format!("mode {mode}"));
    number.or(terms).or(mode).unwrap_or_default()
}

/// Says whether terms are looser or tighter than the file's, with the number that most look at.
fn effect(held: &Value) -> String {
    let (was, now) = (held["at_once_was"].as_u64().unwrap_or(0), held["at_once"].as_u64().unwrap_or(0));
    let word = match text(held, "effect") {
        "same" => "as the file",
        "looser" => "looser than the file",
        "tighter" => "tighter than the file",
        other => other,
    };
    let algorithm = |member: &str| text(held, member).split(':').next().unwrap_or_default().to_owned();
    if algorithm("was") == algorithm("numbers") {
        return format!("{was} → {now}: {word}");
    }
    format!("{} → {}: {word}", text(held, "was"), text(held, "numbers"))
}

/// Returns the lines that tell of one.
fn lines(one: &Value) -> Vec<String> {
    let mut lines = vec![format!("{}: {} until {}", whose(one), sets(one), text(one, "until"))];
    for held in one["in_force"].as_array().into_iter().flatten() {
        let plan = held["plan"].as_str().map(|plan| format!("{plan}: ")).unwrap_or_default();
        lines.push(format!("  {plan}{}", text(held, "says")));
        lines.push(format!("  {plan}{}", text(held, "numbers")));
        lines.push(format!("  {plan}{}", effect(held)));
    }
    if one["in_force"].as_array().is_some_and(Vec::is_empty) && one["effect"] == "looser" {
        lines.push("  looser than the file: the limit looks at nobody this is for".to_owned());
    }
    if one["applies"] == false {
        lines.push(format!("  applies to nothing here: {}", text(one, "problem")));
    }
    let by =
        one["by"].as_str().filter(|by| !by.is_empty()).map(|by| format!(", by {by}")).unwrap_or_default();
    lines.push(format!("  because: {}{by}, since {}", text(one, "because"), text(one, "since")));
    lines
}

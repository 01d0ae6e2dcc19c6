//! The same, asked of a running process: it has what is counted, and the secret under which keys are named.

use http::Method;
use serde_json::Value;
use tidegate::{Span, Timestamp};

use super::show::{Counted, key};
use crate::admin::Admin;
use crate::args::{KeyArgs, LimitKey};
use crate::exit::{Exit, Failure};
use crate::key_words::{Style, members};
use crate::output::Output;

/// A key that a running process is asked about.
struct Asked {
    admin: Admin,
    on: LimitKey,
    call: Value,
}

impl Asked {
    fn of(of: &KeyArgs) -> Result<Self, Failure> {
        let on = of.on()?;
        let mut call = members(&on.key, Style::Bare)?;
        call.insert("limit".to_owned(), on.limit.as_str().into());
        Ok(Self { admin: Admin::of(&of.admin, None)?, on, call: Value::Object(call) })
    }

    async fn ask(&self, path: &str) -> Result<Value, Failure> {
        let answer = self.admin.ask(Method::POST, path, Some(&self.call)).await?;
        answer.found_key(&self.on.key, Style::Bare)
    }

    async fn look(&self) -> Result<Value, Failure> {
        self.ask("/inspect").await
    }
}

/// Shows what is counted on a key.
///
/// # Errors
/// When the process cannot be asked, or the key is none.
pub(super) async fn inspect(of: &KeyArgs, as_json: bool) -> Result<Exit, Failure> {
    let asked = Asked::of(of)?;
    let seen = asked.look().await?;
    let mut out = Output::stdout();
    if as_json {
        out.line(&seen.to_string());
    } else {
        for line in lines(&asked, &seen) {
            out.line(&line);
        }
    }
    out.finish()?;
    let is_answered = seen["counted"] == true || refuses(&seen);
    Ok(if is_answered { Exit::Fine } else { Exit::Problems })
}

/// Has a key forgotten.
///
/// # Errors
/// When the process cannot be asked, or the key is none.
pub(super) async fn reset(of: &KeyArgs) -> Result<Exit, Failure> {
    let asked = Asked::of(of)?;
    // A value that cannot be read is one more reason to have it forgotten.
    let seen = asked.look().await;
    asked.ask("/reset").await?;
    let (limit, key) = (&asked.on.limit, key(&asked.on.key));
    let mut out = Output::stdout();
    let Ok(seen) = seen else {
        out.line(&format!("{limit}, {key}: forgotten (what it was could not be read)"));
        out.finish()?;
        return Ok(Exit::Fine);
    };
    let what = seen["states"].as_array().and_then(|states| states.first());
    let exit = if let Some(state) = what.filter(|_| seen["counted"] == true) {
        out.line(&format!("{limit}, {key}: forgotten ({})", counted(state, &seen).used()));
        Exit::Fine
    } else {
        out.line(&format!("{limit}, {key}: nothing is counted, so there was nothing to forget"));
        Exit::Problems
    };
    out.finish()?;
    Ok(exit)
}

fn lines(asked: &Asked, seen: &Value) -> Vec<String> {
    let identity = seen["key"].as_str().map(|name| format!(" ({name})")).unwrap_or_default();
    let mut lines = vec![format!("{}, {}{identity}", asked.on.limit, key(&asked.on.key))];
    lines.extend(overridden(&seen["run_time_override"]));
    if seen["counted"] != true {
        lines.push("  nothing is counted".to_owned());
    }
    // What is counted is held against nothing there.
    for state in seen["states"].as_array().into_iter().flatten().filter(|_| !refuses(seen)) {
        let numbers = state["numbers"].as_str().unwrap_or_default();
        let whose = state["plan"].as_str().map(|plan| format!(", of {plan}")).unwrap_or_default();
        lines.push(format!("  {}", counted(state, seen).words()));
        lines.push(format!("  held against {numbers}{whose}"));
    }
    lines
}

/// Returns whether an override refuses every request of the key.
fn refuses(seen: &Value) -> bool {
    seen["run_time_override"]["mode"] == "refuse"
}

/// Says by which override the key is treated as it is, if by one.
fn overridden(over: &Value) -> Option<String> {
    let text = |member: &str| over[member].as_str().unwrap_or_default();
    let sets = over["sets"].as_str()?;
    let whose = if over["key"].is_null() { "for everybody" } else { "for this key" };
    let does = match text("mode") {
        "refuse" => "; every request is refused",
        "shadow" => "; it refuses nothing",
        "off" => "; it does not look at the key",
        _ => "",
    };
    Some(format!("  overridden {whose}: {sets} until {}, because {}{does}", text("until"), text("because")))
}

fn counted(state: &Value, seen: &Value) -> Counted {
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    Counted {
        limit: number(&state["limit"]),
        remaining: number(&state["remaining"]),
        next_unit: state["next_unit_micros"].as_u64().map(Span::from_micros),
        reset_after: Span::from_micros(number(&state["reset_after_micros"])),
        at: Timestamp::saturating_from_micros(number(&seen["at_micros"])),
    }
}

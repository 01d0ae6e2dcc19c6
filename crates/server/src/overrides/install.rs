//! Putting overrides into force, and telling the log of what changes.

use std::time::Duration;

use tidegate::Noted;
use tidegate::policy_file::Diff;
use tidegate::policy_file::overlay::{Set, instant};
use tokio::time::Instant;

use super::note::Text;
use super::{Held, Outcome, Overrides, State, laid};
use crate::reload::Changes;

/// One that ends so soon may have ended by the store's clock.
const CLOSE: Duration = Duration::from_secs(2);

impl Overrides {
    /// Puts into force what the store says, and nothing else; `removed` is one that was just removed here. Blocks while limits
    /// are compiled.
    pub(super) fn install(&self, noted: &Noted, received: Instant, removed: Option<&str>) {
        let held = noted.notes.iter().filter_map(|note| {
            let text = match serde_json::from_str::<Text>(&note.text) {
                Ok(text) => text,
                Err(error) => {
                    // Of another version, say: it is shown to nobody, and told at debug, since it is read twice a second.
                    tracing::debug!(name = ?note.name, %error, "an override in the store cannot be read");
                    return None;
                }
            };
            let left = note.until.as_micros().saturating_sub(noted.at.as_micros());
            let ends = received + Duration::from_micros(left);
            Some(Held { name: note.name.clone(), text, until: note.until, ends })
        });
        let held: Vec<Held> = held.collect();
        let mut state = self.state.lock();
        tell_of_loss(&state.held, &held, removed);
        self.change(&mut state, held);
    }

    /// Takes those out of force that have ended by this process's clock, and returns when the next one ends.
    pub(super) fn end(&self, now: Instant) -> Option<Instant> {
        let mut state = self.state.lock();
        if state.held.iter().any(|held| held.ends <= now) {
            let held = state.held.iter().filter(|held| held.ends > now).cloned().collect();
            self.change(&mut state, held);
        }
        state.held.iter().map(|held| held.ends).min()
    }

    /// Puts other overrides into the place of those in force.
    fn change(&self, state: &mut State, held: Vec<Held>) {
        let of = |one: &Held| (one.name.clone(), one.text.clone(), one.until);
        if held.iter().map(of).eq(state.held.iter().map(of)) {
            // Their ends by this clock are known better now.
            state.held = held;
            return;
        }
        let (policy, outcomes) = laid(&self.limiter, &state.file, &held);
        let before = self.limiter.policy();
        let diff = before.map(|before| Diff::between(&before, &policy)).unwrap_or_default();
        match self.limiter.reload(policy) {
            Ok(reloaded) => {
                tell(&state.held, &held);
                for line in Changes::of(reloaded, &diff).lines {
                    tracing::info!("the overrides change {line}");
                }
                tell_of_new_idle(&state.held, (&held, &outcomes));
                (state.held, state.outcomes) = (held, outcomes);
            }
            // The file's policy has been in force, so this one makes a limiter too.
            Err(error) => tracing::error!(%error, "the overrides cannot be put into force"),
        }
    }
}

/// Returns what an override is for and says, for the log: whatever somebody wrote is escaped.
pub(super) fn in_words(text: &Text) -> String {
    let key = text.key.as_ref().map(|key| format!(" for {key}")).unwrap_or_default();
    let set = Set::from(&text.set).to_string();
    format!("{}{key}: {}", escaped(&text.limit), escaped(&set))
}

/// Returns a text in which nothing steers a terminal or ends a line.
pub(super) fn escaped(text: &str) -> String {
    text.chars().flat_map(char::escape_debug).collect()
}

/// Tells of overrides that began and ended.
fn tell(before: &[Held], after: &[Held]) {
    let has = |all: &[Held], one: &Held| {
        all.iter().any(|other| other.name == one.name && other.text == one.text && other.until == one.until)
    };
    for ended in before.iter().filter(|one| !after.iter().any(|other| other.name == one.name)) {
        let how = if ended.ends <= Instant::now() { "has ended" } else { "was removed or has ended" };
        tracing::warn!(
            because = escaped(&ended.text.because),
            "an override {how}: {}",
            in_words(&ended.text)
        );
    }
    let begun: Vec<&Held> = after.iter().filter(|one| !has(before, one)).collect();
    if let [_, _, ..] = begun.as_slice() {
        tracing::warn!("{} overrides in force", after.len());
    }
    for one in begun {
        let (because, by) = (escaped(&one.text.because), escaped(&one.text.by));
        let until = instant(one.until);
        tracing::warn!(until, because, by, "an override is in force: {}", in_words(&one.text));
    }
}

/// Says so when every override is gone at once although none had ended: a store that lost its data looks like this.
fn tell_of_loss(before: &[Held], after: &[Held], removed: Option<&str>) {
    let soon = Instant::now() + CLOSE;
    let held: Vec<&Held> =
        before.iter().filter(|one| one.ends > soon && removed != Some(&one.name)).collect();
    if held.is_empty() || held.iter().any(|one| after.iter().any(|other| other.name == one.name)) {
        return;
    }
    let gone: Vec<String> = held.iter().map(|one| in_words(&one.text)).collect();
    tracing::warn!(
        "the store holds none any more of the overrides that were in force, {}, although none had ended: unless somebody \
         removed them, it has lost its data, and the policy file is what holds; look whether the store was restarted or \
         emptied, and make with `tidegate override` anew what is still needed",
        gone.join("; ")
    );
}

/// Warns of overrides that a change of the policy's file has left without what they are for.
pub(super) fn tell_of_idle(held: &[Held], before: &[Outcome], after: &[Outcome]) {
    for ((one, before), after) in held.iter().zip(before).zip(after) {
        match (before, after) {
            (before, Err(unfit)) if before.as_ref().err() != Some(unfit) => idle(one, unfit),
            (Err(_), Ok(_)) => tracing::warn!("an override applies again: {}", in_words(&one.text)),
            _ => {}
        }
    }
}

/// Warns of overrides that are new and apply to nothing here.
fn tell_of_new_idle(known: &[Held], (held, outcomes): (&[Held], &[Outcome])) {
    let is_new = |one: &Held| !known.iter().any(|other| other.name == one.name && other.text == one.text);
    for (one, outcome) in held.iter().zip(outcomes).filter(|(one, _)| is_new(one)) {
        if let Err(unfit) = outcome {
            idle(one, unfit);
        }
    }
}

fn idle(one: &Held, why: &super::Unfit) {
    tracing::warn!(
        "an override applies to nothing here: {}: {}",
        in_words(&one.text),
        escaped(&why.to_string())
    );
}

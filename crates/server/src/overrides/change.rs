//! Making an override and removing it, at an operator's word.

use std::net::IpAddr;

use tidegate::policy_file::overlay::{Overlay, Set, SetMode, overlaid};
use tidegate::{Noted, Span, StoreError, Timestamp};
use tokio::time::Instant;

use super::install::{escaped, in_words};
use super::note::{SetText, Text, fingerprint, name};
use super::warning::Warning;
use super::{MOST, Overrides, View};
use crate::watch::aside;

/// An override that somebody wants.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) limit: String,
    /// The key's name outside the process, if it is for one.
    pub(crate) key: Option<String>,
    pub(crate) set: Set,
    pub(crate) because: String,
    /// How long it is to hold.
    pub(crate) lasts: Span,
    /// Who asks.
    pub(crate) by: Option<IpAddr>,
}

/// What became of it.
#[derive(Debug)]
pub(crate) struct Put {
    pub(crate) view: View,
    /// Whether it stands in the place of another.
    pub(crate) replaced: bool,
    /// What is unwise in it.
    pub(crate) warnings: Vec<Warning>,
}

/// Why nothing was changed.
#[derive(Debug)]
pub(crate) enum Fault {
    /// No limit has the name, or there is no such override.
    Missing(String),
    /// It does not fit the limit; the member at fault.
    Unfit(&'static str, String),
    /// There are too many.
    Full,
    /// The store cannot keep any.
    NoNotes,
    /// The store does not answer.
    Store(StoreError),
    /// The store is known to be lost.
    Lost,
}

impl Overrides {
    /// Makes an override for every instance, in the place of one for the same limit and key, and returns whether there was one.
    ///
    /// # Errors
    /// When it does not fit the policy of this instance, or the store does not keep it.
    pub(crate) async fn put(&self, change: Change) -> Result<Put, Fault> {
        let turn = self.turn.lock().await;
        let name = name(&change.limit, change.key.as_deref());
        let warnings = self.fits(&change)?;
        let mut found = self.read().await?;
        let replaced = found.notes.iter().any(|note| note.name == name);
        if !replaced && found.notes.len() >= MOST {
            return Err(Fault::Full);
        }
        let text = self.text(&change, found.at);
        let until = found.at.as_micros().saturating_add(change.lasts.as_micros());
        let until = Timestamp::saturating_from_micros(until);
        let note = text.note(until).map_err(|error| Fault::Unfit("because", error.to_string()))?;
        let store = self.limiter.store();
        let notes = store.notes().ok_or(Fault::NoNotes)?;
        notes.put(&note).await.map_err(Fault::Store)?;
        let (by, because) = (&text.by, escaped(&text.because));
        let until = tidegate::policy_file::overlay::instant(until);
        tracing::warn!(peer = by, until, because, replaced, "an override was put: {}", in_words(&text));
        found.notes.retain(|other| other.name != name);
        found.notes.push(note);
        found.notes.sort_by(|one, other| one.name.cmp(&other.name));
        self.installed(found, None).await;
        drop(turn);
        self.view(&name).map(|view| Put { view, replaced, warnings }).ok_or_else(|| {
            Fault::Missing(
                "it is in the store, and not in force here: it has ended already, or the log says why"
                    .to_owned(),
            )
        })
    }

    /// Removes an override for every instance.
    ///
    /// # Errors
    /// When there is none, or the store does not answer.
    pub(crate) async fn remove(
        &self,
        (limit, key): (&str, Option<&str>),
        by: Option<IpAddr>,
    ) -> Result<View, Fault> {
        let _turn = self.turn.lock().await;
        let name = name(limit, key);
        let found = self.read().await?;
        // One of another instance may not have been seen here yet.
        self.installed(found.clone(), None).await;
        let none = || Fault::Missing(self.none_of(limit, &name));
        let view = self.view(&name).ok_or_else(none)?;
        let store = self.limiter.store();
        let notes = store.notes().ok_or(Fault::NoNotes)?;
        if !notes.remove(&name).await.map_err(Fault::Store)? {
            return Err(none());
        }
        let peer = by.map(|by| by.to_string()).unwrap_or_default();
        tracing::warn!(peer, "an override was removed: {}", escaped(&name));
        let rest = found.notes.into_iter().filter(|note| note.name != name).collect();
        self.installed(Noted { at: found.at, notes: rest }, Some(name)).await;
        Ok(view)
    }

    /// Holds an override against the policy as the file says it, and returns what the review finds with it and not without.
    fn fits(&self, change: &Change) -> Result<Vec<Warning>, Fault> {
        let state = self.state.lock();
        let identities = self.limiter.identities_under(&state.file);
        let overlay = Overlay {
            limit: change.limit.clone(),
            key: change.key.clone(),
            set: change.set.clone(),
            because: change.because.clone(),
            until: Timestamp::MAX,
        };
        let (policy, mut outcomes) = overlaid(&state.file, &[overlay], identities.as_ref());
        let member = match change.set {
            Set::Number(_) => "number",
            Set::Terms(_) => "terms",
            Set::Mode(_) => "mode",
        };
        match outcomes.pop() {
            Some(Err(unfit)) if unfit.is_unknown_limit => Err(Fault::Missing(unfit.why)),
            Some(Err(unfit)) => Err(Fault::Unfit(member, unfit.why)),
            Some(Ok(became)) => {
                // An override that turns the limit off makes nothing of it.
                let is_looser = became.is_empty() || became.iter().any(|one| one.strictness.is_looser());
                Ok(Warning::new_in(&policy, &state.file, is_looser))
            }
            None => Ok(Vec::new()),
        }
    }

    fn text(&self, change: &Change, since: Timestamp) -> Text {
        let identities = self.limiter.identities_under(&self.state.lock().file);
        let names = change.key.as_ref().and(identities).as_ref().map(fingerprint);
        Text {
            limit: change.limit.clone(),
            key: change.key.clone(),
            set: SetText::from(&change.set),
            because: change.because.clone(),
            since: since.as_micros(),
            by: change.by.map(|by| by.to_string()).unwrap_or_default(),
            names,
        }
    }

    /// Reads what is in the store, unless it is known to be lost.
    async fn read(&self) -> Result<Noted, Fault> {
        if self.limiter.store_health().is_down() {
            return Err(Fault::Lost);
        }
        let store = self.limiter.store();
        let notes = store.notes().ok_or(Fault::NoNotes)?;
        // Nothing is changed by it, whatever became of the question.
        notes.all().await.map_err(|error| Fault::Store(error.not_counted()))
    }

    async fn installed(&self, noted: Noted, removed: Option<String>) {
        let (this, received) = (self.clone(), Instant::now());
        aside(move || this.install(&noted, received, removed.as_deref())).await;
    }

    /// Says that there is no override of some name, and what is meant where no limit has it.
    fn none_of(&self, limit: &str, name: &str) -> String {
        let none = format!("there is no override of {}", escaped(name));
        // One that a limit of this name is asked for tells whether there is one.
        let set = Set::Mode(SetMode::Shadow);
        let overlay = Overlay {
            limit: limit.to_owned(),
            key: None,
            set,
            because: String::new(),
            until: Timestamp::MAX,
        };
        let outcome = overlaid(&self.state.lock().file, &[overlay], None).1.pop();
        match outcome {
            Some(Err(unfit)) if unfit.is_unknown_limit => format!("{none}: {}", unfit.why),
            _ => none,
        }
    }

    fn view(&self, name: &str) -> Option<View> {
        let state = self.state.lock();
        let index = state.held.iter().position(|held| held.name == name)?;
        Some(View::of(state.held.get(index)?, state.outcomes.get(index)?, Instant::now()))
    }
}

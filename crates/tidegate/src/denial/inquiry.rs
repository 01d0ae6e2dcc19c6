//! Asking whether a remembered refusal still holds: one does, the others wait for the answer.

use tidegate_store::StoreError;
use tokio::sync::watch;

use super::{Denials, Name};

/// What is known of an inquiry.
#[derive(Debug, Clone, Default)]
pub(crate) enum Outcome {
    /// Nothing yet. When nobody is left to tell more, the one who asked has gone away.
    #[default]
    Open,
    /// The store has answered: what it refused is remembered.
    Answered,
    /// It has not.
    Failed(StoreError),
}

impl Outcome {
    /// Returns what a store's answer means to those who wait.
    pub(crate) fn of<T>(answer: &Result<T, StoreError>) -> Self {
        answer.as_ref().err().map_or(Self::Answered, |error| Self::Failed(error.clone()))
    }
}

/// What those hold who wait for an inquiry.
pub(crate) type Word = watch::Receiver<Outcome>;

/// The duty to ask the store, and to tell those who wait for the answer. One that is dropped leaves it to the next.
#[derive(Debug)]
pub(crate) struct Inquiry<'d> {
    denials: &'d Denials,
    name: Name,
    tell: watch::Sender<Outcome>,
}

impl<'d> Inquiry<'d> {
    pub(super) fn new(denials: &'d Denials, name: Name) -> (Self, Word) {
        let (tell, word) = watch::channel(Outcome::Open);
        (Self { denials, name, tell }, word)
    }

    /// Tells what came of it. What the store refuses anew is remembered before.
    pub(crate) fn end(self, outcome: Outcome) {
        self.tell.send_replace(outcome);
    }
}

impl Drop for Inquiry<'_> {
    fn drop(&mut self) {
        let answered = matches!(*self.tell.borrow(), Outcome::Answered);
        self.denials.end(self.name, &self.tell.subscribe(), answered);
    }
}

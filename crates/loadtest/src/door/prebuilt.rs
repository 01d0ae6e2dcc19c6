//! What is sent, made before anything is measured: for every user and the flood; for a key that comes once, as it comes.

use crate::people::Who;

/// Users up to this many have theirs kept.
const KEPT: u32 = 100_000;

/// Something that is sent on behalf of each.
#[derive(Debug)]
pub(super) struct Prebuilt<T> {
    users: Vec<T>,
    flood: T,
}

impl<T: Clone> Prebuilt<T> {
    /// Makes what users and the flood send.
    ///
    /// # Errors
    /// When `make` fails for any.
    pub(super) fn new(users: u32, make: impl Fn(Who) -> Result<T, String>) -> Result<Self, String> {
        let users = (0..users.min(KEPT)).map(|user| make(Who::User(user))).collect::<Result<_, _>>()?;
        Ok(Self { users, flood: make(Who::Flood)? })
    }

    /// Returns what somebody sends, if it has been made.
    pub(super) fn of(&self, who: Who) -> Option<T> {
        match who {
            Who::User(number) => self.users.get(usize::try_from(number).ok()?).cloned(),
            Who::Flood => Some(self.flood.clone()),
            Who::New(_) => None,
        }
    }
}

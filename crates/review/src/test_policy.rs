//! Policies for tests.

use tidegate_policy::{Policy, Reading, Surroundings};

/// Gives every file that a policy names the same secret.
struct Secrets;

impl Surroundings for Secrets {
    fn file(&self, _path: &str) -> Result<Vec<u8>, String> {
        Ok(b"the same on every instance of the tests\n".to_vec())
    }

    fn variable(&self, _name: &str) -> Option<String> {
        None
    }
}

/// Reads a policy that has to be sound.
pub(crate) fn policy(text: &str) -> Policy {
    let read = Reading::of(&Secrets).embedded().parse("policy.yaml", text);
    read.unwrap_or_else(|problems| panic!("{problems}"))
}

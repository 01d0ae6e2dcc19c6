//! What a policy file refers to beyond itself: other files, and variables of the environment.

/// Gives a policy what it refers to. This crate opens no file and reads no environment: its caller does, as far as it
/// wants to.
pub trait Surroundings {
    /// Returns the bytes of a file, by its path as the policy writes it. A relative path is meant from the folder of the
    /// policy file.
    ///
    /// # Errors
    /// When it cannot be read: why, as the end of a sentence that begins with the path.
    fn file(&self, path: &str) -> Result<Vec<u8>, String>;

    /// Returns the value of a variable of the environment, if it is set.
    fn variable(&self, name: &str) -> Option<String>;
}

/// Surroundings without files and variables: a policy that refers to any is refused.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nowhere;

impl Surroundings for Nowhere {
    fn file(&self, _path: &str) -> Result<Vec<u8>, String> {
        Err("cannot be read here: the policy was given as text, without a folder".to_owned())
    }

    fn variable(&self, _name: &str) -> Option<String> {
        None
    }
}

//! A `rate-limit:` section as a Spring service has it.

use super::Imported;
use crate::problem::Problems;

/// Returns whether a text has a `rate-limit:` section and is no policy file.
pub fn is_rate_limit(text: &str) -> bool {
    let _ = text;
    false
}

/// Writes the `rate-limit:` section of a file as a policy file.
///
/// # Errors
/// With everything that is wrong in it, each with its place.
pub fn rate_limit(file_name: &str, text: &str) -> Result<Imported, Problems> {
    let _ = (file_name, text);
    Ok(Imported { text: String::new(), remarks: Vec::new() })
}

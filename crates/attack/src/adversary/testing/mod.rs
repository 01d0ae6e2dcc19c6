//! What tests of adversaries share: `trial` plays one quota on one key, `testbed` limits on several keys, and `staged` a world
//! of any shape.

pub(super) mod staged;
pub(super) mod testbed;
pub(super) mod trial;

use std::path::{Path, PathBuf};

use super::Exposed;

/// Returns where the review's page of a finding lies.
pub(super) fn page(id: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/review/{id}.md"))
}

/// Sees to it that what was exposed leads a reader to a page that is there.
pub(super) fn paged(exposed: Option<Exposed>) -> Option<Exposed> {
    if let Some(id) = exposed.as_ref().and_then(|exposed| exposed.finding) {
        assert!(page(id).is_file(), "{id} has no page: {exposed:?}");
    }
    exposed
}

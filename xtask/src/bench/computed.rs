//! What is computed, judged, written and read: nothing here measures, so the tests of this program try it without the feature.

pub(super) mod aims;
pub(super) mod claim;
pub(super) mod figures;
pub(super) mod message;
pub(super) mod notes;
pub(super) mod page;
pub(super) mod told;

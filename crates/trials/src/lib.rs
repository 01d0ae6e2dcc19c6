//! What trials of a limiter share, the attack bench and the load test: where they may go, and how their pages are drawn.
//!
//! Nothing here knows what is tried, or how.

pub mod html;
pub mod place;
pub mod plot;

pub use place::{Place, PlaceError};

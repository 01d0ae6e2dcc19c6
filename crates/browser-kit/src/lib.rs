//! A real browser for tests of pages: Chromium without a window, spoken to over a pipe by its own protocol for tools.
//!
//! `./test` installs it. A test that needs it fails where it is missing, since a page that no browser has shown is not tested.

#![allow(
    clippy::missing_panics_doc,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a browser that cannot be had ends the test"
)]

mod browser;
mod page;

pub use browser::Browser;
pub use page::{Page, Scheme};

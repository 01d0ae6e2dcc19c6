//! What the demo is made of: its policy, the example service behind it, and the text that says what to try.

pub(crate) mod guide;
pub(crate) mod setup;
pub(crate) mod upstream;

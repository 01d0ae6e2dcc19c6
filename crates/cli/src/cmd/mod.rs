//! The commands, one a file.

pub(crate) mod check;
pub(crate) mod demo;
pub(crate) mod generate;
pub(crate) mod serve;

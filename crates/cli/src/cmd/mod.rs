//! The commands, one a file.

pub(crate) mod attack;
pub(crate) mod bound;
pub(crate) mod cases;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod generate;
pub(crate) mod import;
pub(crate) mod loadtest;
pub(crate) mod overrides;
pub(crate) mod serve;
pub(crate) mod store;
pub(crate) mod test;
pub(crate) mod threat_model;
pub(crate) mod why;
pub(crate) mod words;

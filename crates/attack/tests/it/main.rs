//! The attack bench held against the closed forms, and against itself.

mod attained;
mod cases;
mod deterministic;
mod never_above;
mod played;

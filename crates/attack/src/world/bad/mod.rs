//! What stores elsewhere are known to do wrong, kept to show what it costs. No store of ours does any of it.

mod evicting;
mod own_clocks;
mod racy;

pub(super) use evicting::Evicting;
pub(super) use own_clocks::OwnClocks;
pub(super) use racy::{Racy, Write};

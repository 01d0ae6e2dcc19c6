//! The attack bench: what limits admit against adversaries.
//!
//! An [`Adversary`](adversary::Adversary) makes seats for [`Actor`](act::Actor)s who say what they do next and see what
//! became of it. [`simulate`](simulate::simulate) plays them in virtual time against a [`World`](world::World), which is the
//! real limiter over the real memory store, and [`measure`] counts over every instant at which something was admitted. What
//! was seen stands beside what the closed forms allow for the keys that were touched: more is a fault of ours.

pub mod act;
pub mod adversary;
pub mod bench;
pub mod cases;
pub mod compare;
pub mod live;
pub mod measure;
pub mod people;
pub mod report;
pub mod scenario;
pub mod simulate;
pub mod stage;
pub mod target;
pub mod world;

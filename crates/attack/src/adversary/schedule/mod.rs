//! When to ask, and as whom: what adversaries make their seats of.
//!
//! | file | what it is | who plays it |
//! |---|---|---|
//! | `instants` | boundaries of windows, and how far off one aims | straddlers, bursts |
//! | `mirror` | the state of one key, asked whenever something is free | straddlers, refill |
//! | `taking` | all that a key gives from idle, locks included | straddlers, refill |
//! | `books` | what was used of every limit on every key | rotation, holding |
//! | `rotation` | another coordinate as soon as limits hold the last | addresses, sessions, spray |
//! | `holding` | a key that is kept full | lockout, shared keys |
//! | `evenly` | one request every so often | greedy, lockout |
//! | `volleys` | bursts at instants that are known beforehand | processes, regions, restarts, races |

pub(super) mod books;
pub(super) mod evenly;
pub(super) mod holding;
pub(super) mod instants;
pub(super) mod mirror;
pub(super) mod rotation;
pub(super) mod taking;
pub(super) mod volleys;

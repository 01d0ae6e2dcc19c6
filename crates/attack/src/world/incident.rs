//! What happens to stores and processes while an attack goes on.

use tidegate_algorithms::Timestamp;

/// Something that happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Incident {
    /// When.
    pub at: Timestamp,
    /// What.
    pub what: What,
}

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// The stores stop answering.
    StoreLost,
    /// They answer again, and hold what they held.
    StoreBack,
    /// Every process starts anew, as when it is deployed.
    Restart,
}

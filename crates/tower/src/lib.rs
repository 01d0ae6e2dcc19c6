//! Tidegate as a tower layer.
//!
//! [`LimitLayer`] checks every request by a limiter's policy before the service it wraps sees it. A request that may
//! pass gets its fields and, on a leaky bucket, its slot; one that may not is answered here. The gateway mounts the
//! same layer before a forwarding service.
//!
//! The peer's address comes from a [`PeerAddr`] extension of the request; whoever accepts connections puts it there.

mod answer;
mod body;
mod fields;
mod hold;
mod layer;

pub use answer::problem_response;
pub use body::{AnswerBody, ReplayedBody};
pub use fields::answer_fields;
pub use layer::{LimitLayer, LimitService, PeerAddr, ResolvedClient};

//! Requests that a rule of a policy applies to.

//! Where limiter state lives: the store trait, its conformance kit and the memory store.

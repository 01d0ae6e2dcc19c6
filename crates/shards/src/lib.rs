//! Sharded locks taken in one order, small enough to be model-checked.

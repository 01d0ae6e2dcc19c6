//! What stands in Redis: how much memory a key takes, and what becomes of values that are not ours.

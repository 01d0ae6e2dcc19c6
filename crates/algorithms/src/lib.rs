//! Rate-limit algorithms in exact integer arithmetic: pure functions of quota, state, cost and time.

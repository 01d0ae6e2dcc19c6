//! Measures against plain counting.

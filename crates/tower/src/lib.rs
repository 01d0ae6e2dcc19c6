//! Tidegate as a tower layer.

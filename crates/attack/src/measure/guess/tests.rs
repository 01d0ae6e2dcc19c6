//! What blind guesses come to.

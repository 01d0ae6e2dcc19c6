//! A rate limiter whose limits mean what they say: the library.

//! The policy file: reading, checking, matching requests and taking keys from them.

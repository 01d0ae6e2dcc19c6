//! Placeholder of the next commit.

fn main() {}

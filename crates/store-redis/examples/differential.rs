//! Holds the script against the naive store for as many decisions as one likes, on a Redis of its own.
//!
//! `cargo run --release -p tidegate-store-redis --example differential -- --cases 5000000 --seed 7`

use std::io::Write as _;
use std::process::ExitCode;

use tidegate_redis_kit::Server;
use tidegate_store_redis::testing::{Scripted, differential};

const USAGE: &str = "usage: differential [--cases N] [--seed S]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((cases, seed)) = read(&arguments) else { return tell(USAGE, ExitCode::FAILURE) };
    let server = Server::start(&[]);
    match differential(&Scripted::new(server.connection(), "tg", &[]), seed, cases) {
        Ok(tally) => tell(&format!("seed {seed}: no difference\n{tally:#?}"), ExitCode::SUCCESS),
        Err(fault) => tell(&fault, ExitCode::FAILURE),
    }
}

/// Reads how many decisions are to be made, and the seed.
fn read(arguments: &[String]) -> Option<(u64, u64)> {
    let (mut cases, mut seed) = (1_000_000, 1);
    for pair in arguments.chunks(2) {
        match pair {
            [name, number] if name == "--cases" => cases = number.parse().ok()?,
            [name, number] if name == "--seed" => seed = number.parse().ok()?,
            _ => return None,
        }
    }
    Some((cases, seed))
}

fn tell(what: &str, code: ExitCode) -> ExitCode {
    // A closed stderr leaves the exit code, which says the same.
    let _ = writeln!(std::io::stderr(), "{what}");
    code
}

//! House tasks: what neither a linter nor the compiler can state (`cargo xtask tidy`), and what is measured
//! (`cargo xtask bench`, `cargo xtask instructions`) or run for longer than a test (`cargo xtask differential`).

mod bench;
mod differential;
mod instructions;
mod tidy;

use std::io::{self, Write};
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask tidy | cargo xtask instructions | cargo xtask bench [--quick] [PART…] | cargo xtask differential [--cases N] \
     [--seed S]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => report(tidy::run()),
        ["bench", ref arguments @ ..] => match bench::run(arguments) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => fail(&format!("bench: {error:#}")),
        },
        ["differential", ref arguments @ ..] => match differential::run(arguments) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => fail("differential: see above"),
            Err(error) => fail(&format!("differential: {error:#}")),
        },
        ["instructions"] => match instructions::run() {
            Ok((table, within)) => {
                let _ = io::stdout().write_all(table.as_bytes());
                if within {
                    ExitCode::SUCCESS
                } else {
                    fail("instructions: a way takes more than its budget")
                }
            }
            Err(error) => fail(&format!("instructions: {error:#}")),
        },
        _ => fail(USAGE),
    }
}

/// Prints every finding at once, so that one run shows all there is to mend.
fn report(outcome: anyhow::Result<Vec<tidy::Finding>>) -> ExitCode {
    match outcome {
        Ok(findings) if findings.is_empty() => ExitCode::SUCCESS,
        Ok(findings) => {
            let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
            fail(&format!("{}\ntidy: {} to mend", lines.join("\n"), findings.len()))
        }
        Err(error) => fail(&format!("tidy: {error:#}")),
    }
}

fn fail(message: &str) -> ExitCode {
    // A closed stderr leaves the exit code, which says the same.
    let _ = writeln!(io::stderr(), "{message}");
    ExitCode::FAILURE
}

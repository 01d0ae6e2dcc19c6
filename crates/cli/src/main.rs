//! The `tidegate` command.
//!
//! [`args`] says what can be asked; each command is a file in [`cmd`], and says by an [`exit::Exit`] or an
//! [`exit::Failure`] how it went. What several commands need stands beside them: reading a policy file (`input`),
//! writing to standard output (`output`), logging, and running an application until it is told to stop (`lifetime`).

mod admin;
mod args;
mod cmd;
mod demo;
mod descriptors;
mod exit;
mod input;
mod key_words;
mod lifetime;
mod logging;
mod output;
mod report;
mod table;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};

fn main() -> ExitCode {
    let done = match Args::parse().command {
        Command::Serve(args) => cmd::serve::run(&args),
        Command::Explain(args) => cmd::explain::run(&args),
        Command::ThreatModel(args) => cmd::threat_model::run(&args),
        Command::Attack(args) => cmd::attack::run(&args),
        Command::Compare(args) => cmd::compare::run(&args),
        Command::Loadtest(args) => cmd::loadtest::run(&args),
        Command::Cases(args) => cmd::cases::run(&args),
        Command::Bound(args) => cmd::bound::run(&args),
        Command::Check(args) => cmd::check::run(&args),
        Command::Test(args) => cmd::test::run(&args),
        Command::Why(args) => cmd::why::run(&args),
        Command::Demo(args) => cmd::demo::run(&args),
        Command::Diff(args) => cmd::diff::run(&args),
        Command::Words(args) => cmd::words::run(&args),
        Command::Import(args) => cmd::import::run(&args),
        Command::Override(args) => cmd::overrides::run(&args),
        Command::Doctor(args) => cmd::doctor::run(&args),
        Command::Store(args) => cmd::store::run(&args.command),
        Command::Schema => cmd::generate::schema(),
        Command::Completions { shell } => cmd::generate::completions(shell),
        Command::Man { command } => cmd::generate::man(command.as_deref()),
    };
    exit::code(done)
}

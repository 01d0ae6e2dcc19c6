//! How logs are written, of every command that runs on.

use clap::ValueEnum;

/// How logs are written, to standard error.
#[derive(Debug, clap::Args)]
pub(crate) struct LogArgs {
    /// How logs are written, to standard error.
    #[arg(long, value_name = "STYLE", default_value = "human")]
    pub(crate) log: LogStyle,
    /// The least that is logged; goes before the variable `RUST_LOG`.
    #[arg(long, value_name = "LEVEL")]
    pub(crate) log_level: Option<Level>,
}

/// How logs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogStyle {
    /// Lines for people, in colour on a terminal.
    Human,
    /// One JSON object a line.
    Json,
}

/// The least that is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl Level {
    /// Returns the level's name, as filters write it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

//! What is made from definitions: shell completions and manual pages from the arguments', a schema from the policy's.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Args;
use crate::exit::{Exit, Failure};
use crate::output::Output;

/// Writes a shell's completions.
///
/// # Errors
/// When they cannot be written.
pub(crate) fn completions(shell: Shell) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "tidegate", &mut script);
    write(&script)
}

/// Writes the manual page, of the whole or of one command.
///
/// # Errors
/// When there is no such command, or the page cannot be written.
pub(crate) fn man(command: Option<&str>) -> Result<Exit, Failure> {
    let mut whole = Args::command();
    // Building gives each command its full name, `tidegate serve`.
    whole.build();
    let page_of = match command {
        None => whole,
        Some(name) => match whole.find_subcommand(name) {
            Some(command) => command.clone(),
            None => {
                return Err(Failure::failed(format!("there is no command {name}; see `tidegate --help`")));
            }
        },
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(page_of)
        .render(&mut page)
        .map_err(|error| Failure::failed(format!("cannot make the page: {error}")))?;
    write(&page)
}

/// Writes the JSON Schema of policy files.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn schema() -> Result<Exit, Failure> {
    // Indented, since people read it as well. A value of strings and numbers always has a form as text.
    let text = format!("{:#}\n", tidegate_policy::schema());
    write(text.as_bytes())
}

fn write(bytes: &[u8]) -> Result<Exit, Failure> {
    let mut out = Output::stdout();
    out.write(bytes);
    out.finish()?;
    Ok(Exit::Fine)
}

//! `tidegate words`: the sentences that a policy's numbers call for, shown or written into it.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use tidegate::files::Files;
use tidegate_policy::{Left, Problem, Reading, RewriteError, Rewritten, rewrite};

use crate::args::WordsArgs;
use crate::exit::{Exit, Failure};
use crate::input::Source;
use crate::output::{Output, to_stderr};

/// Shows what would be written, or writes it.
///
/// # Errors
/// When the file cannot be read or written, or something else is wrong with it.
pub(crate) fn run(args: &WordsArgs) -> Result<Exit, Failure> {
    let (bytes, files) = match &args.policy {
        Source::Stdin => {
            let mut bytes = Vec::new();
            (io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes), Files::of(Path::new("")))
        }
        Source::File(path) => (fs::read(path), Files::beside(path)),
    };
    let name = args.policy.name();
    let unreadable = |why: &dyn std::fmt::Display| Failure::unusable(format!("{name} cannot be read: {why}"));
    let text =
        String::from_utf8(bytes.map_err(|error| unreadable(&error))?).map_err(|error| unreadable(&error))?;
    let mut out = Output::stdout();
    let rewritten = match rewrite(Reading::of(&files).embedded(), &name, &text, &args.numbers_win) {
        Ok(rewritten) => rewritten,
        Err(RewriteError::Problems(problems)) => {
            out.line(&problems.to_string());
            out.finish()?;
            return Ok(Exit::Problems);
        }
        Err(error) => return Err(Failure::unusable(error)),
    };
    match (&args.policy, args.write) {
        (Source::Stdin, true) => {
            out.write(rewritten.text.as_bytes());
            left(&rewritten, &name).for_each(|line| to_stderr(&line));
        }
        (Source::File(path), true) => {
            if rewritten.text != text {
                replace(path, &rewritten.text)
                    .map_err(|error| Failure::failed(format!("{name} cannot be written: {error}")))?;
            }
            show(&rewritten, ("written: ", &name), &mut out);
        }
        (_, false) => show(&rewritten, ("", &name), &mut out),
    }
    out.finish()?;
    let all_written = args.write || rewritten.written.is_empty();
    Ok(if all_written && rewritten.left.is_empty() { Exit::Fine } else { Exit::Problems })
}

fn show(rewritten: &Rewritten, (before, file): (&str, &str), out: &mut Output) {
    if rewritten.written.is_empty() && rewritten.left.is_empty() {
        out.line("every limit has its sentence");
    }
    for one in &rewritten.written {
        out.line(&format!("{before}{}: {}", one.limit, one.says));
        if let Some(old) = &one.before {
            out.line(&format!("  in place of: {old}"));
        }
    }
    left(rewritten, file).for_each(|line| out.line(&line));
}

/// Returns what to say of the sentences that were left alone.
fn left<'a>(rewritten: &'a Rewritten, file: &'a str) -> impl Iterator<Item = String> + 'a {
    rewritten.left.iter().map(move |Left { limit, problem }| {
        let Problem { place, message, remedy } = problem;
        format!(
            "{file}:{place}: {limit} is left as it is: {message}; {remedy}, or run with --numbers-win {limit}"
        )
    })
}

/// Puts a text in a file's place at once: whoever reads it meanwhile has the old file or the new one, whole.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    // A link stays a link.
    let path = fs::canonicalize(path)?;
    let permissions = fs::metadata(&path)?.permissions();
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let beside = path.with_file_name(name);
    let written = fs::File::create_new(&beside).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.set_permissions(permissions)?;
        file.sync_all()
    });
    let moved = written.and_then(|()| fs::rename(&beside, &path));
    if moved.is_err() {
        // What could not take the place must not be left lying about; that it cannot be removed changes nothing.
        let _ = fs::remove_file(&beside);
    }
    moved
}

//! `tidegate compare`: the same attacks on several limits.

mod show;

use tidegate_attack::bench::Options;
use tidegate_attack::compare::{Comparison, compare};
use tidegate_attack::report::comparison_page;
use tidegate_policy::parse_quota;
use tidegate_review::Guess;

use super::attack::{Progress, write};
use crate::args::CompareArgs;
use crate::exit::{Exit, Failure};
use crate::output::Output;

/// Compares limits and tells what each admits.
///
/// # Errors
/// When a limit or the code cannot be one, or the comparison cannot be written.
pub(crate) fn run(args: &CompareArgs) -> Result<Exit, Failure> {
    let read = |(index, text): (usize, &String)| {
        let name = format!("LIMIT {}", index.saturating_add(1));
        parse_quota(&name, text).map(|(quota, _)| quota).map_err(Failure::unusable)
    };
    let quotas = args.limits.iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
    let guess = Guess::new(10, args.digits, args.valid).map_err(|error| {
        Failure::unusable(error).advise("write --digits and --valid such as --digits 6 --valid 3")
    })?;
    let options = Options { seed: args.seed, ..Options::default() };
    let progress = Progress::new();
    let comparison = compare(&quotas, args.span, &guess, &options, &|plays| progress.played(plays));
    progress.finish();
    let comparison = comparison.map_err(Failure::failed)?;
    tell(&comparison, args)?;
    Ok(if comparison.is_exceeded() { Exit::Disproved } else { Exit::Fine })
}

fn tell(comparison: &Comparison, args: &CompareArgs) -> Result<(), Failure> {
    let mut out = Output::stdout();
    if args.json {
        out.json(comparison)?;
    } else {
        show::comparison(comparison, &mut out);
    }
    // First: what was found must not be lost with a page that cannot be written.
    let told = out.finish();
    let kept = args.html.as_deref().map_or(Ok(()), |path| write(path, &comparison_page(comparison)));
    told.and(kept)
}

//! `tidegate cases`: published figures, computed anew.

mod show;

use tidegate_attack::cases::{Case, Computed, cases, named, run as compute};

use crate::args::CasesArgs;
use crate::exit::{Exit, Failure};
use crate::output::Output;

/// Computes cases and tells what became of what was published.
///
/// # Errors
/// When there is no case of an id, one cannot be computed, or the figures cannot be written.
pub(crate) fn run(args: &CasesArgs) -> Result<Exit, Failure> {
    let chosen = chosen(&args.ids)?;
    let mut out = Output::stdout();
    let mut computed = Vec::with_capacity(chosen.len());
    for case in chosen {
        let case = compute(case).map_err(Failure::failed)?;
        if !args.json {
            show::case(&case, &mut out);
        }
        computed.push(case);
    }
    if args.json {
        out.json(&computed)?;
    } else {
        show::sum(&computed, &mut out);
    }
    out.finish()?;
    let all_come_out = computed.iter().all(Computed::comes_out);
    Ok(if all_come_out { Exit::Fine } else { Exit::Disproved })
}

/// Returns the cases of some ids, each once; all without any.
fn chosen(ids: &[String]) -> Result<Vec<&'static Case>, Failure> {
    if ids.is_empty() {
        return Ok(cases().collect());
    }
    let mut chosen: Vec<&'static Case> = Vec::new();
    for id in ids {
        let case = named(id).ok_or_else(|| {
            let all: Vec<&str> = cases().map(|case| case.id).collect();
            Failure::unusable(format!("there is no case {id:?}"))
                .advise(format!("write one of {}", all.join(", ")))
        })?;
        if chosen.iter().all(|other| other.id != case.id) {
            chosen.push(case);
        }
    }
    Ok(chosen)
}

//! A rate that rises until the target keeps up no longer, and where between the last two it still does.

use std::time::Duration;

use super::streams::Traffic;
use super::{Run, RunError};
use crate::plan::Plan;
use crate::report::{Capacity, Held, Limited, Phase};
use crate::target::Target;

/// About how many steps there are: what the duration is shared out among.
pub(super) const STEPS: u32 = 16;
/// The most steps up, which reach any rate that one machine can offer, and down.
const MOST_UP: u32 = 20;
const MOST_DOWN: u32 = 8;
/// How often the interval in which the capacity lies is halved, by ratio: four times leave it within five percent.
const BISECTED: u32 = 4;
/// A step shorter than this shows chance: however short the duration, none is.
const SHORTEST: Duration = Duration::from_millis(500);

/// Returns the rate that a ramp begins with.
pub(super) fn first(plan: &Plan) -> f64 {
    plan.rate.unwrap_or(match plan.target {
        Target::Memory(..) => 100_000.0,
        _ => 1_000.0,
    })
}

/// What a step showed.
enum Shown {
    Held,
    Failed(Limited),
    /// Nothing, since it was cut short.
    Nothing,
}

/// Climbs, and returns every step with the capacity that they show.
pub(super) fn climb(run: &mut Run<'_>) -> Result<(Vec<Phase>, Option<Capacity>), RunError> {
    let mut steps: Vec<Phase> = Vec::new();
    let mut held: Option<Held> = None;
    let mut failed: Option<(f64, Limited)> = None;
    let (mut rate, mut up, mut down) = (first(run.plan), 0, 0);
    while !run.is_stopped() && up < MOST_UP && down < MOST_DOWN {
        match step(run, rate, &mut steps)? {
            Shown::Nothing => break,
            Shown::Held => {
                held = of(rate, &steps);
                if failed.is_some() {
                    break;
                }
                up += 1;
                rate *= 2.0;
            }
            Shown::Failed(why) => {
                failed = Some((rate, why));
                if held.is_some() {
                    break;
                }
                down += 1;
                rate /= 2.0;
            }
        }
    }
    for _ in 0..BISECTED {
        let (Some(Held { rate: low, .. }), Some((high, _))) = (held, failed) else { break };
        if run.is_stopped() {
            break;
        }
        let middle = (low * high).sqrt();
        match step(run, middle, &mut steps)? {
            Shown::Nothing => break,
            Shown::Held => held = of(middle, &steps),
            Shown::Failed(why) => failed = Some((middle, why)),
        }
    }
    let capacity = Capacity::of(held, failed.map(|(_, why)| why));
    Ok((steps, capacity))
}

/// Returns the last of the steps as one that held.
fn of(rate: f64, steps: &[Phase]) -> Option<Held> {
    let step = steps.len().checked_sub(1)?;
    let decided = steps.get(step)?.classes.others.rate.min(rate);
    Some(Held { rate, decided, step })
}

/// Takes a step, and once more where it fails: one hiccup of a machine is no limit of the target. Puts what was seen behind the
/// others.
fn step(run: &mut Run<'_>, rate: f64, steps: &mut Vec<Phase>) -> Result<Shown, RunError> {
    let length = (run.plan.duration / STEPS).max(SHORTEST);
    let mut shown = Shown::Nothing;
    for again in ["", " again"] {
        let phase = run.phase(&format!("{rate:.0}/s{again}"), Traffic::users(Some(rate)), length)?;
        shown = match phase.limited(run.plan) {
            _ if run.is_stopped() => Shown::Nothing,
            None => Shown::Held,
            Some(why) => Shown::Failed(why),
        };
        steps.push(phase);
        if !matches!(shown, Shown::Failed(_)) {
            break;
        }
    }
    Ok(shown)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use crate::plan::{Shape, sample};
    use crate::run::{Control, Told, run};

    /// Guards against a capacity that nobody has seen: in the instant before a test is ended few requests have come, and none of
    /// them is late.
    #[test]
    fn a_step_that_was_cut_short_is_told_and_shows_no_capacity() {
        let stop = Arc::new(AtomicBool::new(false));
        let first = format!("{:.0}/s", super::first(&sample(Shape::Ramp)));
        let told = |told: &Told<'_>| {
            stop.fetch_or(!told.phase.starts_with(&first), Ordering::Relaxed);
        };
        let report = run(&sample(Shape::Ramp), Control { told: &told, stop: &stop }).unwrap();
        let cut = report.phases.last().unwrap();
        assert!(report.interrupted && cut.name != first, "{cut:?}");
        // Of the first step it may be known that it holds, or that it does not.
        let capacity = report.capacity.unwrap();
        assert!(capacity.rate <= super::first(&sample(Shape::Ramp)), "{capacity:?}");
        assert!(report.counts().unwrap().name.starts_with(&first));
    }
}

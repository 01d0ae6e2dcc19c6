//! A rate that rises until the target keeps up no longer, and where between the last two it still does.

use std::time::Duration;

use super::streams::Traffic;
use super::{Run, RunError};
use crate::plan::Plan;
use crate::report::{Capacity, Limited, Phase};
use crate::target::Target;

/// About how many steps there are: what the duration is shared out among.
pub(super) const STEPS: u32 = 14;
/// The most steps up, which reach any rate that one machine can offer, and down.
const MOST_UP: u32 = 20;
const MOST_DOWN: u32 = 8;
/// How often the interval in which the capacity lies is halved, by ratio: four times leave it within five percent.
const BISECTED: u32 = 4;
/// A step shorter than this shows chance.
const SHORTEST: Duration = Duration::from_millis(500);

/// Returns the rate that a ramp begins with.
pub(super) fn first(plan: &Plan) -> f64 {
    plan.rate.unwrap_or(match plan.target {
        Target::Memory(..) => 100_000.0,
        _ => 1_000.0,
    })
}

/// Climbs, and returns every step with the capacity that they show.
pub(super) fn climb(run: &mut Run<'_>) -> Result<(Vec<Phase>, Option<Capacity>), RunError> {
    let mut steps: Vec<Phase> = Vec::new();
    let step = |run: &mut Run<'_>, rate: f64, steps: &mut Vec<Phase>| -> Result<Option<Limited>, RunError> {
        let length = (run.plan.duration / STEPS).max(SHORTEST);
        let phase = run.phase(&format!("{rate:.0}/s"), Traffic::users(Some(rate)), length)?;
        let limited = phase.limited(run.plan);
        steps.push(phase);
        Ok(limited)
    };
    let mut held: Option<f64> = None;
    let mut failed: Option<(f64, Limited)> = None;
    let (mut rate, mut up, mut down) = (first(run.plan), 0, 0);
    while !run.is_stopped() && up < MOST_UP && down < MOST_DOWN {
        match step(run, rate, &mut steps)? {
            None => {
                held = Some(rate);
                if failed.is_some() {
                    break;
                }
                up += 1;
                rate *= 2.0;
            }
            Some(why) => {
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
        let (Some(low), Some((high, _))) = (held, failed) else { break };
        if run.is_stopped() {
            break;
        }
        let middle = (low * high).sqrt();
        match step(run, middle, &mut steps)? {
            None => held = Some(middle),
            Some(why) => failed = Some((middle, why)),
        }
    }
    // A step that was cut short shows nothing.
    let capacity = Capacity::of(held, failed.map(|(_, why)| why));
    Ok((steps, capacity))
}

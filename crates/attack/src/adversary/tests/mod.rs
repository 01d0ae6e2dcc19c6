//! Adversaries against policies that are wrong in one thing: each mistake is shown, by the adversary whose it is.

mod around_keys;
mod denials;
mod run_wrong;

use std::fs;
use std::sync::Arc;

use tidegate_policy::Policy;

use super::testing::{page, paged};
use super::{Adversary, Aim, Beside, Exposed, Play};
use crate::measure::Measured;
use crate::stage::Stage;

/// Reads an example of a page of the review: the first is bad, the second good.
fn example(id: &str, index: usize) -> Arc<Policy> {
    parse(&text(id, index))
}

fn text(id: &str, index: usize) -> String {
    let page = fs::read_to_string(page(id)).unwrap();
    page.split("```yaml\n").nth(index + 1).unwrap().split("```").next().unwrap().to_owned()
}

fn parse(text: &str) -> Arc<Policy> {
    Arc::new(tidegate_policy::parse("page.yaml", text).unwrap())
}

/// Plays an adversary, if he fits, sees to it that nothing exceeds its bound, and returns what he exposes beside what one
/// client alone came to.
fn exposed(
    adversary: &dyn Adversary,
    aim: &Aim,
    stage: &Stage,
    (play, alone): (&Play, &Measured),
) -> Option<Exposed> {
    if !adversary.fits(aim) {
        return None;
    }
    let attack = stage.play(adversary, aim, play).unwrap();
    assert!(!attack.is_exceeded(), "{}: {:?}", adversary.name(), attack.peaks);
    paged(adversary.exposes(aim, &Beside { alone, attack: &attack, play }))
}

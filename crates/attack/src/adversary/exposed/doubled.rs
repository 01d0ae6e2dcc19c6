//! What straddlers show: more in a window's length than the limit is said to let through.

use tidegate_review::spoken_count;

use super::super::Aim;
use super::{Beside, Exposed};

/// Returns that more passed in a window of the limit in focus than its number says, at a sign-in; elsewhere it is what
/// such a limit does.
pub(crate) fn doubled(aim: &Aim, beside: &Beside<'_>, finding: &'static str, why: &str) -> Option<Exposed> {
    let guard = aim.guard().filter(|_| aim.is_sign_in())?;
    let window = guard.quota.window();
    let seen = beside.attack.peak(window)?.seen;
    let (passed, meant) = (spoken_count(seen.into()), spoken_count(aim.burst().into()));
    let says = format!("{passed} passed in a span of {window} where {} means {meant}: {why}", guard.name);
    (seen > aim.burst().into()).then_some(Exposed { finding: Some(finding), says })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tidegate_algorithms::{Anchor, Span};
    use tidegate_policy::Class;

    use super::super::super::Adversary;
    use super::super::super::boundary::Boundary;
    use super::super::super::testing::trial::{counter, fixed, play};
    use super::super::super::weighted::Weighted;
    use super::*;
    use crate::stage::Stage;
    use crate::target::Bare;

    fn shown(adversary: &dyn Adversary, class: Class, quota: tidegate_algorithms::Quota) -> Option<Exposed> {
        let aim = Aim { class, ..Aim::at(quota) };
        let play = play(Span::from_secs(9), Span::from_secs(120));
        let stage = Stage::new(Arc::new(Bare::of(quota)), 1, None);
        let attack = stage.play(adversary, &aim, &play).unwrap();
        adversary.exposes(&aim, &Beside { alone: &attack, attack: &attack, play: &play })
    }

    /// The sentence carries what was seen, and nothing is shown where twice a limit in a moment is no mistake.
    #[test]
    fn twice_a_limit_is_a_mistake_at_a_sign_in() {
        let exposed = shown(&Boundary, Class::Verify, fixed(Anchor::Clock)).unwrap();
        assert_eq!(exposed.finding, Some("aligned-window-on-sign-in"));
        assert!(
            exposed.says.starts_with("10 passed in a span of 30s where limit means 5: "),
            "{}",
            exposed.says
        );
        assert_eq!(shown(&Boundary, Class::Api, fixed(Anchor::Clock)), None);
        let exposed = shown(&Weighted, Class::Login, counter()).unwrap();
        assert_eq!(exposed.finding, Some("sliding-counter-doubles"));
        assert!(exposed.says.starts_with("10 passed"), "{}", exposed.says);
    }
}

//! Cases: published policies, incidents and articles whose figures can be computed, and what comes out of them here.
//!
//! A case is a policy and an attacker, a public page and the numbers on it. What was published is data; what is ours is
//! computed each time, by simulating the real limiter where somebody attacks a limit, by closed forms where only chance or
//! rates decide. Some of what was published is wrong, and is known to be: there it must not come out.

mod codes;
mod figure;
mod incidents;
mod lockout;
mod outages;
mod played;
mod policies;
mod races;
mod seed;
mod services;
mod tables;
mod volumes;
mod windows;

use std::error::Error;
use std::fmt;

use serde::Serialize;

pub use figure::{Figure, How, Sense, Told, Unit};

/// What figures are computed by.
type Figures = Result<Vec<Figure>, Box<dyn Error + Send + Sync>>;

/// A published case.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// What it is called by: `rubygems-2019`.
    pub id: &'static str,
    /// The policy and the attacker, in a sentence.
    pub what: &'static str,
    /// Where the figures were published.
    pub source: &'static str,
    /// What was published, in short.
    pub published: &'static str,
    /// What of it could not be confirmed, where something could not.
    pub unconfirmed: Option<&'static str>,
    /// What the figures come to, in a sentence.
    pub says: &'static str,
    figures: fn() -> Figures,
}

/// A case, computed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Computed {
    /// What the case is called by.
    pub id: &'static str,
    /// The policy and the attacker, in a sentence.
    pub what: &'static str,
    /// Where the figures were published.
    pub source: &'static str,
    /// What was published, in short.
    pub published: &'static str,
    /// Whether all of it was seen in the source.
    pub confirmed: bool,
    /// What of it could not be confirmed.
    pub unconfirmed: Option<&'static str>,
    /// The figures.
    pub figures: Vec<Figure>,
    /// What the figures come to, in a sentence.
    pub says: &'static str,
    /// What becomes of what was published.
    pub verdict: Verdict,
}

/// What becomes of what was published.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It comes out.
    Agrees,
    /// Some of it is known to be wrong, at the worst by so many times, and does not come out.
    OffBy(f64),
    /// The source tells no figure of its own; what comes out is known from elsewhere.
    Uncompared,
    /// Something does not come out that should: a fault of ours.
    DoesNotComeOut,
}

/// A case that could not be computed: a fault of ours.
#[derive(Debug)]
pub struct CaseError {
    id: &'static str,
    cause: Box<dyn Error + Send + Sync>,
}

impl fmt::Display for CaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the case {} cannot be computed: {}", self.id, self.cause)
    }
}

impl Error for CaseError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.cause)
    }
}

/// Returns every case, in the order of reports.
pub fn cases() -> impl Iterator<Item = &'static Case> {
    let groups: [&'static [Case]; 11] = [
        &seed::CASES,
        &incidents::CASES,
        &policies::CASES,
        &services::CASES,
        &codes::CASES,
        &windows::CASES,
        &lockout::CASES,
        &races::CASES,
        &tables::CASES,
        &outages::CASES,
        &volumes::CASES,
    ];
    groups.into_iter().flatten()
}

/// Returns the case of that id.
pub fn named(id: &str) -> Option<&'static Case> {
    cases().find(|case| case.id == id)
}

/// Computes a case. The same figures come out each time: what chance decides has a fixed seed.
///
/// # Errors
/// When a limit of it cannot be built.
pub fn run(case: &Case) -> Result<Computed, CaseError> {
    let figures = (case.figures)().map_err(|cause| CaseError { id: case.id, cause })?;
    Ok(Computed {
        id: case.id,
        what: case.what,
        source: case.source,
        published: case.published,
        confirmed: case.unconfirmed.is_none(),
        unconfirmed: case.unconfirmed,
        verdict: Verdict::of(&figures),
        figures,
        says: case.says,
    })
}

impl Computed {
    /// Returns whether every figure comes out as it should.
    pub fn comes_out(&self) -> bool {
        self.figures.iter().all(Figure::comes_out)
    }
}

impl Verdict {
    fn of(figures: &[Figure]) -> Self {
        if !figures.iter().all(Figure::comes_out) {
            return Self::DoesNotComeOut;
        }
        let wrong = figures.iter().filter(|figure| figure.published_is_wrong);
        let most = wrong
            .filter_map(Figure::off_by)
            .fold(None, |most: Option<f64>, off| Some(most.map_or(off, |most| most.max(off))));
        match most {
            Some(most) => Self::OffBy(most),
            None if figures.iter().any(|figure| figure.published.is_some()) => Self::Agrees,
            None => Self::Uncompared,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards against a verdict that hides a fault of ours behind a mistake of somebody else's, or a mistake behind what is
    /// right beside it.
    #[test]
    fn a_verdict_is_that_of_the_worst_figure() {
        let figure = |ours| Figure::computed("days", Unit::Days, ours);
        let (right, alone) = (figure(3.0).published(3.0, 0), figure(3.0).known(3.0, 0));
        let wrong = figure(3.0).published(30.0, 0).wrongly();
        let missed = figure(3.0).known(4.0, 0);
        assert_eq!(Verdict::of(&[right.clone(), alone.clone()]), Verdict::Agrees);
        assert_eq!(Verdict::of(&[alone]), Verdict::Uncompared);
        assert_eq!(Verdict::of(&[right.clone(), wrong.clone()]), Verdict::OffBy(10.0));
        assert_eq!(Verdict::of(&[right, wrong, missed]), Verdict::DoesNotComeOut);
    }
}

//! One figure of a case: what is computed here, beside what was told.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

/// What a figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// So many of something.
    Count,
    /// A share of a hundred.
    Percent,
    /// Seconds.
    Seconds,
    /// Minutes.
    Minutes,
    /// Hours.
    Hours,
    /// Days.
    Days,
    /// Months, of which twelve are 365 days.
    Months,
    /// Years of 365 days.
    Years,
    /// So many a second.
    PerSecond,
    /// So many a minute.
    PerMinute,
    /// So many in thirty seconds.
    PerThirtySeconds,
    /// So many times as much.
    Times,
}

/// Where a figure of ours comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// It was counted in a simulation of the real limiter.
    Simulated,
    /// It was computed from bounds and chances.
    ClosedForm,
}

/// How a number was meant that somebody told.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sense {
    /// It is right in all digits that were told.
    Digits,
    /// It is right within so much.
    About(f64),
    /// The figure is at least so much.
    AtLeast,
    /// The figure is at most so much.
    AtMost,
}

/// A number that somebody told.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Told {
    /// The number.
    pub value: f64,
    /// How many digits after the point it was told with.
    pub digits: u8,
    /// How it was meant.
    pub sense: Sense,
}

impl Told {
    /// Returns whether a figure is as was told.
    pub fn agrees(&self, figure: f64) -> bool {
        let off = (figure - self.value).abs();
        // What is told to the digit is a decimal number, which a binary one misses by a hair.
        let hair = 1e-9 * self.value.abs();
        match self.sense {
            Sense::Digits => off <= 0.5 * 10_f64.powi(-i32::from(self.digits)) + hair,
            Sense::About(within) => off <= within + hair,
            Sense::AtLeast => figure >= self.value - hair,
            Sense::AtMost => figure <= self.value + hair,
        }
    }
}

/// One figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// What it is of.
    pub name: &'static str,
    /// What it counts.
    pub unit: Unit,
    /// What comes out here.
    pub ours: f64,
    /// Where that comes from.
    pub how: How,
    /// What was published.
    pub published: Option<Told>,
    /// Whether what was published is known not to be so.
    pub published_is_wrong: bool,
    /// What came out where the same was computed before, by other programs than these.
    pub known: Option<Told>,
}

impl Figure {
    /// Takes a figure that was computed from bounds and chances.
    pub(super) fn computed(name: &'static str, unit: Unit, ours: f64) -> Self {
        let how = How::ClosedForm;
        Self { name, unit, ours, how, published: None, published_is_wrong: false, known: None }
    }

    /// Takes a figure that was counted in a simulation.
    pub(super) fn simulated(name: &'static str, unit: Unit, ours: f64) -> Self {
        Self { how: How::Simulated, ..Self::computed(name, unit, ours) }
    }

    /// Published is a number with so many digits after the point.
    pub(super) fn published(self, value: f64, digits: u8) -> Self {
        self.told(value, digits, Sense::Digits)
    }

    /// Published is a number in round figures, right within so much.
    pub(super) fn published_about(self, value: f64, within: f64) -> Self {
        self.told(value, 0, Sense::About(within))
    }

    /// Published is that it is at least so much.
    pub(super) fn published_at_least(self, value: f64) -> Self {
        self.told(value, 0, Sense::AtLeast)
    }

    /// Published is that it is at most so much.
    pub(super) fn published_at_most(self, value: f64) -> Self {
        self.told(value, 0, Sense::AtMost)
    }

    fn told(self, value: f64, digits: u8, sense: Sense) -> Self {
        Self { published: Some(Told { value, digits, sense }), ..self }
    }

    /// What was published is known not to be so.
    pub(super) fn wrongly(self) -> Self {
        Self { published_is_wrong: true, ..self }
    }

    /// Known is a number with so many digits after the point.
    pub(super) fn known(self, value: f64, digits: u8) -> Self {
        Self { known: Some(Told { value, digits, sense: Sense::Digits }), ..self }
    }

    /// Known is a number within so much: of simulations that chance makes differ, or of a sum that leaves something out.
    pub(super) fn known_about(self, value: f64, digits: u8, within: f64) -> Self {
        Self { known: Some(Told { value, digits, sense: Sense::About(within) }), ..self }
    }

    /// Returns whether what was published comes out; `None` where nothing was.
    pub fn agrees(&self) -> Option<bool> {
        self.published.map(|told| told.agrees(self.ours))
    }

    /// Returns whether it comes out as it should: what was published and is right, and what is known, agree with it; what is
    /// wrong does not.
    pub fn comes_out(&self) -> bool {
        let as_published = self.agrees().is_none_or(|agrees| agrees != self.published_is_wrong);
        as_published && self.known.is_none_or(|told| told.agrees(self.ours))
    }

    /// Returns by how many times what was published is too much or too little; `None` where nothing was, or either is nothing.
    pub fn off_by(&self) -> Option<f64> {
        let told = self.published?.value;
        let (less, more) = if told < self.ours { (told, self.ours) } else { (self.ours, told) };
        (less > 0.0).then(|| more / less)
    }
}

impl Serialize for Figure {
    /// Writes the fields, and what follows from them.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut figure = serializer.serialize_struct("Figure", 9)?;
        figure.serialize_field("name", self.name)?;
        figure.serialize_field("unit", &self.unit)?;
        figure.serialize_field("ours", &self.ours)?;
        figure.serialize_field("how", &self.how)?;
        figure.serialize_field("published", &self.published)?;
        figure.serialize_field("published_is_wrong", &self.published_is_wrong)?;
        figure.serialize_field("agrees", &self.agrees())?;
        figure.serialize_field("known", &self.known)?;
        figure.serialize_field("comes_out", &self.comes_out())?;
        figure.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(ours: f64) -> Figure {
        Figure::computed("days", Unit::Days, ours)
    }

    /// Guards against a comparison that rounds away what differs, or finds a difference in the last bit.
    #[test]
    fn a_number_is_held_to_its_own_digits() {
        assert_eq!(figure(80.24).published(80.2, 1).agrees(), Some(true));
        assert_eq!(figure(80.26).published(80.2, 1).agrees(), Some(false));
        assert_eq!(figure(0.15).published(0.1, 1).agrees(), Some(true), "half a digit is within");
        assert_eq!(figure(5_000.4).published(5_000.0, 0).agrees(), Some(true));
        assert_eq!(figure(6.3).published_about(7.0, 0.8).agrees(), Some(true));
        assert_eq!(figure(16.66).published_at_least(16.0).agrees(), Some(true));
        assert_eq!(figure(6.1).published_at_most(6.0).agrees(), Some(false));
        assert_eq!(figure(1.0).agrees(), None);
    }

    /// Guards against a wrong figure that comes out after all and is called wrong, and a known one that nobody holds to.
    #[test]
    fn what_is_wrong_must_not_come_out_and_what_is_known_must() {
        assert!(figure(5.7).published(5_000.0, 0).wrongly().known(5.7, 1).comes_out());
        assert!(!figure(5_000.0).published(5_000.0, 0).wrongly().comes_out());
        assert!(!figure(5.7).published(5.7, 1).known(5.8, 1).comes_out());
        assert!(!figure(5.7).published(5.8, 1).comes_out());
        let off = figure(5.0).published(5_000.0, 0).off_by().unwrap();
        assert!((off - 1_000.0).abs() < 1e-9);
        assert_eq!(figure(0.0).published(1.0, 0).off_by(), None);
    }
}

//! The arguments of `tidegate bound`.

use tidegate::Span;
use tidegate_policy::parse_span;

/// Compute what one limit admits at worst, and how long a blind guess takes under it.
///
/// Told are the most that any span admits, half-open [t, t + s) and closed [t, t + s], over every history and every
/// instant; the most of an attack that begins idle; the long run; how many requests keep a key refused for a day; and when
/// somebody succeeds who tries codes at random as fast as the limit lets him. Counts are exact. A year has 365 days.
///
/// Exits with 0; with 2 when the limit cannot be read.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  tidegate bound 'token_bucket: {capacity: 4, refill: 1 per 10s}' --span 30s --horizon 10m --digits 6 --valid 3
  tidegate bound 'sliding_log: {limit: 5, window: 30s}' --target-year 1%

docs/bound.md, beside the source, says what each figure means.")]
pub(crate) struct BoundArgs {
    /// The limit, as a policy file writes it: its algorithm and numbers.
    #[arg(value_name = "LIMIT")]
    pub(crate) limit: String,
    /// The span whose worst case is told. [default: the limit's window; of a bucket, the time it takes to fill]
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub(crate) span: Option<Span>,
    /// How long the attack lasts that begins idle.
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "1d")]
    pub(crate) horizon: Span,
    /// How many digits the guessed code has.
    #[arg(long, value_name = "COUNT", default_value_t = 6)]
    pub(crate) digits: u32,
    /// How many codes are valid at once; three are when a code of the clock is taken one step early and late.
    #[arg(long, value_name = "COUNT", default_value_t = 3)]
    pub(crate) valid: u32,
    /// Tell the other way round: how many tries a day keep the chance within a year at most at this, and which limit does.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) target_year: Option<f64>,
    /// Write one JSON object instead of lines.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The longest span that is told of, a hundred years.
const LONGEST: Span = Span::from_secs(36_500 * 86_400);

/// Reads a time as policy files write it.
pub(super) fn span(text: &str) -> Result<Span, String> {
    let span = parse_span(text)?;
    if span == Span::ZERO || span > LONGEST {
        return Err(format!("it is out of range; write a time from 1ms to {LONGEST}"));
    }
    Ok(span)
}

/// Reads a percentage between 0 and 100, and returns it as a chance.
fn percent(text: &str) -> Result<f64, &'static str> {
    let number = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let chance = number.map(|number| number / 100.0).filter(|chance| *chance > 0.0 && *chance < 1.0);
    chance.ok_or("write a percentage above 0% and below 100%, such as 1% or 0.1%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_has_its_sign_and_is_neither_nothing_nor_all() {
        assert_eq!(percent("1%"), Ok(0.01));
        assert_eq!(percent("0.1 %"), Ok(0.001));
        assert!(["1", "0%", "100%", "-1%", "nan%", "%", "one%"].iter().all(|text| percent(text).is_err()));
    }

    #[test]
    fn a_time_is_neither_nothing_nor_longer_than_a_hundred_years() {
        assert_eq!(span("30s"), Ok(Span::from_secs(30)));
        assert!(["0s", "36501d", "30", "99999999999999999999d"].iter().all(|text| span(text).is_err()));
    }
}

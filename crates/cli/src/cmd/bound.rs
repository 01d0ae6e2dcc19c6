//! `tidegate bound`: what one limit admits, and how long a blind guess takes under it.

mod show;
mod target;

use tidegate::{Quota, Span};
use tidegate_policy::parse_quota;
use tidegate_review::{Allowance, DAY, Guess, GuessTimes};

use crate::args::BoundArgs;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use target::Target;

/// The name of the argument in messages.
const LIMIT: &str = "LIMIT";

/// Computes the figures of one limit and writes them.
///
/// # Errors
/// When the limit or the code cannot be one, or the figures cannot be written.
pub(crate) fn run(args: &BoundArgs) -> Result<Exit, Failure> {
    let (quota, _) = parse_quota(LIMIT, &args.limit).map_err(Failure::unusable)?;
    let guess = Guess::new(10, args.digits, args.valid).map_err(|error| {
        Failure::unusable(error).advise("write --digits and --valid such as --digits 6 --valid 3")
    })?;
    let figures = Figures::of(&quota, args, &guess);
    let target = args.target_year.map(|chance| Target::of(&quota, &guess, chance));
    let mut out = Output::stdout();
    if args.json {
        let text = show::json(&figures, target.as_ref());
        out.line(&text.map_err(|error| Failure::failed(format!("cannot write the figures: {error}")))?);
    } else {
        for line in show::lines(&figures, target.as_ref()) {
            out.line(&line);
        }
    }
    out.finish()?;
    Ok(Exit::Fine)
}

/// What is told of a limit.
struct Figures {
    quota: Quota,
    span: Span,
    horizon: Span,
    half_open: u128,
    closed: u128,
    from_idle: u128,
    /// What is sent on at most in the span, where that differs from what is let in.
    started: Option<u128>,
    requests_to_deny: Option<u64>,
    guess: Guess,
    times: GuessTimes,
}

impl Figures {
    fn of(quota: &Quota, args: &BoundArgs, guess: &Guess) -> Self {
        let span = args.span.unwrap_or_else(|| quota.window());
        // Half-open, as check and the threat model say it.
        let any_day = Span::from_micros(DAY.as_micros().saturating_sub(1));
        let started = matches!(quota, Quota::LeakyBucket(_)).then(|| quota.most_started_in_closed(span));
        Self {
            quota: *quota,
            span,
            horizon: args.horizon,
            half_open: quota.most_in_half_open(span),
            closed: quota.most_in_closed(span),
            from_idle: quota.most_from_idle(args.horizon),
            started,
            requests_to_deny: quota.requests_to_deny(any_day),
            guess: *guess,
            times: GuessTimes::of(guess, Allowance::of(std::slice::from_ref(quota))),
        }
    }

    /// Returns the long-run rate in units a second as a reduced fraction.
    fn per_second(&self) -> (u128, u128) {
        let rate = self.quota.long_run();
        reduced(u128::from(rate.units).saturating_mul(1_000_000), rate.micros.into())
    }
}

/// Reduces a fraction.
fn reduced(numerator: u128, denominator: u128) -> (u128, u128) {
    let (mut divisor, mut rest) = (numerator, denominator);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    let divisor = divisor.max(1);
    (numerator / divisor, denominator / divisor)
}

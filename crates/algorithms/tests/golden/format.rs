//! The golden tables: expected decisions as plain text, for every writing of `decide` to be held against.
//!
//! A file is a list of cases; `#` begins a comment. Every case starts with no state and at time zero:
//!
//! ```text
//! case B-25: a partial token shortens the wait
//! quota token_bucket capacity=4 refill=1/1s    # again within a case: the numbers change, the state stays
//! origin 1700000000s                           # what times count from, or a date; zero unless said
//! at 0s cost 4 as x -> admit remaining=0 reset=4s
//! at 0.2s cost 1 -> refuse retry=0.8s next=0.8s
//! at 0.2s cost 5 -> refuse never
//! at 0.2s peek 1 -> refuse retry=0.8s          # takes nothing, re-dates nothing
//! at 1s cost 1 within 0s -> admit delay=0s     # the caller can hold a request no longer
//! at 2s refund x
//! at 2s keep -> 4s                             # from then on the state is as good as none
//! bound closed 30s -> 7                        # also: half_open, idle, started, careful (never locked), deny
//! ```
//!
//! What an expectation leaves out is not compared.

use tidegate_algorithms::{Anchor, Answer, Calendar, Decision, Quota, Rate, Retry, Span};

/// The steps of one case.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) title: String,
    pub(crate) steps: Vec<(usize, Step)>,
}

/// One line of a case.
#[derive(Debug)]
pub(crate) enum Step {
    Quota(Quota),
    /// An ask at an instant, in microseconds since the epoch.
    Ask {
        at: u64,
        cost: u32,
        within: Option<Span>,
        name: Option<String>,
        peek: bool,
        expect: Expect,
    },
    Refund {
        at: u64,
        name: String,
    },
    Keep {
        at: u64,
        until: u64,
    },
    Bound {
        kind: Bound,
        span: Span,
        most: u128,
    },
}

/// A closed form.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Bound {
    Closed,
    HalfOpen,
    Idle,
    Started,
    Careful,
    Deny,
}

/// What is expected of a decision.
#[derive(Debug, Default)]
pub(crate) struct Expect {
    pub(crate) admit: bool,
    pub(crate) never: bool,
    pub(crate) retry: Option<Span>,
    pub(crate) delay: Option<Span>,
    pub(crate) remaining: Option<u32>,
    pub(crate) next: Option<Span>,
    pub(crate) reset: Option<Span>,
}

impl Expect {
    /// Holds a decision against it.
    pub(crate) fn hold(&self, place: &str, decision: &Decision) {
        match decision.answer {
            Answer::Admit { delay } => {
                assert!(self.admit, "{place} is admitted");
                assert_eq!(self.delay.unwrap_or_default(), delay, "{place} is delayed");
            }
            Answer::Refuse(retry) => {
                assert!(!self.admit, "{place} is refused: {retry:?}");
                assert_eq!(self.never, retry == Retry::Never, "{place} may come again, or never: {retry:?}");
                assert!(self.never || self.retry.is_some(), "{place} expects no retry");
                assert_eq!(self.retry, retry.wait(), "{place} may come again");
            }
        }
        assert!(self.remaining.is_none_or(|units| units == decision.remaining), "{place}: {decision:?}");
        assert!(self.next.is_none_or(|span| span == decision.next_unit), "{place}: {decision:?}");
        assert!(self.reset.is_none_or(|span| span == decision.reset_after), "{place}: {decision:?}");
    }
}

/// Reads a file; panics with the line's number where it cannot.
pub(crate) fn read(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut origin = 0;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [] => {}
            ["case", ..] => {
                origin = 0;
                cases.push(Case { title: line.trim_start_matches("case ").to_owned(), steps: Vec::new() });
            }
            ["origin", time] => {
                let from = date(time).or_else(|| micros(time));
                origin = from.unwrap_or_else(|| panic!("line {number}: {line}"));
            }
            words => {
                let step = step(words, origin).unwrap_or_else(|| panic!("line {number}: {line}"));
                let case = cases.last_mut().unwrap_or_else(|| panic!("line {number} stands before any case"));
                case.steps.push((number, step));
            }
        }
    }
    cases
}

fn step(words: &[&str], origin: u64) -> Option<Step> {
    let at = |time: &str| origin.checked_add(micros(time)?);
    match words {
        ["quota", rest @ ..] => Some(Step::Quota(quota(rest)?)),
        ["at", time, "refund", name] => Some(Step::Refund { at: at(time)?, name: (*name).to_owned() }),
        ["at", time, "keep", "->", until] => Some(Step::Keep { at: at(time)?, until: at(until)? }),
        ["bound", kind, span, "->", most] => {
            let kind = match *kind {
                "closed" => Bound::Closed,
                "half_open" => Bound::HalfOpen,
                "idle" => Bound::Idle,
                "started" => Bound::Started,
                "careful" => Bound::Careful,
                "deny" => Bound::Deny,
                _ => return None,
            };
            Some(Step::Bound { kind, span: duration(span)?, most: most.parse().ok()? })
        }
        ["at", time, kind @ ("cost" | "peek"), cost, rest @ ..] => {
            let arrow = rest.iter().position(|word| *word == "->")?;
            let (mut within, mut name) = (None, None);
            for option in rest[..arrow].chunks(2) {
                match option {
                    ["within", span] => within = Some(duration(span)?),
                    ["as", given] => name = Some((*given).to_owned()),
                    _ => return None,
                }
            }
            let expect = expect(&rest[arrow + 1..])?;
            Some(Step::Ask {
                at: at(time)?,
                cost: cost.parse().ok()?,
                within,
                name,
                peek: *kind == "peek",
                expect,
            })
        }
        _ => None,
    }
}

fn expect(words: &[&str]) -> Option<Expect> {
    let (verdict, rest) = words.split_first()?;
    let mut expect = Expect { admit: *verdict == "admit", ..Expect::default() };
    if !expect.admit && *verdict != "refuse" {
        return None;
    }
    for word in rest {
        match word.split_once('=') {
            None if *word == "never" => expect.never = true,
            Some(("retry", span)) => expect.retry = Some(duration(span)?),
            Some(("delay", span)) => expect.delay = Some(duration(span)?),
            Some(("remaining", units)) => expect.remaining = Some(units.parse().ok()?),
            Some(("next", span)) => expect.next = Some(duration(span)?),
            Some(("reset", span)) => expect.reset = Some(duration(span)?),
            _ => return None,
        }
    }
    Some(expect)
}

fn quota(words: &[&str]) -> Option<Quota> {
    let (algorithm, fields) = words.split_first()?;
    let field = |name: &str| {
        fields
            .iter()
            .find_map(|field| field.split_once('=').filter(|(key, _)| *key == name))
            .map(|(_, value)| value)
    };
    let units = |name: &str| field(name)?.parse::<u64>().ok();
    let window = || duration(field("window")?);
    let rate = |name: &str| {
        let (units, period) = field(name)?.split_once('/')?;
        Rate::new(units.parse().ok()?, duration(period)?).ok()
    };
    let quota = match *algorithm {
        "fixed_window" => {
            let limit = units("limit")?;
            match field("anchor")? {
                "clock" => Quota::fixed_window(limit, window()?, Anchor::Clock),
                "first_hit" => Quota::fixed_window(limit, window()?, Anchor::FirstHit),
                "day" => Quota::calendar_window(limit, Calendar::Day),
                "week" => Quota::calendar_window(limit, Calendar::Week),
                "month" => Quota::calendar_window(limit, Calendar::Month),
                _ => return None,
            }
        }
        "sliding_log" => Quota::sliding_log(units("limit")?, window()?),
        "sliding_counter" => Quota::sliding_counter(units("limit")?, window()?),
        "token_bucket" => Quota::token_bucket(units("capacity")?, rate("refill")?),
        "lockout" => {
            Quota::lockout(units("attempts")?, duration(field("within")?)?, duration(field("lock")?)?)
        }
        "leaky_bucket" => Quota::leaky_bucket(rate("rate")?, units("queue")?),
        _ => return None,
    };
    quota.ok()
}

fn duration(text: &str) -> Option<Span> {
    if text == "never" { Some(Span::MAX) } else { micros(text).map(Span::from_micros) }
}

/// Reads a date such as `2026-01-31`, midnight, UTC; counts the years and months before it.
fn date(text: &str) -> Option<u64> {
    let mut numbers = text.split('-').map(str::parse::<u64>);
    let (year, month, day) = (numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?);
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let years: u64 = (1970..year).map(|year| 365 + u64::from(leap(year))).sum();
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let months: u64 = lengths.iter().take(usize::try_from(month.checked_sub(1)?).ok()?).sum();
    Some((years + months + day.checked_sub(1)?) * 86_400_000_000)
}

/// Reads sums and differences such as `2m`, `0.3s`, `10s-1us`.
fn micros(text: &str) -> Option<u64> {
    if let Some((early, late)) = text.rsplit_once(['+', '-']) {
        let minus = text.as_bytes().get(early.len()) == Some(&b'-');
        let (early, late) = (micros(early)?, micros(late)?);
        return if minus { early.checked_sub(late) } else { early.checked_add(late) };
    }
    let unit = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(unit);
    let unit: u64 = match unit {
        "us" => 1,
        "ms" => 1_000,
        "s" => 1_000_000,
        "m" => 60_000_000,
        "h" => 3_600_000_000,
        "d" => 86_400_000_000,
        _ => return None,
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let mut micros = whole.parse::<u64>().ok()?.checked_mul(unit)?;
    let mut place = unit;
    for digit in part.chars() {
        place = place.is_multiple_of(10).then_some(place / 10)?;
        micros = micros.checked_add(u64::from(digit.to_digit(10)?) * place)?;
    }
    Some(micros)
}

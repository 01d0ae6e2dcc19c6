//! What a number was meant to be that is written as other tools write it: `10k`, `1.5h`, `10r/s`, `64kb`.
//!
//! None of it is read: a file has one way to write a number, and these are what its author is told to write.

use tidegate_algorithms::Span;

/// Words that stand for no limit at all elsewhere.
const UNLIMITED: [&str; 7] = ["unlimited", "infinite", "infinity", ".inf", "none", "off", "-1"];

/// Words of other products, and the words of the language that they may stand for: the first that is a choice is meant.
const WORDS: [(&[&str], &[&str]); 11] = [
    (&["fail_open", "open", "ignore", "pass", "skip", "continue"], &["allow", "skip"]),
    (&["fail_closed", "closed", "block", "reject", "fail", "error"], &["deny", "refuse"]),
    (&["deny", "400"], &["refuse"]),
    (&["allow"], &["skip", "keep"]),
    (&["anonymous", "together", "global"], &["shared"]),
    (&["log_only", "log", "dry", "dry_run", "report", "report_only", "monitor", "audit", "off"], &["shadow"]),
    (&["on", "true", "enabled", "active", "block"], &["enforce"]),
    (&["midnight", "utc", "calendar_day"], &["calendar"]),
    (&["none", "no", "hidden"], &["nothing"]),
    (&["lower", "downcase", "casefold"], &["lowercase"]),
    (&["sha256", "sha-256", "digest"], &["hash"]),
];

/// Returns the choice that a word stands for.
pub(super) fn word<'a>(
    given: &str,
    choices: &(impl Iterator<Item = &'a str> + Clone),
) -> Option<&'static str> {
    let given = given.to_ascii_lowercase();
    let meant =
        WORDS.iter().filter(|(words, _)| words.contains(&given.as_str())).flat_map(|(_, meant)| *meant);
    meant.copied().find(|word| choices.clone().any(|choice| choice == *word))
}

/// Returns whether a text says that there is no limit.
pub(super) fn is_unlimited(text: &str) -> bool {
    UNLIMITED.contains(&text.to_ascii_lowercase().as_str())
}

/// Returns the whole number that a text stands for: `1_000`, `10,000`, `10k`, `1e6`, `10.0`, `+10`, `10 requests`.
pub(super) fn number(text: &str) -> Option<u128> {
    if let Some(hexadecimal) = text.strip_prefix("0x") {
        return u128::from_str_radix(hexadecimal, 16).ok();
    }
    let text = text.strip_prefix('+').unwrap_or(text);
    let (mantissa, rest) = split_number(text)?;
    let (numerator, denominator) = decimal(mantissa)?;
    let factor = match rest.trim() {
        "k" | "K" => 1_000,
        "M" | "mio" => 1_000_000,
        "G" | "B" => 1_000_000_000,
        other => match other.strip_prefix(['e', 'E']).map(str::parse::<u32>) {
            Some(Ok(exponent)) => 10_u128.checked_pow(exponent)?,
            _ if rest.is_empty() || rest.starts_with([' ', '/', 'r']) => 1,
            _ => return None,
        },
    };
    let product = numerator.checked_mul(factor)?;
    (product.checked_rem(denominator)? == 0).then(|| product.checked_div(denominator))?
}

/// Returns the span that a text stands for: `1.5h`, `1h30m`, `2 weeks`, `PT1M`, `24H`.
pub(super) fn span(text: &str) -> Option<Span> {
    let lower = text.to_ascii_lowercase();
    let mut rest = lower.strip_prefix("pt").unwrap_or(&lower).trim();
    let mut total = 0_u128;
    while !rest.is_empty() {
        let (amount, after) = split_number(rest)?;
        let end = after.find(|letter: char| letter.is_ascii_digit()).unwrap_or(after.len());
        let (word, after) = after.split_at_checked(end)?;
        let (numerator, denominator) = decimal(amount)?;
        let micros = numerator.checked_mul(u128::from(micros(word.trim())?))?;
        total = total.checked_add(exactly(micros, denominator)?)?;
        rest = after.trim();
    }
    whole_millis(total)
}

/// Returns the rate that a text stands for, as files write it: `10r/s`, `10 a minute`, `0.1 per 1s`, `10s per 1`.
pub(super) fn rate(text: &str) -> Option<String> {
    const BETWEEN: [&str; 6] = [" per ", " every ", " each ", " an ", " a ", "/"];
    let lower = text.to_ascii_lowercase();
    let split = BETWEEN.iter().find_map(|between| lower.split_once(between));
    let Some((count, period)) = split else {
        let (numerator, denominator) = decimal(&lower)?;
        return per(numerator, denominator, Span::from_secs(1));
    };
    let (count, period) = (count.trim(), period.trim());
    if let (Some(turned), Some((numerator, denominator))) = (span(count), decimal(period)) {
        return per(numerator, denominator, turned);
    }
    let one = micros(period).map(Span::from_micros);
    let (amount, rest) = split_number(count)?;
    let (numerator, denominator) = decimal(amount)?;
    let counted = matches!(rest.trim(), "" | "r" | "req" | "reqs" | "request" | "requests");
    per(numerator, denominator, one.or_else(|| span(period))?).filter(|_| counted)
}

/// Returns the size that a text stands for: `64kb`, `32 KiB`, `256M`.
pub(super) fn size(text: &str) -> Option<String> {
    let (amount, rest) = split_number(text)?;
    let amount: u64 = amount.parse().ok()?;
    let unit = match rest.trim().to_ascii_lowercase().as_str() {
        "b" | "bytes" => "",
        "k" | "kb" | "kib" => "KiB",
        "m" | "mb" | "mib" => "MiB",
        "g" | "gb" | "gib" => "GiB",
        _ => return None,
    };
    Some(format!("{amount}{unit}"))
}

/// Writes a fraction of units per a period as the same rate in whole numbers.
fn per(numerator: u128, denominator: u128, period: Span) -> Option<String> {
    let divisor = common_divisor(numerator, denominator);
    let (count, parts) = (numerator.checked_div(divisor)?, denominator.checked_div(divisor)?);
    let micros = u128::from(period.as_micros()).checked_mul(parts)?;
    let period = whole_millis(micros).filter(|_| count > 0)?;
    Some(format!("{count} per {period}"))
}

fn common_divisor(mut a: u128, mut b: u128) -> u128 {
    while let Some(rest) = a.checked_rem(b) {
        (a, b) = (b, rest);
    }
    a.max(1)
}

/// Splits a text behind the number at its beginning, which may have marks between its digits.
fn split_number(text: &str) -> Option<(&str, &str)> {
    let part = |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | '_' | ',' | '\'');
    let mut end = text.find(|letter| !part(letter)).unwrap_or(text.len());
    // A space between digits is a mark as well.
    while let Some(after) = text.get(end..).and_then(|rest| rest.strip_prefix(' ')) {
        let more = after.find(|letter| !part(letter)).unwrap_or(after.len());
        if more == 0 {
            break;
        }
        end = end.checked_add(more)?.checked_add(1)?;
    }
    let (number, rest) = text.split_at_checked(end)?;
    number.starts_with(|letter: char| letter.is_ascii_digit()).then_some((number, rest))
}

/// Reads a decimal number as a fraction; marks between its digits are left out.
fn decimal(text: &str) -> Option<(u128, u128)> {
    let plain: String = text.chars().filter(|letter| !matches!(letter, '_' | ',' | '\'' | ' ')).collect();
    let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    let denominator = 10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    Some((format!("{whole}{fraction}").parse().ok()?, denominator))
}

fn exactly(numerator: u128, denominator: u128) -> Option<u128> {
    (numerator.checked_rem(denominator)? == 0).then(|| numerator.checked_div(denominator))?
}

fn whole_millis(micros: u128) -> Option<Span> {
    let micros = u64::try_from(micros).ok()?;
    (micros > 0 && micros.is_multiple_of(1_000)).then(|| Span::from_micros(micros))
}

/// Returns how long the unit is that a word stands for.
fn micros(word: &str) -> Option<u64> {
    Some(match word {
        "us" | "µs" | "micros" | "microseconds" => 1,
        "ms" | "msec" | "millis" | "milliseconds" | "millisecond" => 1_000,
        "s" | "sec" | "secs" | "second" | "seconds" => 1_000_000,
        "m" | "min" | "mins" | "minute" | "minutes" => 60_000_000,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3_600_000_000,
        "d" | "day" | "days" => 86_400_000_000,
        "w" | "wk" | "week" | "weeks" => 604_800_000_000,
        "mo" | "month" | "months" => 2_592_000_000_000,
        "y" | "yr" | "year" | "years" => 31_536_000_000_000,
        _ => return None,
    })
}

//! Scalars as what a place wants: text, names, numbers, spans, rates, sizes, addresses, choices.

use tidegate_algorithms::Span;

use super::{Entry, Node, Report, Value, meant, nearest};

/// What a whole number looks like.
const EXAMPLE: &str = "write digits only, such as 100";

/// What YAML 1.1 readers take for true and false.
const OLD_BOOLEANS: [&str; 8] = ["y", "yes", "n", "no", "true", "false", "on", "off"];

impl Node {
    /// Reads a text. One that other YAML readers take for something else has to stand in quotes.
    pub(crate) fn text(&self, what: &str, report: &mut Report) -> Option<&str> {
        let Value::Scalar { text, plain } = &self.value else {
            report.add(
                self.place,
                format!("{what} has to be text, and this is {}", self.kind()),
                "write one text",
            );
            return None;
        };
        if *plain && is_trap(text) {
            if super::is_null(text) {
                report.add(self.place, format!("{what} is empty"), "write at least a word");
                return None;
            }
            let message =
                format!("{what} is {text} without quotes, which YAML readers take for something else");
            report.add(self.place, message, format!("write \"{text}\" in quotes, if that is meant"));
            return None;
        }
        if text.trim().is_empty() {
            report.add(self.place, format!("{what} is empty"), "write at least a word");
            return None;
        }
        Some(text)
    }

    /// Reads a name: letters, digits, hyphens, underscores and dots.
    pub(crate) fn name(&self, what: &str, report: &mut Report) -> Option<&str> {
        let text = self.text(what, report)?;
        is_name(text).then_some(text).or_else(|| {
            let message = format!("{what} \"{text}\" is not a name");
            report.add(self.place, message, name_remedy(text));
            None
        })
    }

    /// Reads one of a few words.
    pub(crate) fn choice<T: Copy>(&self, what: &str, words: &[(T, &str)], report: &mut Report) -> Option<T> {
        let names = || words.iter().map(|(_, word)| *word);
        let given = self.scalar().unwrap_or_default();
        if let Some((value, _)) = words.iter().find(|(_, word)| *word == given) {
            return Some(*value);
        }
        let message = match self.scalar() {
            Some(given) => format!("{what} \"{given}\" is not known"),
            None => format!("{what} has to be a word, and this is {}", self.kind()),
        };
        let remedy = match nearest(given, names()) {
            Some(word) => format!("did you mean \"{word}\"?"),
            None => match (meant::word(given, &names()), words) {
                (Some(word), _) => format!("did you mean \"{word}\"?"),
                (None, [(_, only)]) => format!("write {only}"),
                (None, _) => format!("it is one of {}", names().collect::<Vec<_>>().join(", ")),
            },
        };
        report.add(self.place, message, remedy);
        None
    }

    /// Reads true or false.
    pub(crate) fn boolean(&self, what: &str, report: &mut Report) -> Option<bool> {
        const WORDS: [(bool, &str); 2] = [(true, "true"), (false, "false")];
        const MEANT: [(&[&str], &str); 2] =
            [(&["yes", "on", "y", "1", "enabled"], "true"), (&["no", "off", "n", "0", "disabled"], "false")];
        let given = self.scalar().unwrap_or_default().to_ascii_lowercase();
        let Some((_, word)) = MEANT.iter().find(|(words, _)| words.contains(&given.as_str())) else {
            return self.choice(what, &WORDS, report);
        };
        report.add(self.place, format!("{what} \"{given}\" is not known"), format!("did you mean {word}?"));
        None
    }

    /// Reads a whole number without sign.
    pub(crate) fn integer(&self, what: &str, report: &mut Report) -> Option<u64> {
        self.digits(what, EXAMPLE, report)
    }

    /// Reads a whole number, such as the example says.
    fn digits(&self, what: &str, example: &str, report: &mut Report) -> Option<u64> {
        let given = self.scalar().unwrap_or_default();
        match integer(given) {
            Ok(number) => Some(number),
            Err(remedy) => {
                let message = match self.scalar() {
                    Some(given) => format!("{what} \"{given}\" is not a whole number"),
                    None => format!("{what} has to be a whole number, and this is {}", self.kind()),
                };
                report.add(self.place, message, remedy.unwrap_or_else(|| example.to_owned()));
                None
            }
        }
    }

    /// Reads a whole number within bounds.
    pub(crate) fn integer_in(
        &self,
        what: &str,
        range: std::ops::RangeInclusive<u64>,
        report: &mut Report,
    ) -> Option<u64> {
        let example = if range.contains(&100) {
            EXAMPLE.to_owned()
        } else {
            format!("write a whole number from {} to {}", range.start(), range.end())
        };
        let number = self.digits(what, &example, report)?;
        if range.contains(&number) {
            return Some(number);
        }
        let nearest = number.clamp(*range.start(), *range.end());
        report.add(
            self.place,
            format!("{what} {} is out of range", self.scalar().unwrap_or_default()),
            format!("the nearest possible is {nearest}"),
        );
        None
    }

    /// Reads a span such as `500ms`, `30s`, `10m`, `24h` or `7d`.
    pub(crate) fn span(&self, what: &str, report: &mut Report) -> Option<Span> {
        let given = self.scalar().unwrap_or_default();
        match span(given) {
            Ok(span) => Some(span),
            Err(remedy) => {
                report.add(self.place, self.misread(what, "a time"), remedy);
                None
            }
        }
    }

    /// Reads `n per T`; gives both numbers, unchecked.
    pub(crate) fn rate(&self, what: &str, report: &mut Report) -> Option<(u64, Span)> {
        let given = self.scalar().unwrap_or_default();
        match rate(given) {
            Ok(rate) => Some(rate),
            Err(remedy) => {
                report.add(self.place, self.misread(what, "a rate"), remedy);
                None
            }
        }
    }

    /// Reads a number of bytes, `65536`, `64KiB` or `1MiB`.
    pub(crate) fn size(&self, what: &str, report: &mut Report) -> Option<usize> {
        let given = self.scalar().unwrap_or_default();
        let digits = given.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
        let unit = match given.get(digits.len()..).unwrap_or_default() {
            "" => Some(1),
            "KiB" => Some(1 << 10),
            "MiB" => Some(1 << 20),
            "GiB" => Some(1 << 30),
            _ => None,
        };
        let count = integer(digits).ok().filter(|count| *count < u64::MAX);
        let bytes = unit.zip(count).and_then(|(unit, count)| count.checked_mul(unit));
        let size = bytes.filter(|bytes| *bytes > 0).and_then(|bytes| usize::try_from(bytes).ok());
        if size.is_none() {
            let meant = meant::size(given).map(|size| format!("did you mean {size}?"));
            let remedy = meant.unwrap_or_else(|| "write bytes, or `64KiB`, `1MiB`, `1GiB`".to_owned());
            report.add(self.place, self.misread(what, "a size"), remedy);
        }
        size
    }

    fn misread(&self, what: &str, wanted: &str) -> String {
        match self.scalar() {
            Some(given) => format!("{what} \"{given}\" is not {wanted}"),
            None => format!("{what} has to be {wanted}, and this is {}", self.kind()),
        }
    }
}

impl Entry {
    /// Reads the key of a mapping of values. One that other YAML readers take for something else has to stand in quotes.
    pub(crate) fn key_text(&self, what: &str, report: &mut Report) -> Option<&str> {
        if self.plain && is_trap(&self.key) {
            let meant = if self.key.eq_ignore_ascii_case("no") { "Norway" } else { "that" };
            let message = format!(
                "{what} {} stands without quotes, which YAML readers take for something else",
                self.key
            );
            report.add(self.place, message, format!("write \"{}\" in quotes, if {meant} is meant", self.key));
            return None;
        }
        Some(&self.key)
    }
}

/// Says how a name may be written, and how this one could.
pub(crate) fn name_remedy(text: &str) -> String {
    const LETTERS: &str = "use letters, digits, `-`, `_` and `.` only";
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let words: Vec<&str> = text.split(|letter| !plain(letter)).filter(|word| !word.is_empty()).collect();
    let name = words.join("-");
    let ascii = text.is_ascii() && is_name(&name);
    if ascii { format!("{LETTERS}, such as {name}") } else { LETTERS.to_owned() }
}

/// Returns whether a text can be a name.
pub(crate) fn is_name(text: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    text.len() <= 64 && !text.is_empty() && text.chars().all(plain)
}

/// Returns whether YAML readers may take a plain scalar for a boolean, a number or nothing.
fn is_trap(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    super::is_null(text) || OLD_BOOLEANS.contains(&lower.as_str()) || text.parse::<f64>().is_ok()
}

/// Reads digits; says what to write instead of anything else, if that can be told.
fn integer(text: &str) -> Result<u64, Option<String>> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        if meant::is_unlimited(text) {
            let remedy = "there is no word for unlimited: leave out what is not to be limited";
            return Err(Some(remedy.to_owned()));
        }
        return Err(meant::number(text).map(|number| format!("write {number}")));
    }
    if text.len() > 1 && text.starts_with('0') {
        let decimal = text.trim_start_matches('0');
        let decimal = if decimal.is_empty() { "0" } else { decimal };
        return Err(Some(format!("a leading zero means octal to some readers; write {decimal}")));
    }
    // What is larger than any number is out of every range.
    Ok(text.parse().unwrap_or(u64::MAX))
}

/// Reads a span; says what to write instead of anything else.
pub(crate) fn span(text: &str) -> Result<Span, String> {
    const EXAMPLES: &str = "write a whole number and a unit: 500ms, 30s, 10m, 24h, 7d";
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at_checked(end).unwrap_or((text, ""));
    if digits.is_empty() {
        let meant = meant::span(text).map(|span| format!("did you mean {span}?"));
        return Err(meant.unwrap_or_else(|| EXAMPLES.to_owned()));
    }
    let micros = match unit {
        "ms" => 1_000,
        "s" => 1_000_000,
        "m" => 60_000_000,
        "h" => 3_600_000_000,
        "d" => 86_400_000_000,
        "" => return Err(without_unit(digits)),
        _ => {
            let same = meant_unit(unit).map(|unit| format!("did you mean {digits}{unit}?"));
            let meant = same.or_else(|| meant::span(text).map(|span| format!("did you mean {span}?")));
            return Err(meant.unwrap_or_else(|| EXAMPLES.to_owned()));
        }
    };
    let count = integer(digits)
        .map_err(|remedy| remedy.map_or_else(|| EXAMPLES.to_owned(), |remedy| format!("{remedy}{unit}")))?;
    // What is longer than any span is out of every range.
    Ok(Span::from_micros(count.saturating_mul(micros)))
}

/// Says what a number without a unit was meant to be: seconds, or the milliseconds of whoever comes from JavaScript.
fn without_unit(digits: &str) -> String {
    match digits.strip_suffix("000") {
        Some(seconds) if !seconds.is_empty() => {
            format!("it has no unit; did you mean {seconds}s, or {digits}s?")
        }
        _ => format!("it has no unit; did you mean {digits}s?"),
    }
}

/// Returns the unit that a longer word stands for.
fn meant_unit(unit: &str) -> Option<&'static str> {
    Some(match unit.trim().to_ascii_lowercase().as_str() {
        "ms" | "msec" | "millis" | "milliseconds" | "millisecond" => "ms",
        "s" | "sec" | "secs" | "second" | "seconds" => "s",
        "m" | "min" | "mins" | "minute" | "minutes" => "m",
        "h" | "hr" | "hrs" | "hour" | "hours" => "h",
        "d" | "day" | "days" => "d",
        _ => return None,
    })
}

/// Reads `n per T`; says what to write instead of anything else.
fn rate(text: &str) -> Result<(u64, Span), String> {
    if let Some((Ok(count), Ok(period))) = text.split_once(" per ").map(|(n, t)| (integer(n), span(t))) {
        return Ok((count, period));
    }
    let meant = meant::rate(text).map(|rate| format!("did you mean {rate}?"));
    Err(meant.unwrap_or_else(|| "write a whole number, `per` and a time: 1 per 10s".to_owned()))
}

#[cfg(test)]
mod tests;

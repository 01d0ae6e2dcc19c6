//! How answers look: header styles and the body of a refusal.

use std::fmt::{self, Write as _};

/// A family of header fields that tell a client where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HeaderStyle {
    /// `RateLimit` and `RateLimit-Policy`, the current IETF draft.
    Ietf,
    /// `RateLimit-Limit`, `-Remaining` and `-Reset`, the early drafts' triple.
    Draft03,
    /// `X-RateLimit-Limit`, `-Remaining` and `-Reset`.
    XRateLimit(ResetUnit),
}

/// What an `X-RateLimit-Reset` counts in: producers differ, so a file has to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResetUnit {
    /// Seconds from now.
    Delta,
    /// Seconds since the Unix epoch.
    EpochSeconds,
    /// Milliseconds since the Unix epoch.
    EpochMilliseconds,
    /// Milliseconds since the Unix epoch, in a field `X-RateLimit-ResetOn` instead.
    ResetOn,
}

/// The body of a refusal.
#[derive(Debug, Clone, PartialEq)]
pub enum ProblemTemplate {
    /// `application/problem+json` (RFC 9457), with what the file changes.
    Problem {
        /// The `type` member, if not the built-in one.
        type_uri: Option<String>,
        /// The `title` member, if not the built-in one.
        title: Option<Template>,
        /// The `detail` member, if not the built-in one.
        detail: Option<Template>,
        /// Further members, in the order of the file.
        members: Vec<(String, serde_json::Value)>,
    },
    /// The file's own body.
    Own {
        /// The value of `Content-Type`.
        content_type: String,
        /// The body.
        text: Template,
    },
}

impl Default for ProblemTemplate {
    fn default() -> Self {
        Self::Problem { type_uri: None, title: None, detail: None, members: Vec::new() }
    }
}

/// A text with places for values: `{rule}`, `{limit}`, `{says}`, `{retry_after}`. Other braces
/// stand for themselves, so that JSON can be written as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    pub(crate) pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    Text(String),
    Rule,
    Limit,
    Says,
    RetryAfter,
}

/// The values of a template's places; what a client may not see is left empty.
#[derive(Debug, Clone, Copy, Default)]
pub struct TemplateValues<'a> {
    /// The rule's name.
    pub rule: &'a str,
    /// The limit's name, `rule/limit`.
    pub limit: &'a str,
    /// The limit in words.
    pub says: &'a str,
    /// Whole seconds to wait; nothing when waiting does not help.
    pub retry_after: Option<u64>,
}

impl fmt::Display for Template {
    /// Writes the text as the file does, with the names of its places.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pieces.iter().try_for_each(|piece| match piece {
            Piece::Text(text) => f.write_str(text),
            Piece::Rule => f.write_str("{rule}"),
            Piece::Limit => f.write_str("{limit}"),
            Piece::Says => f.write_str("{says}"),
            Piece::RetryAfter => f.write_str("{retry_after}"),
        })
    }
}

impl Template {
    /// Returns the text with its places filled in as they are, without the spaces at its ends that an empty place
    /// leaves.
    pub fn render(&self, values: &TemplateValues<'_>) -> String {
        self.fill(values, String::push_str).trim_matches(' ').to_owned()
    }

    /// Returns the text with its places filled in, escaped to stand inside a JSON string.
    pub fn render_in_json(&self, values: &TemplateValues<'_>) -> String {
        self.fill(values, |out, value| {
            let quoted = serde_json::Value::from(value).to_string();
            out.push_str(quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default());
        })
    }

    fn fill(&self, values: &TemplateValues<'_>, put: impl Fn(&mut String, &str)) -> String {
        let mut out = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Rule => put(&mut out, values.rule),
                Piece::Limit => put(&mut out, values.limit),
                Piece::Says => put(&mut out, values.says),
                Piece::RetryAfter => {
                    if let Some(secs) = values.retry_after {
                        // Writing to a string cannot fail.
                        let _ = write!(out, "{secs}");
                    }
                }
            }
        }
        out
    }

    /// Reads a template.
    ///
    /// # Errors
    /// With the name that is not known.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some((before, from)) = rest.split_once('{') {
            plain.push_str(before);
            let Some((name, after)) = place_name(from) else {
                plain.push('{');
                rest = from;
                continue;
            };
            let piece = match name {
                "rule" => Piece::Rule,
                "limit" => Piece::Limit,
                "says" => Piece::Says,
                "retry_after" => Piece::RetryAfter,
                _ => return Err(name.to_owned()),
            };
            if !plain.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
            }
            pieces.push(piece);
            rest = after;
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok(Self { pieces })
    }
}

/// Splits `name} and more` after the brace, when what stands before it could be a name.
fn place_name(text: &str) -> Option<(&str, &str)> {
    let (name, after) = text.split_once('}')?;
    let plain = !name.is_empty() && name.bytes().all(|byte| byte == b'_' || byte.is_ascii_lowercase());
    plain.then_some((name, after))
}

#[cfg(test)]
mod tests {
    use super::{Template, TemplateValues};

    const VALUES: TemplateValues<'_> =
        TemplateValues { rule: "verify", limit: "verify/a", says: "Say \"when\".\n", retry_after: Some(10) };

    /// Guards against a body that is broken by what stands in a sentence, and JSON that needs escaping by hand.
    #[test]
    fn places_are_filled_and_other_braces_stay() {
        let read = |text: &str| Template::read(text).unwrap();
        let json = read(r#"{"wait": {retry_after}, "why": "{says}", "of": {"{limit}": "{rule}"}}"#);
        let rendered = json.render_in_json(&VALUES);
        let parsed: serde_json::Value = serde_json::from_str(&rendered).unwrap();
        assert_eq!(parsed, serde_json::json!({"wait": 10, "why": VALUES.says, "of": {"verify/a": "verify"}}));
        assert_eq!(read("{says}{ x }{}{").render(&VALUES), format!("{}{{ x }}{{}}{{", VALUES.says));
        assert_eq!(read("{retry_after}").render(&TemplateValues::default()), "");
        let hidden =
            read("{says} Wait  {retry_after} s. {limit}\n{rule} ").render(&TemplateValues::default());
        assert_eq!(hidden, "Wait   s. \n", "only spaces at the ends go");
        assert_eq!(Template::read("a {wait} b"), Err("wait".to_owned()));
    }
}

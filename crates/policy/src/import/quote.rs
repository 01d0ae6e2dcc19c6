//! Foreign text in a policy file that Tidegate writes.

use std::fmt::Write as _;

use crate::file::{Entry, Node, Value, is_null};

/// Writes a text as a scalar in double quotes, in which it stays what it is wherever it comes from: characters that steer a
/// terminal or that YAML forbids stand as their numbers, and no variable is read in it.
pub(super) fn quote(text: &str) -> String {
    in_quotes(&text.replace("${", "$${"))
}

fn in_quotes(text: &str) -> String {
    let mut out = String::with_capacity(text.len().saturating_add(2));
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            _ if needs_number(character) => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\U{:08x}", u32::from(character));
            }
            _ => out.push(character),
        }
    }
    out.push('"');
    out
}

/// Returns whether a character is not to stand in a file as it is.
fn needs_number(character: char) -> bool {
    let turns = matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    let breaks = matches!(character, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}');
    turns || breaks || character.is_control()
}

/// Writes texts as a list in one line.
pub(super) fn quoted_list<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = texts.into_iter().map(quote).collect();
    format!("[{}]", quoted.join(", "))
}

/// Writes a value of another file in one line. What stands without quotes there does here, so that a number stays one.
pub(super) fn flow(node: &Node) -> String {
    in_one_line(node, quote)
}

/// Writes a value that is read as a policy's in either file: variables in it stay variables.
pub(super) fn flow_of_policy(node: &Node) -> String {
    in_one_line(node, in_quotes)
}

fn in_one_line(node: &Node, quote: fn(&str) -> String) -> String {
    match &node.value {
        Value::Scalar { text, plain: true } if is_null(text) => "null".to_owned(),
        Value::Scalar { text, plain: true } if is_word(text) => text.clone(),
        Value::Scalar { text, .. } => quote(text),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(|item| in_one_line(item, quote)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(entries) => {
            let member =
                |entry: &Entry| format!("{}: {}", quote(&entry.key), in_one_line(&entry.value, quote));
            let members: Vec<String> = entries.iter().map(member).collect();
            if members.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", members.join(", ")) }
        }
    }
}

/// Returns whether a text can stand without quotes between braces.
fn is_word(text: &str) -> bool {
    let digits = text.trim_start_matches(['-', '+', '.']);
    let signs = text.len().saturating_sub(digits.len());
    let begins = digits.chars().next().is_some_and(|first| first.is_ascii_digit() || signs == 0);
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '+' | '.' | '_');
    begins && text.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{Report, load};

    fn read(text: &str) -> Node {
        let mut report = Report::default();
        load(text, 0, &mut report).unwrap()
    }

    /// Guards against a value of somebody's file that ends the text it stands in, or paints on a terminal.
    #[test]
    fn a_quoted_text_is_read_as_what_it_was() {
        for text in [
            "",
            "a\"b\\c",
            "\u{1b}[31m\u{9b}\r\n\t",
            "\u{61c}\u{202e}\u{2028}\u{feff}é\u{1f600}",
            "# x: - 'y'",
            "\0",
        ] {
            let quoted = quote(text);
            assert!(!quoted.chars().any(needs_number), "{quoted}");
            let back = read(&format!("[{quoted}]"));
            let Value::List(items) = back.value else { panic!("{quoted}") };
            assert_eq!(items[0].value, Value::Scalar { text: text.to_owned(), plain: false });
        }
        assert_eq!(quote("a${B}"), "\"a$${B}\"");
    }

    #[test]
    fn a_value_is_written_as_it_stands() {
        for text in
            ["{ \"a\": 1, \"b\": [true, null, -1.5e3, x-y, \"1\", \"a: b\"], \"c\": {} }", "[]", "\"- \""]
        {
            assert_eq!(flow(&read(text)), text);
        }
        // A variable of the foreign file would be filled in with ours, one of a policy's own member is meant so.
        let variable = read("\"${A}\"");
        assert_eq!((flow(&variable), flow_of_policy(&variable)), ("\"$${A}\"".into(), "\"${A}\"".into()));
        assert_eq!(
            flow(&read("{ a: b c, d: ~, e: --- }")),
            "{ \"a\": \"b c\", \"d\": null, \"e\": \"---\" }"
        );
    }
}

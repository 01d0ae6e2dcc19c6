//! A threat model as one page of HTML that needs nothing else, in light and dark.

use super::facts::{self, Fact, OVERVIEW};
use super::markdown::{notes, open, opening, put, value, words};
use super::{Row, RuleRows, ThreatModel};

/// Colours are taken from the reader's choice of light or dark; contrast is at least 7 to 1 in both.
const STYLE: &str = include_str!("page.css");

/// Writes it.
pub(super) fn write(model: &ThreatModel<'_>) -> String {
    let title = format!("Threat model of {}", escape(&model.file));
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n<main>\n<h1>{title}</h1>\n"
    );
    for line in opening(model) {
        element(&mut out, "p", &line);
    }
    table(&mut out, "Policy", &facts::of_policy(model));
    for finding in &model.findings {
        element(&mut out, "p", &open(finding));
    }
    out.push_str("<h2>At a glance</h2>\n");
    overview(&mut out, model);
    for rule in &model.rules {
        of_rule(&mut out, rule);
    }
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

fn overview(out: &mut String, model: &ThreatModel<'_>) {
    out.push_str("<div class=\"wide\"><table>\n<thead><tr>");
    for label in std::iter::once("Limit").chain(OVERVIEW) {
        put(out, format_args!("<th scope=\"col\">{}</th>", escape(label)));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for rule in &model.rules {
        for limit in &rule.rows {
            let facts = facts::of_row(limit, rule.explained.code.is_some());
            let name = limit.explained.name();
            put(out, format_args!("<tr><th scope=\"row\"><a href=\"#{0}\">{0}</a></th>", escape(&name)));
            for label in OVERVIEW {
                put(out, format_args!("<td>{}</td>", escape(value(&facts, label))));
            }
            out.push_str("</tr>\n");
        }
    }
    out.push_str("</tbody>\n</table></div>\n");
}

fn of_rule(out: &mut String, rule: &RuleRows<'_>) {
    out.push_str("<section>\n");
    element(out, "h2", &rule.rule().name);
    table(out, "Rule", &facts::of_rule(rule));
    for line in notes(rule) {
        element(out, "p", &line);
    }
    for limit in &rule.rows {
        of_row(out, limit, rule.explained.code.is_some());
    }
    out.push_str("</section>\n");
}

fn of_row(out: &mut String, limit: &Row<'_>, guesses: bool) {
    let name = limit.explained.name();
    put(out, format_args!("<article id=\"{0}\">\n<h3>{0}</h3>\n<blockquote>\n", escape(&name)));
    for line in words(limit) {
        element(out, "p", &line);
    }
    out.push_str("</blockquote>\n");
    table(out, "Figure", &facts::of_row(limit, guesses));
    out.push_str("</article>\n");
}

fn table(out: &mut String, title: &str, facts: &[Fact]) {
    put(
        out,
        format_args!(
            "<table>\n<thead><tr><th scope=\"col\">{}</th><th scope=\"col\">Value</th></tr></thead>\n<tbody>\n",
            escape(title)
        ),
    );
    for fact in facts {
        let (label, value) = (escape(&fact.label), escape(&fact.value));
        put(out, format_args!("<tr><th scope=\"row\">{label}</th><td>{value}</td></tr>\n"));
    }
    out.push_str("</tbody>\n</table>\n");
}

fn element(out: &mut String, tag: &str, text: &str) {
    put(out, format_args!("<{tag}>{}</{tag}>\n", escape(text)));
}

/// Escapes a text to stand between tags or within the quotes of an attribute of a page.
pub fn escape(text: &str) -> String {
    let mut out = String::new();
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // HTML knows no other control characters.
            char if char.is_control() && !char.is_whitespace() => {}
            char => out.push(char),
        }
    }
    out
}

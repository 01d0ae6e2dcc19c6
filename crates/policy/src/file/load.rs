//! From YAML text to the tree.
//!
//! The parser's events are taken one at a time and the tree is built on a stack of our own, with its depth and the
//! number of nodes that aliases make bounded, so that no file can exhaust the stack or the memory.

use std::borrow::Cow;
use std::collections::BTreeMap;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span};

use super::{Entry, Node, Report, Value};
use crate::problem::Place;

/// The longest file, in bytes: a thousand rules take a tenth of it.
const MAX_BYTES: usize = 1 << 20;
/// The deepest nesting; policies and tests need eight.
const MAX_DEPTH: usize = 32;
/// The most nodes that aliases may stand for.
const MAX_ALIASED: usize = 10_000;

/// Reads the bytes of the file of that number; `None` when nothing can be made of them.
pub(crate) fn load_bytes(bytes: Vec<u8>, file: u16, report: &mut Report) -> Option<Node> {
    match String::from_utf8(bytes) {
        Ok(text) => load(&text, file, report),
        Err(error) => {
            let valid = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
            let before = String::from_utf8_lossy(valid);
            let line = before.matches('\n').count();
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count();
            let at = place(Marker::new(0, line.saturating_add(1), column), file);
            report.add(at, "this is not UTF-8", "save the file as UTF-8");
            None
        }
    }
}

/// Reads the text of the file of that number; `None` when nothing can be made of it.
pub(crate) fn load(text: &str, file: u16, report: &mut Report) -> Option<Node> {
    let start = Place { file, ..Place::START };
    if text.len() > MAX_BYTES {
        report.add(start, format!("the file is longer than {MAX_BYTES} bytes"), "split it");
        return None;
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut parser = Parser::new_from_str(text);
    let mut builder = Builder { file, ..Builder::default() };
    while let Some(event) = parser.next_event() {
        match event {
            Err(error) => {
                explain(&error, text, &builder, report);
                return None;
            }
            Ok((event, span)) => builder.event(event, span, report)?,
        }
    }
    if builder.root.is_none() {
        report.add(start, "the file is empty", "begin it with `tidegate: 1`");
    }
    builder.root
}

fn place(marker: Marker, file: u16) -> Place {
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Place { file, line: count(marker.line().max(1)), column: count(marker.col().saturating_add(1)) }
}

/// Returns whether a document is one of a Spring service's file, whose documents say the same keys for different profiles.
fn has_profiles(root: &Node) -> bool {
    let Value::Map(entries) = &root.value else { return false };
    entries.iter().any(|entry| {
        let name = entry.key.to_ascii_lowercase().replace(['-', '_'], "");
        name == "ratelimit" || name.split('.').next() == Some("spring")
    })
}

/// A collection under construction.
struct Frame {
    node: Node,
    anchor: usize,
    /// Of a mapping: the key that waits for its value.
    key: Option<Name>,
    /// Of a mapping: the places of its keys.
    keys: BTreeMap<String, Place>,
    /// The height of its highest child.
    height: usize,
}

/// A mapping's key that waits for its value.
struct Name {
    key: String,
    plain: bool,
    place: Place,
}

/// What an anchor stands for.
struct Anchored {
    node: Node,
    nodes: usize,
    height: usize,
}

#[derive(Default)]
struct Builder {
    file: u16,
    frames: Vec<Frame>,
    anchors: BTreeMap<usize, Anchored>,
    aliased: usize,
    root: Option<Node>,
}

impl Builder {
    /// Takes one event; `None` ends the reading.
    fn event(&mut self, event: Event<'_>, span: Span, report: &mut Report) -> Option<()> {
        let at = place(span.start, self.file);
        match event {
            Event::DocumentStart(_) if self.root.is_some() => {
                let remedy = if self.root.as_ref().is_some_and(has_profiles) {
                    "a file is one document: put the profile that runs, with what it takes from the first, into a file of its own"
                } else {
                    "a file is one document; remove `---`"
                };
                report.add(at, "a second document begins here", remedy);
                return None;
            }
            Event::Scalar(text, style, anchor, tag) => {
                refuse_tag(tag.is_some(), at, report);
                let value = scalar(text, style);
                self.finish(Finished { node: Node { place: at, value }, anchor, height: 1 }, report)?;
            }
            Event::SequenceStart(anchor, tag) => {
                refuse_tag(tag.is_some(), at, report);
                self.open(Node { place: at, value: Value::List(Vec::new()) }, anchor, report)?;
            }
            Event::MappingStart(anchor, tag) => {
                refuse_tag(tag.is_some(), at, report);
                self.open(Node { place: at, value: Value::Map(Vec::new()) }, anchor, report)?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let frame = self.frames.pop()?;
                let height = frame.height.saturating_add(1);
                self.finish(Finished { node: frame.node, anchor: frame.anchor, height }, report)?;
            }
            Event::Alias(id) => self.alias(id, at, report)?,
            _ => {}
        }
        Some(())
    }

    fn open(&mut self, node: Node, anchor: usize, report: &mut Report) -> Option<()> {
        if self.frames.len() >= MAX_DEPTH {
            report.add(node.place, format!("nested deeper than {MAX_DEPTH} levels"), "eight are enough");
            return None;
        }
        self.frames.push(Frame { node, anchor, key: None, keys: BTreeMap::new(), height: 0 });
        Some(())
    }

    fn alias(&mut self, id: usize, at: Place, report: &mut Report) -> Option<()> {
        // An anchor that is still open would hold itself.
        let Some(anchored) = self.anchors.get(&id) else {
            report.add(at, "this alias stands inside what it stands for", "write it out");
            return None;
        };
        self.aliased = self.aliased.saturating_add(anchored.nodes);
        let too_deep = self.frames.len().saturating_add(anchored.height) > MAX_DEPTH;
        if self.aliased > MAX_ALIASED || too_deep {
            report.add(at, "aliases stand for too much", "write out what is meant");
            return None;
        }
        let (node, height) = (anchored.node.clone(), anchored.height);
        self.finish(Finished { node, anchor: 0, height }, report)
    }

    /// Puts a finished value where it belongs.
    fn finish(&mut self, done: Finished, report: &mut Report) -> Option<()> {
        if done.anchor > 0 {
            let nodes = count(&done.node);
            let anchored = Anchored { node: done.node.clone(), nodes, height: done.height };
            self.aliased = self.aliased.saturating_add(nodes);
            self.anchors.insert(done.anchor, anchored);
            if self.aliased > MAX_ALIASED {
                report.add(done.node.place, "anchors hold too much", "write out what is meant");
                return None;
            }
        }
        let Some(frame) = self.frames.last_mut() else {
            self.root = Some(done.node);
            return Some(());
        };
        frame.height = frame.height.max(done.height);
        match &mut frame.node.value {
            Value::List(items) => items.push(done.node),
            Value::Map(entries) => match frame.key.take() {
                Some(Name { key, plain, place }) => {
                    entries.push(Entry { key, plain, place, value: done.node });
                }
                None => frame.key = Some(key(done.node, &mut frame.keys, report)?),
            },
            Value::Scalar { .. } => {}
        }
        Some(())
    }
}

struct Finished {
    node: Node,
    anchor: usize,
    height: usize,
}

fn count(node: &Node) -> usize {
    let below: usize = match &node.value {
        Value::Scalar { .. } => 0,
        Value::List(items) => items.iter().map(count).sum(),
        Value::Map(entries) => entries.iter().map(|entry| count(&entry.value).saturating_add(1)).sum(),
    };
    below.saturating_add(1)
}

fn scalar(text: Cow<'_, str>, style: ScalarStyle) -> Value {
    Value::Scalar { text: text.into_owned(), plain: style == ScalarStyle::Plain }
}

/// Takes a mapping's key; one that is there twice is reported and read on.
fn key(node: Node, keys: &mut BTreeMap<String, Place>, report: &mut Report) -> Option<Name> {
    let Value::Scalar { text, plain } = node.value else {
        let remedy = "write a name before the colon; a template (`{{ … }}`) has to be filled in before it is read here";
        report.add(node.place, format!("a key cannot be {}", node.kind()), remedy);
        return None;
    };
    if text == "<<" {
        report.add(node.place, "merge keys (`<<`) are not read", "write the members out");
    }
    match keys.get(&text) {
        Some(first) => {
            report.add(node.place, format!("key \"{text}\" is here twice, first at {first}"), "remove one");
        }
        None => {
            keys.insert(text.clone(), node.place);
        }
    }
    Some(Name { key: text, plain, place: node.place })
}

fn refuse_tag(is_tagged: bool, at: Place, report: &mut Report) {
    if is_tagged {
        report.add(at, "tags (`!…`) are not read", "remove it; put quotes around what is text");
    }
}

const COLON: &str = "a colon inside a text that stands without quotes";
const BRACKET: &str = "a bracket inside a text that stands without quotes";

/// Returns whether a line looks like a member whose colon has no space behind it.
fn lacks_space(line: &str) -> bool {
    let member = line.trim().trim_start_matches("- ");
    member.split_once(':').is_some_and(|(key, value)| {
        super::is_name(key) && !value.is_empty() && !value.starts_with([' ', '/'])
    })
}

/// Says what a line is that no YAML was meant by, or that YAML reads otherwise than it looks.
fn odd_line(line: &str) -> Option<(String, &'static str)> {
    let said = |message: &str, remedy| Some((message.to_owned(), remedy));
    let member = line.trim_start().trim_start_matches("- ");
    if ["<<<<<<<", "=======", ">>>>>>>"].iter().any(|mark| line.starts_with(mark)) {
        return said(
            "this is the mark of a merge conflict",
            "keep one of the two versions, and remove the marks",
        );
    }
    if line.contains('\u{a0}') {
        return said("this line has a no-break space, which is no space to YAML", "write a plain space");
    }
    if line.contains(['“', '”', '„', '‘', '’']) && line.matches(':').count() > 1 {
        return said("curly quotes are letters to YAML", "write straight ones: \"…\"");
    }
    if member.split_once(" = ").is_some_and(|(key, _)| super::is_name(key)) {
        return said("this line has `=` where YAML has a colon", "write `name: value`");
    }
    None
}

/// Returns where the text of the line above a place begins.
fn start_of(above: &str, at: Place) -> Place {
    let indent = above.chars().take_while(|letter| letter.is_whitespace()).count();
    let column = u32::try_from(indent.saturating_add(1)).unwrap_or(u32::MAX);
    Place { line: at.line.saturating_sub(1).max(1), column, ..at }
}

/// Reports a syntax error.
fn explain(error: &ScanError, text: &str, builder: &Builder, report: &mut Report) {
    // Where the innermost open collection begins.
    let open = builder.frames.last().map(|frame| frame.node.place);
    let marker = error.marker();
    let line = marker.line().checked_sub(1).and_then(|index| text.lines().nth(index)).unwrap_or_default();
    let found = line.chars().nth(marker.col());
    let tab = line.chars().take_while(|letter| letter.is_whitespace()).any(|letter| letter == '\t');
    let above = marker.line().checked_sub(2).and_then(|index| text.lines().nth(index)).unwrap_or_default();
    let odd_above = odd_line(above);
    let (odd, inner_tab) = (odd_line(line).or_else(|| odd_above.clone()), line.contains(":\t"));
    let mut at = place(*marker, builder.file);
    let (message, remedy) = match meaning(error.info(), found, tab || inner_tab, open) {
        _ if odd.is_some() => {
            if odd == odd_above {
                at = start_of(above, at);
            }
            odd.unwrap_or_default()
        }
        (message, _) if (message == COLON || error.info().contains("simple key")) && lacks_space(above) => {
            at = start_of(above, at);
            ("this line has a colon without a space behind it".to_owned(), "write `name: value`")
        }
        _ if error.info().contains("simple key") && !above.contains(':') => {
            at = start_of(above, at);
            let remedy =
                "write `name: value`; begin a comment with `#`, and indent a text further than its member";
            ("this line is neither a member nor part of a text before it".to_owned(), remedy)
        }
        (message, remedy) if message == BRACKET => {
            let before = marker.col().checked_sub(1).and_then(|at| line.chars().nth(at));
            let variable = "put the whole text in double quotes, such as \"${NAME}\"";
            (message, if before == Some('$') { variable } else { remedy })
        }
        said => said,
    };
    report.add(at, message, remedy);
    if builder.file == Place::START.file {
        report.not_yaml();
    }
}

/// Says what a syntax error usually means, and what to do: the parser's own words stay for the rest.
fn meaning(info: &str, found: Option<char>, tab: bool, open: Option<Place>) -> (String, &'static str) {
    const QUOTE: &str = "put the whole text in double quotes";
    let has = |words: &[&str]| words.iter().any(|word| info.contains(word));
    if tab || has(&["tab"]) {
        return ("a tab where YAML wants spaces".to_owned(), "write spaces only");
    }
    if has(&["mapping values are not allowed"]) {
        let remedy = "put the whole text in double quotes, or indent this line like its neighbours";
        return (COLON.to_owned(), remedy);
    }
    if has(&["unknown anchor", "anchor or alias"]) {
        let remedy =
            "if it is a text, put it in double quotes; if it is an alias, write its anchor above it, `&name`";
        return ("a text that begins with * or & is an alias or anchor to YAML".to_owned(), remedy);
    }
    if has(&["unexpected character"]) {
        return ("a text cannot begin with this sign without quotes".to_owned(), QUOTE);
    }
    if has(&["quoted scalar"]) && !has(&["escape", "hexadecimal"]) {
        let remedy = "close the quote; within \"…\" write \\\" for a quote, and within '…' write ''";
        return ("a quoted text does not end where it should".to_owned(), remedy);
    }
    if has(&["escape"]) {
        let remedy = "write \\\\ for a backslash, or put the text in single quotes";
        return ("a backslash in double quotes stands for something else".to_owned(), remedy);
    }
    if has(&["flow"]) && matches!(found, Some('{' | '[')) {
        let remedy = "put the whole text in double quotes, such as \"/users/{id}\"";
        return (BRACKET.to_owned(), remedy);
    }
    if let (true, Some(open)) = (has(&["flow"]), open) {
        let message = format!("a comma is missing here, or the bracket that opens at {open} is not closed");
        return (message, "write a comma between members, and close the bracket");
    }
    if has(&["block collection", "block mapping", "invalid indentation"]) {
        return ("this line's indentation fits none before it".to_owned(), "indent it like its neighbours");
    }
    if has(&["recursion limit"]) {
        return ("nested too deep".to_owned(), "eight levels are enough");
    }
    (format!("this is not YAML: {info}"), "look at the indentation, brackets and quotes around here")
}

//! The configurations of `docs/forward-auth.md`, taken out of the page: what it shows is what the tests run.

use std::fs;

/// Returns the blocks of a language, in their order.
pub(super) fn blocks(language: &str) -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/forward-auth.md");
    let page = fs::read_to_string(path).unwrap();
    let opening = format!("```{language}\n");
    let blocks = page.split(&opening).skip(1);
    let blocks: Vec<_> = blocks.map(|rest| rest.split("\n```").next().unwrap().to_owned() + "\n").collect();
    assert!(!blocks.is_empty(), "the page has no block of {language}");
    blocks
}

/// Returns the only block of a language.
pub(super) fn block(language: &str) -> String {
    let [block] = <[String; 1]>::try_from(blocks(language)).unwrap();
    block
}

/// Puts the test's own in the place of something, which has to be there.
pub(super) fn instead(text: &str, of: &str, own: &str) -> String {
    assert!(text.contains(of), "the page says nothing of {of}:\n{text}");
    text.replace(of, own)
}

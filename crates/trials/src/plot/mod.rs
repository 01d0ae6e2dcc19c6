//! Drawings for pages, of plain data: series of places with names. Nothing here knows what was tried.
//!
//! Each is an SVG that the page's style colours, with a title and a description for those who do not see it. Series differ in
//! colour, dashes and the shape of their marks, so that none is told by its colour alone. What the marks mean stands below
//! the drawing as text of the page, where it wraps on a small screen.

mod axis;
mod bars;
mod canvas;
mod lines;
mod scatter;
mod windows;

use crate::html::{Html, escape};

pub use axis::{Axis, Scale, Unit, short_time};
pub use bars::{Bar, bars};
pub use lines::{Joined, Line, Lines, Upright, lines};
pub use scatter::{Spot, scatter};
pub use windows::{Passed, Windows, windows};

/// A drawing with what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawing {
    /// What it shows, as a heading.
    title: String,
    /// What is to be seen in it, as sentences with their figures.
    caption: String,
    svg: String,
    /// The names of its series, each after a sample of how it is drawn.
    key: Vec<(String, String)>,
}

/// What a drawing is called and says.
#[derive(Debug, Clone, Copy)]
pub struct Told<'a> {
    /// A name that no other drawing on the page has, of letters, digits and dashes.
    pub id: &'a str,
    /// What it shows, as a heading.
    pub title: &'a str,
    /// What is to be seen in it, as sentences with their figures.
    pub caption: &'a str,
}

impl Told<'_> {
    fn drawing(self, svg: String, key: Vec<(String, String)>) -> Drawing {
        Drawing { title: self.title.to_owned(), caption: self.caption.to_owned(), svg, key }
    }
}

/// Returns the letter by which one of several is called: A to Z, then two of them.
pub fn letter(index: usize) -> String {
    let of = |index: usize| char::from(b'A'.saturating_add(u8::try_from(index % 26).unwrap_or(0)));
    match index / 26 {
        0 => of(index).to_string(),
        round => format!("{}{}", of(round - 1), of(index)),
    }
}

impl Drawing {
    /// Puts it on a page, as a figure with its caption.
    pub fn put(&self, html: &mut Html) {
        let (title, caption) = (escape(&self.title), escape(&self.caption));
        html.raw(&format!("<figure>\n<figcaption><strong>{title}</strong> {caption}</figcaption>\n"));
        html.raw("<div>");
        html.raw(&self.svg);
        if !self.key.is_empty() {
            html.raw("\n<ul class=\"key\">");
            for (sample, name) in &self.key {
                html.raw(&format!("<li>{sample} {}</li>", escape(name)));
            }
            html.raw("</ul>");
        }
        html.raw("</div>\n</figure>\n");
    }
}

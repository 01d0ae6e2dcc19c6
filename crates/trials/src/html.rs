//! Pages of HTML that need nothing else, in light and dark.

pub use tidegate_review::escape_html as escape;

/// Colours are taken from the reader's choice of light or dark; contrast of text is at least 7 to 1 in both.
const STYLE: &str = include_str!("page.css");

/// A page that is being written.
#[derive(Debug, Default)]
pub struct Html {
    out: String,
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// A text.
    Text(String),
    /// A number, or what stands where one would.
    Figure(String),
    /// The gravest figure of its column.
    Gravest(String),
    /// A heading of the row, with a link to a place on the page and a text below it.
    Heading {
        /// What it says.
        text: String,
        /// The id of the place.
        to: Option<String>,
        /// What stands below, in small letters.
        below: Option<String>,
    },
}

impl Html {
    /// Begins a page. A reader's browser loads nothing for it, whatever stands in it.
    pub fn new(title: &str) -> Self {
        let title = escape(title);
        let mut html = Self::default();
        html.raw(&format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n\
             </head>\n<body>\n<main>\n<h1>{title}</h1>\n"
        ));
        html
    }

    /// Puts markup as it is.
    pub fn raw(&mut self, markup: &str) {
        self.out.push_str(markup);
    }

    /// Puts an element that holds a text.
    pub fn element(&mut self, tag: &str, text: &str) {
        let text = escape(text);
        self.raw(&format!("<{tag}>{text}</{tag}>\n"));
    }

    /// Puts an element of a class that holds a text.
    pub fn classed(&mut self, tag: &str, class: &str, text: &str) {
        let text = escape(text);
        self.raw(&format!("<{tag} class=\"{class}\">{text}</{tag}>\n"));
    }

    /// Puts what has to be seen before all else.
    pub fn alarm(&mut self, heading: &str, text: &str) {
        self.raw("<section class=\"grave\" role=\"alert\">\n");
        self.element("h2", heading);
        self.element("p", text);
        self.raw("</section>\n");
    }

    /// Puts a table that may be wider than the screen, and is then moved by itself. Its rows come in groups with a heading
    /// each, which may be empty.
    pub fn table(&mut self, caption: &str, columns: &[&str], groups: &[(String, Vec<Vec<Cell>>)]) {
        let caption = escape(caption);
        self.raw(&format!(
            "<p class=\"caption\">{caption}</p>\n<div class=\"wide\" role=\"region\" tabindex=\"0\" \
             aria-label=\"{caption}\"><table aria-label=\"{caption}\">\n<thead><tr>"
        ));
        for column in columns {
            let column = escape(column);
            self.raw(&format!("<th scope=\"col\">{column}</th>"));
        }
        self.raw("</tr></thead>\n");
        for (heading, rows) in groups {
            self.raw("<tbody>\n");
            if !heading.is_empty() {
                let (heading, width) = (escape(heading), columns.len());
                self.raw(&format!(
                    "<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"{width}\"><span>{heading}</span></th></tr>\n"
                ));
            }
            for row in rows {
                self.row(row);
            }
            self.raw("</tbody>\n");
        }
        self.raw("</table></div>\n");
    }

    fn row(&mut self, cells: &[Cell]) {
        self.raw("<tr>");
        for cell in cells {
            let markup = match cell {
                Cell::Text(text) => format!("<td class=\"prose\">{}</td>", escape(text)),
                Cell::Figure(text) => format!("<td class=\"figure\">{}</td>", escape(text)),
                Cell::Gravest(text) => format!("<td class=\"figure\"><strong>{}</strong></td>", escape(text)),
                Cell::Heading { text, to, below } => {
                    let text = escape(text);
                    let text = match to {
                        Some(to) => format!("<a href=\"#{}\">{text}</a>", escape(to)),
                        None => text,
                    };
                    let below = below.as_ref().map(|below| format!("<small>{}</small>", escape(below)));
                    format!("<th scope=\"row\">{text}{}</th>", below.unwrap_or_default())
                }
            };
            self.raw(&markup);
        }
        self.raw("</tr>\n");
    }

    /// Ends the page.
    pub fn finish(mut self) -> String {
        self.raw("</main>\n</body>\n</html>\n");
        self.out
    }
}

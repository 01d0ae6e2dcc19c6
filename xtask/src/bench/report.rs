//! The whole page, and the same as JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::computed::aims::{AIMS, Aim, Verdict};
use super::computed::notes::Notes;
use super::computed::page::{Page, table};
use super::machine::{BUSY, Machine};

/// Where the explanations of aims that were not reached are kept, by hand.
const NOTES: &str = "xtask/src/bench/notes.md";

/// What a part has found.
pub(super) struct Found {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) page: Page,
}

/// What a run has found.
pub(super) struct Report<'a> {
    pub(super) machine: &'a Machine,
    pub(super) quick: bool,
    pub(super) found: &'a [Found],
}

impl Report<'_> {
    /// Returns the page.
    ///
    /// # Errors
    /// When the notes cannot be read.
    pub(super) fn markdown(&self) -> Result<String> {
        let mut text = self.introduction();
        text.push_str(&self.aims());
        text.push_str(&self.notes()?);
        for part in self.found {
            write!(text, "\n## {}\n\n{}\n", part.title, part.page.text())?;
        }
        Ok(text)
    }

    /// Returns the table of the aims that were looked at, with its heading.
    pub(super) fn aims(&self) -> String {
        let figures = self.figures();
        let row = |aim: &Aim| {
            let verdict = aim.judge(&figures).words().to_owned();
            [aim.what.to_owned(), aim.against.to_owned(), aim.words(), aim.measured(&figures), verdict]
        };
        let seen = AIMS.iter().filter(|aim| aim.judge(&figures) != Verdict::Unknown);
        let rows: Vec<[String; 5]> = seen.map(row).collect();
        let rows: Vec<&[String]> = rows.iter().map(<[String; 5]>::as_slice).collect();
        format!("## The aims\n\n{}", table(&["what", "against", "aim", "measured", ""], &rows, 5))
    }

    /// Returns everything as JSON.
    ///
    /// # Errors
    /// When it cannot be written as such.
    pub(super) fn json(&self) -> Result<String> {
        let figures = self.figures();
        let aims: Vec<Value> = AIMS
            .iter()
            .map(|aim| {
                json!({
                    "id": aim.id, "what": aim.what, "against": aim.against, "aim": aim.words(),
                    "measured": aim.measured(&figures), "reached": aim.judge(&figures) == Verdict::Reached,
                })
            })
            .collect();
        let facts: Map<String, Value> =
            self.machine.facts.iter().map(|(name, fact)| ((*name).to_owned(), json!(fact))).collect();
        let parts: Vec<&str> = self.found.iter().map(|part| part.name).collect();
        let all = json!({
            "date": self.machine.date, "commit": self.machine.commit, "quick": self.quick,
            "busy_before": self.machine.busy, "machine": facts, "parts": parts, "aims": aims, "figures": figures,
        });
        Ok(serde_json::to_string_pretty(&all)? + "\n")
    }

    fn figures(&self) -> BTreeMap<String, f64> {
        self.found.iter().flat_map(|part| part.page.figures().clone()).collect()
    }

    fn introduction(&self) -> String {
        let Machine { date, commit, facts, .. } = self.machine;
        let rows: Vec<[String; 2]> =
            facts.iter().map(|(name, fact)| [(*name).to_owned(), fact.clone()]).collect();
        let rows: Vec<&[String]> = rows.iter().map(<[String; 2]>::as_slice).collect();
        let facts = table(&["", ""], &rows, 2);
        let rehearsal = self.rehearsal();
        format!("{HEAD}\nMeasured on {date} at commit {commit}. {rehearsal}\n\n{facts}\n{READING}\n")
    }

    /// Returns how busy the machine was before, and whether the figures are to be trusted.
    pub(super) fn rehearsal(&self) -> String {
        let busy = self.machine.busy;
        let before = format!("Before that, others took {busy:.0} % of the processors.");
        if busy > BUSY || self.quick {
            return format!(
                "{before}\n\n**This is a rehearsal**: it was short, or others kept the machine busy."
            );
        }
        before
    }

    /// Returns the notes on the aims that were not reached.
    fn notes(&self) -> Result<String> {
        let notes = Notes::read(&fs::read_to_string(NOTES)?)?;
        let figures = self.figures();
        let mut text = String::new();
        for aim in AIMS.iter().filter(|aim| aim.judge(&figures) == Verdict::Missed) {
            let note = notes.of(aim.id).unwrap_or("Nothing is known yet about where the rest goes.");
            write!(text, "\n### Not reached: {}\n\n{note}\n", aim.what)?;
        }
        Ok(text)
    }
}

const HEAD: &str = "# Benchmarks

What Tidegate costs beside its peers. `cargo xtask bench` measures all of it anew and writes this page; nothing on it was
written by hand but the notes on aims that were not reached.
";

const READING: &str = "How to read it:

- Figures of one table come from one run in which all take turns, and are medians. **Compare within a table, and look at the
  ratios**: nanoseconds and requests a second do not carry over to another machine.
- A ratio is the median of the ratios of each turn, so it may differ in the last digit from the quotient of the medians beside it.
- Servers have one processor to themselves. Whoever asks them has the other one, and so has what stands behind them: an upstream,
  or Redis. CPU is user and system time of all of a server's processes, over the requests that were answered.
- Every run's answers are counted: a peer that refuses what it has to admit, or the other way round, ends the run.
- `cargo xtask bench NAME…` measures parts (`memory`, `redis`, `algorithms`, `gateway`, `servers`, `flood`, `rules`), `--quick` shows in a minute
  or two that everything works, once it is built. Both leave this page alone. `target/bench/results.json` has every figure with its name.
";

//! What a request costs: how many units of a limit it takes.

use std::fmt;
use std::sync::Arc;

use crate::key::{Part, Pointer, items};
use crate::request::{Ambiguous, Facts};
use crate::values::Values;

/// The most units one request may take.
pub(crate) const MAX_COST: u32 = 1 << 30;

/// How many units a request takes.
#[derive(Debug, Clone, PartialEq)]
pub enum Cost {
    /// So many; at least 1.
    Units(u32),
    /// By the value of a key.
    Table(Arc<CostTable>),
    /// By a header field of a trusted peer.
    Header(CostHeader),
    /// As many as a list in the JSON body has items; one where there is none.
    Items(CostItems),
}

/// Costs by the value of a key.
#[derive(Debug, Clone, PartialEq)]
pub struct CostTable {
    pub(crate) name: String,
    pub(crate) by: Part,
    pub(crate) default: u32,
    pub(crate) list: Vec<(String, u32)>,
    pub(crate) values: Values<u32>,
}

impl CostTable {
    /// Returns the table's name in the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name of the key.
    pub fn by(&self) -> &str {
        &self.by.name
    }

    /// Returns what every other value costs, and a request without the key.
    pub fn default_units(&self) -> u32 {
        self.default
    }

    /// Returns the values as the file writes them and what each costs, in the order of the file.
    pub fn values(&self) -> impl Iterator<Item = (&str, u32)> {
        self.list.iter().map(|(value, units)| (value.as_str(), *units))
    }
}

/// A cost that a trusted peer names.
#[derive(Debug, Clone, PartialEq)]
pub struct CostHeader {
    pub(crate) part: Part,
    pub(crate) default: u32,
}

impl CostHeader {
    /// Returns what a request costs whose peer is not trusted, or names no cost.
    pub fn default_units(&self) -> u32 {
        self.default
    }

    fn read(&self, facts: &Facts<'_>) -> Result<u32, Ambiguous> {
        if !facts.client().is_some_and(|client| client.peer_trusted) {
            return Ok(self.default);
        }
        let Some(text) = self.part.text(facts)? else { return Ok(self.default) };
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let units = text.parse().ok().filter(|units| digits && *units <= MAX_COST);
        units.ok_or_else(|| {
            let why = if digits { "is more than a request may cost" } else { "is not a whole number" };
            Ambiguous::new(self.part.name.clone(), why)
        })
    }
}

/// A cost that is counted in the body.
#[derive(Debug, Clone, PartialEq)]
pub struct CostItems {
    /// The pointer as the file writes it.
    pub(crate) text: String,
    pub(crate) pointer: Pointer,
}

impl CostItems {
    /// Returns the JSON pointer to the list; empty for the body itself.
    pub fn pointer(&self) -> &str {
        &self.text
    }

    fn read(&self, facts: &Facts<'_>) -> Result<u32, Ambiguous> {
        let name = format!("items of {}", self.shown());
        let counted = items(&self.pointer, &name, facts)?.unwrap_or(1).max(1);
        let units = u32::try_from(counted).ok().filter(|units| *units <= MAX_COST);
        units.ok_or_else(|| Ambiguous::new(name, "are more than a request may cost"))
    }

    fn shown(&self) -> &str {
        if self.text.is_empty() { "the body" } else { &self.text }
    }
}

impl Cost {
    /// Reads the units a request takes. Zero, which only a trusted peer can say, takes nothing.
    ///
    /// # Errors
    /// When they can be read in more than one way, or are no number.
    pub fn read(&self, facts: &Facts<'_>) -> Result<u32, Ambiguous> {
        match self {
            Self::Units(units) => Ok(*units),
            Self::Table(table) => Ok(table.values.read(&table.by, facts)?.unwrap_or(table.default)),
            Self::Header(header) => header.read(facts),
            Self::Items(items) => items.read(facts),
        }
    }

    /// Returns whether the body has to be read for it.
    pub fn needs_body(&self) -> bool {
        match self {
            Self::Units(_) | Self::Header(_) => false,
            Self::Table(table) => table.by.needs_body(),
            Self::Items(_) => true,
        }
    }

    /// Returns whether it depends on the instant of the request.
    pub(crate) fn needs_date(&self) -> bool {
        matches!(self, Self::Table(table) if table.by.needs_date())
    }

    /// Adds the names of the keys it looks at, each once.
    pub(crate) fn sources<'a>(&'a self, names: &mut Vec<&'a str>) {
        if let Self::Table(table) = self {
            table.by.sources(names);
        }
    }

    /// Returns the units a request takes when nothing in it says otherwise.
    pub fn usual(&self) -> u32 {
        match self {
            Self::Units(units) => *units,
            Self::Table(table) => table.default,
            Self::Header(header) => header.default,
            Self::Items(_) => 1,
        }
    }

    /// Returns the most units a request can take; `None` where the request says it.
    pub fn most(&self) -> Option<u32> {
        match self {
            Self::Units(units) => Some(*units),
            Self::Table(table) => table.values().map(|(_, units)| units).chain([table.default]).max(),
            Self::Header(_) | Self::Items(_) => None,
        }
    }
}

impl fmt::Display for Cost {
    /// Writes the number, the table's name, or where the number is found.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Units(units) => units.fmt(f),
            Self::Table(table) => f.write_str(&table.name),
            Self::Header(header) => f.write_str(&header.part.name),
            Self::Items(items) => write!(f, "the items of {}", items.shown()),
        }
    }
}

//! The names of entries that others refer to: stores, clocks, lists of live workers. Looks at names only; what is in the
//! entries is read elsewhere, and a mistake in one entry says nothing of whether another exists.

use std::collections::BTreeSet;

use super::super::checks::Wrong;
use super::super::cursor::Cursor;
use super::super::mistake::{closest, quoted};

/// The names of all entries of one kind.
pub(super) struct Entries {
    what: &'static str,
    section: &'static str,
    names: BTreeSet<String>,
    /// Where they should be is something without names, which is reported: any name may have been among them.
    is_doubtful: bool,
}

impl Entries {
    /// Those of this section at the top, each of which is a `what`. Where the section's name is misspelt, its entries are
    /// meant all the same.
    pub(super) fn of(top: &Cursor<'_>, section: &'static str, what: &'static str) -> Self {
        let names = top.names(section);
        let is_doubtful = names.is_none();
        Self { what, section, names: names.unwrap_or_default(), is_doubtful }
    }

    /// Whether there may be any.
    pub(super) fn any(&self) -> bool {
        self.is_doubtful || !self.names.is_empty()
    }

    /// How many there are, if that is known.
    pub(super) fn count(&self) -> Option<usize> {
        (!self.is_doubtful).then_some(self.names.len())
    }

    /// Whether there is such an entry.
    pub(super) fn known(&self, name: &str) -> Result<(), Wrong> {
        if self.is_doubtful || self.names.contains(name) {
            return Ok(());
        }
        let known = self.names.iter().map(String::as_str);
        let fix = match closest(name, known.clone()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None if self.names.is_empty() => format!("add it under `{}`", self.section),
            None => format!("there are: {}", known.collect::<Vec<_>>().join(", ")),
        };
        Err((format!("there is no {} {}", self.what, quoted(name)), fix))
    }
}

//! Collects samples and hands them out as the text of metric families: sorted, unique, finite, none empty. It knows no
//! metric; what the numbers mean is up to `families`.

use std::sync::LazyLock;

use bytes::Bytes;

use super::catalogue::{self, Entry, Family, Tier};
use super::column::Column;
use super::line::At;
use super::text::Pieces;

/// All families by name.
static BY_NAME: LazyLock<Vec<&'static Entry>> = LazyLock::new(|| {
    let mut all: Vec<_> = catalogue::all().collect();
    all.sort_unstable_by_key(|entry| entry.name);
    all
});

/// A sheet of samples by family.
pub struct Sheet {
    /// Each at its family's slot.
    columns: Vec<Column>,
    at: At,
}

impl Default for Sheet {
    fn default() -> Self {
        let columns = std::iter::repeat_with(Column::default).take(catalogue::COUNT).collect();
        Self { columns, at: At::default() }
    }
}

impl Sheet {
    /// Adds a sample; `values` are in the order of the family's labels. A number that is not finite is left out:
    /// missing is honest, NaN is not.
    pub fn add<const N: usize>(&mut self, family: &Family<N>, values: [&str; N], value: f64) {
        if !value.is_finite() {
            return;
        }
        if let Some(column) = self.columns.get_mut(family.slot) {
            column.add(&self.at, family, values, value);
        }
    }

    /// Adds a sample if there is a value.
    pub fn add_some<const N: usize>(
        &mut self,
        family: &Family<N>,
        values: [&str; N],
        value: Option<f64>,
    ) {
        if let Some(value) = value {
            self.add(family, values, value);
        }
    }

    /// Until [`Self::end`], most samples are of this lock.
    pub fn begin(&mut self, store: &str, lock: &str) {
        self.at.set(store, lock);
    }

    /// No more samples of the lock come.
    pub fn end(&mut self) {
        self.at.clear();
    }

    /// The families as text, sorted by name, samples sorted by label values. Of two samples with the same labels the first
    /// added stays; views are unique, so that this only guards against a mistake.
    pub fn into_pieces(mut self) -> Pieces {
        let mut pieces = Vec::new();
        // Small ones are put together, large ones left as they are.
        let mut small = Vec::new();
        for entry in BY_NAME.iter() {
            let Some(column) = self.columns.get_mut(entry.slot) else { continue };
            let text = std::mem::take(column).into_text();
            if text.len() < LARGE {
                small.extend_from_slice(&text);
            }
            if !small.is_empty() && (small.len() >= LARGE || text.len() >= LARGE) {
                pieces.push(Bytes::from(std::mem::take(&mut small)));
            }
            if text.len() >= LARGE {
                pieces.push(Bytes::from(text));
            }
        }
        if !small.is_empty() {
            pieces.push(Bytes::from(small));
        }
        pieces.into()
    }
}

/// Less than this is not worth a write of its own.
const LARGE: usize = 32 * 1024;

/// A sheet seen through a tier: families that a lock or worker does not have are left out in one place.
pub struct Tiered<'a> {
    sheet: &'a mut Sheet,
    full: bool,
}

impl<'a> Tiered<'a> {
    /// `full`: also families of the full tier.
    pub fn new(sheet: &'a mut Sheet, full: bool) -> Self {
        Self { sheet, full }
    }

    /// Whether families of this tier are kept.
    pub fn keeps(&self, tier: Tier) -> bool {
        self.full || tier == Tier::Core
    }

    /// As [`Sheet::add`], if the tier is kept.
    pub fn add<const N: usize>(&mut self, family: &Family<N>, values: [&str; N], value: f64) {
        if self.keeps(family.tier) {
            self.sheet.add(family, values, value);
        }
    }

    /// As [`Sheet::add_some`], if the tier is kept.
    pub fn add_some<const N: usize>(
        &mut self,
        family: &Family<N>,
        values: [&str; N],
        value: Option<f64>,
    ) {
        if let Some(value) = value {
            self.add(family, values, value);
        }
    }
}

/// 1 or 0.
pub fn flag(on: bool) -> f64 {
    if on { 1.0 } else { 0.0 }
}

//! The text exposition format 0.0.4.

use std::sync::Arc;

use bytes::Bytes;

use super::families;
use super::self_facts::SelfFacts;
use crate::view::View;

/// The media type that `/metrics` answers with; Prometheus 3 refuses a scrape without an exact one.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Everything as text.
pub fn render(view: &View, own: &SelfFacts) -> Pieces {
    families::collect(view, own).into_pieces()
}

/// Bytes in a few pieces, as they were made; putting them together would copy them all. Who has a clone shares them.
#[derive(Clone, Debug)]
pub struct Pieces(Arc<[Bytes]>);

impl Pieces {
    /// One after the other.
    pub fn iter(&self) -> std::slice::Iter<'_, Bytes> {
        self.0.iter()
    }

    /// The one at this place, from 0.
    pub fn get(&self, at: usize) -> Option<&Bytes> {
        self.0.get(at)
    }

    /// Bytes of all together.
    pub fn len(&self) -> usize {
        self.iter().map(Bytes::len).sum()
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them together, copied.
    pub fn to_vec(&self) -> Vec<u8> {
        self.0.concat()
    }
}

impl From<Vec<Bytes>> for Pieces {
    fn from(pieces: Vec<Bytes>) -> Self {
        Self(pieces.into())
    }
}

impl From<Bytes> for Pieces {
    fn from(whole: Bytes) -> Self {
        Self([whole].into())
    }
}

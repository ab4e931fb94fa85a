//! Where evidence is kept and how much of it. Writes none.

use std::path::PathBuf;

/// Where a document goes that is written when a signal rises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The directory; it is this exporter's alone.
    pub dir: PathBuf,
    /// Documents kept at most.
    pub keep: usize,
    /// Bytes that they may have together.
    pub max_bytes: u64,
    /// Documents have the holders' raw tokens.
    pub raw_tokens: bool,
}

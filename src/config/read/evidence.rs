//! Reads `evidence`: where documents are kept when a signal rises. Looks whether the directory can be written to, and
//! writes nothing there.

use super::noted;
use crate::config::checks;
use crate::config::cursor::Cursor;
use crate::config::model::Evidence;

/// Documents kept unless it is configured.
const KEEP: usize = 200;
/// Bytes kept unless it is configured.
const MAX_BYTES: u64 = 64 << 20;

/// `None` if it is not right; `Some(None)` without the table.
pub(super) fn read(top: &Cursor<'_>) -> Option<Option<Evidence>> {
    if !top.has("evidence") {
        return Some(None);
    }
    let at = top.table("evidence")?;
    at.require("dir", "add the directory that documents are written to, for this exporter alone");
    let dir = at.text("dir").and_then(|dir| noted(&at, "dir", checks::directory(dir)));
    let keep = at.whole("keep").unwrap_or(KEEP);
    let max_bytes = at.size("max_bytes").unwrap_or(MAX_BYTES);
    let raw_tokens = at.switch("raw_tokens").unwrap_or(false);
    Some(Some(Evidence { dir: dir?, keep, max_bytes, raw_tokens }))
}

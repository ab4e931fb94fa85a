//! The metric reference as Markdown, made from the catalogue so that the two cannot differ. It prints; it decides
//! nothing.

use std::fmt::Write;

use super::{Entry, SECTIONS};

const OPENING: &str = "# Metrics\n\n\
    Generated from the catalogue in `src/expose/catalogue`; a test keeps it so, and `UPDATE=1 cargo test --lib reference`\n\
    writes it anew. Per-lock and per-worker families of tier `full` exist only with `series: full`. Ages are as of the\n\
    snapshot, at most one poll old.\n\n\
    A lock of a group (`group: true`) has series only while it is among the first `group_top` that need a look. Its counters\n\
    begin with what they had come to without series, so that `rate()` and `increase()` over them are too low and never too\n\
    high; those over `dlock_group_*_total` are complete.\n";

/// The whole reference.
pub fn markdown() -> String {
    let mut out = String::from(OPENING);
    for (title, entries) in SECTIONS {
        // Writing to a String cannot fail.
        let _ = write!(
            out,
            "\n## {title}\n\n| name | type | labels | tier | meaning |\n|---|---|---|---|---|\n"
        );
        for entry in *entries {
            row(&mut out, entry);
        }
    }
    out
}

fn row(out: &mut String, entry: &Entry) {
    let _ = writeln!(
        out,
        "| `{}` | {} | {} | {} | {} |",
        entry.name,
        entry.kind.as_str(),
        entry.labels.join(", "),
        entry.tier.as_str(),
        entry.help.replace('|', "\\|"),
    );
}

//! Pure state machines: facts in, verdicts and wanted reads out. No I/O, no clock, no log; `../shared/verdicts.md` is
//! what they must do.

pub mod words;

pub use words::*;

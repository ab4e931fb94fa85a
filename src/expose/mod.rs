//! What is shown of a snapshot: metrics text and JSON. Turns a [`crate::view::View`] into bytes and decides nothing:
//! what the view does not know is left out, never printed as zero.

pub mod advice;
pub mod asks;
pub mod catalogue;
mod column;
pub mod families;
pub mod json;
mod line;
pub mod rendered;
pub mod self_facts;
pub mod sheet;
pub mod standing;
pub mod text;

#[cfg(test)]
pub(crate) mod example;
#[cfg(test)]
pub(crate) mod tests;

pub use asks::Asks;
pub use rendered::Rendered;
pub use self_facts::{EvidenceCounts, EvidenceFailure, OwnProcess, SelfFacts};
pub use text::{CONTENT_TYPE, Pieces, render};

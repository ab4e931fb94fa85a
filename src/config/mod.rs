//! The configuration: [`model`] is what the rest of the program sees, validated and immutable; [`load`] makes it from a
//! file, the environment and flags, and lists every mistake at once. Reads files, never a server or a process.

mod checks;
mod chrony_url;
mod cursor;
mod env;
mod filling;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod input;
mod layers;
mod load;
mod misnamed;
mod mistake;
pub mod model;
mod overrides;
mod read;
mod redis_url;
mod schema;
mod selector;
mod size;
mod template;
mod unknown;
mod values;
pub mod web;

#[cfg(test)]
mod tests;

pub use input::Input;
pub use load::load;
pub use mistake::{Mistake, Mistakes};
pub use model::*;
pub use selector::MetricSelector;

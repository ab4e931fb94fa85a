//! The configuration: [`model`] is what the rest of the program sees, validated and immutable; `load` makes it from a
//! file, the environment and flags, and lists every mistake at once. Reads files, never a server or a process.

pub mod model;

pub use model::*;

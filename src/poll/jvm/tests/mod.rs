//! Real JVMs.

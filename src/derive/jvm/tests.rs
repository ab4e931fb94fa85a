//! Invented JVMs.

//! Why nothing can be done: one sentence that names the flag, path or address, and what to do. It must not hold a token or a
//! password.

use std::fmt;

/// A sentence for the person at the terminal.
#[derive(Clone, Debug)]
pub struct Failure(String);

impl Failure {
    /// With this sentence.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

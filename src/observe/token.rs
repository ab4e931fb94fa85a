//! An owner's token: a credential. It never prints itself, and its fingerprint is all that leaves the process.

use std::fmt;
use std::sync::Arc;

/// An owner token. Whoever knows it can release the lock, so it has no `Display` and its `Debug` shows the fingerprint.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Token(Arc<[u8]>);

impl Token {
    /// Takes the raw bytes.
    pub fn new(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }

    /// The raw bytes; only for comparison and decoding.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The first 12 hexadecimal digits of the SHA-256 of the raw token: tells tokens apart without giving one away.
    pub fn fingerprint(&self) -> String {
        use sha2::{Digest, Sha256};
        Sha256::digest(&self.0).iter().take(6).map(|b| format!("{b:02x}")).collect()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({})", self.fingerprint())
    }
}

//! Whether a lock's tokens tell acquires apart: the config's word, else the format's.

use super::{Lock, Phase};
use crate::config::TokenKind;
use crate::derive::tenure::Tenure;

impl Lock {
    /// Tokens are new per acquire: the config's word, else the format's.
    pub fn token_kind(&self) -> TokenKind {
        let format = match &self.phase {
            Phase::Held(t) if t.owner.is_some() => t.value.tokens,
            _ => self.value.as_ref().map_or(TokenKind::Reusable, |v| v.tokens),
        };
        self.rules.token.unwrap_or(format)
    }

    /// The same of a tenure's tokens.
    pub(super) fn kind_of(&self, tenure: &Tenure) -> TokenKind {
        self.rules.token.unwrap_or(tenure.value.tokens)
    }

    /// Whether tokens of the last value tell acquires apart.
    pub fn is_per_acquire(&self) -> bool {
        self.token_kind() == TokenKind::PerAcquire
    }
}

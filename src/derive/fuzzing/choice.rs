//! Bytes as choices: whoever changes a byte changes what happens, and a schedule ends where its bytes do.

/// Choices that are still to be made.
#[derive(Clone, Debug)]
pub struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    /// Choices from these bytes.
    pub fn of(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Whether none is left.
    pub fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    /// The next byte; 0 where there is none.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number below `below`.
    pub fn below(&mut self, below: usize) -> usize {
        usize::from(self.byte()) % below.max(1)
    }

    /// One of these; the list must not be empty.
    pub fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        let at = self.below(all.len());
        all.get(at).copied().unwrap_or_else(|| all[0])
    }
}

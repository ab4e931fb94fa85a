//! How many keys a transaction has: fewer where one takes the server longer than [`HELD`], since its other clients wait
//! meanwhile. What the server itself counts of `EXEC` says so. Our own waiting would not: a slow link is no reason for
//! smaller transactions, and they would make it worse. Pure.

use std::time::Duration;

use super::batch::BATCH;

/// What a transaction may take the server.
const HELD: Duration = Duration::from_micros(100);
/// Of fewer keys than this, most of the cost is that of the transaction itself.
const FEWEST: usize = 10;
/// So many sweeps in a row have to say the same.
const IN_A_ROW: u32 = 3;
/// Fewer transactions than this say nothing.
const ENOUGH: u64 = 4;

/// What a server counts of its `EXEC`s, with all that is done in them, since it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execs {
    /// How many.
    pub calls: u64,
    /// What they took together.
    pub micros: u64,
}

/// The present size, and what speaks against it.
pub struct BatchSize {
    keys: usize,
    before: Option<Execs>,
    /// Sweeps in a row whose transactions took too long.
    slow: u32,
    /// Those with room for twice as many keys.
    fast: u32,
}

impl Default for BatchSize {
    fn default() -> Self {
        Self { keys: BATCH, before: None, slow: 0, fast: 0 }
    }
}

impl BatchSize {
    /// Keys of a transaction.
    pub fn keys(&self) -> usize {
        self.keys
    }

    /// Another connection, perhaps to another server; what was found out holds until it says otherwise.
    pub fn connected(&mut self) {
        self.before = None;
    }

    /// A sweep ended, of whose transactions `ours` were full. True if the size is another from now on.
    pub fn note(&mut self, ours: u64, execs: Option<Execs>) -> bool {
        let Some(now) = execs else { return false };
        let Some(before) = self.before.replace(now) else { return false };
        let calls = now.calls.saturating_sub(before.calls);
        // Transactions of others are other transactions.
        if ours.min(calls) < ENOUGH || ours.saturating_mul(2) < calls || now.micros < before.micros
        {
            return false;
        }
        let took = Duration::from_micros((now.micros - before.micros) / calls.max(1));
        self.slow = if took > HELD { self.slow + 1 } else { 0 };
        self.fast = if took * 2 < HELD { self.fast + 1 } else { 0 };
        let was = self.keys;
        if self.slow >= IN_A_ROW {
            self.keys = (was / 2).max(FEWEST);
        } else if self.fast >= IN_A_ROW {
            self.keys = (was * 2).min(BATCH);
        }
        let is_another = self.keys != was;
        if is_another {
            (self.slow, self.fast) = (0, 0);
        }
        is_another
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server whose transactions take so long for each key, through some sweeps of 20 transactions.
    fn sweeps(size: &mut BatchSize, execs: &mut Execs, per_key: u64, others: u64, count: usize) {
        for _ in 0..count {
            execs.calls += 20 + others;
            execs.micros += 20 * per_key * size.keys() as u64 + others;
            size.note(20, Some(*execs));
        }
    }

    #[test]
    fn a_slow_server_gets_small_transactions_until_it_is_fast() {
        let (mut size, mut execs) = (BatchSize::default(), Execs { calls: 5, micros: 5 });
        sweeps(&mut size, &mut execs, 1, 0, 50);
        assert_eq!(size.keys(), BATCH);
        sweeps(&mut size, &mut execs, 3, 0, 2);
        assert_eq!(size.keys(), BATCH, "it may be a coincidence");
        sweeps(&mut size, &mut execs, 3, 0, 50);
        assert_eq!(size.keys(), 25, "75 us");
        sweeps(&mut size, &mut execs, 1000, 0, 50);
        assert_eq!(size.keys(), FEWEST);
        sweeps(&mut size, &mut execs, 1, 0, 50);
        assert_eq!(size.keys(), BATCH);
    }

    #[test]
    fn what_others_do_and_a_restart_say_nothing() {
        let (mut size, mut execs) = (BatchSize::default(), Execs { calls: 5, micros: 5 });
        sweeps(&mut size, &mut execs, 9, 30, 50);
        assert_eq!(size.keys(), BATCH);
        for n in 0..50 {
            assert!(!size.note(20, Some(Execs { calls: 50 - n, micros: 500_000 - 10_000 * n })));
            assert!(!size.note(20, None));
        }
        assert!(
            (0..9).all(|_| !size.note(20, Some(Execs { calls: 1, micros: 1 }))),
            "none of ours"
        );
        size.connected();
        assert!(!size.note(20, Some(Execs { calls: 1, micros: u64::MAX })));
    }
}

//! Which locks of a store this exporter watches, where several exporters share them. The share of a lock follows from its
//! `store` and `lock` labels alone, so that it is the same on every host and in every version: it must not change.

/// One share of all locks. What is no lock (servers, workers, clocks) belongs to every share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: u32,
    total: u32,
}

impl Default for Shard {
    /// All locks.
    fn default() -> Self {
        Self { index: 0, total: 1 }
    }
}

impl Shard {
    /// The share with this number, counted from 0, of so many; `None` if there is no such share.
    pub fn new(index: u32, total: u32) -> Option<Self> {
        (index < total).then_some(Self { index, total })
    }

    /// Its number, counted from 0.
    pub fn index(self) -> u32 {
        self.index
    }

    /// How many shares there are.
    pub fn total(self) -> u32 {
        self.total
    }

    /// Whether a lock is in it.
    pub fn has(self, store: &str, lock: &str) -> bool {
        self.total == 1 || share_of(store, lock, self.total) == self.index
    }
}

/// The share of a lock: FNV-1a over both names with a zero byte between them, and jump consistent hashing (Lamping and
/// Veach, 2014), so that one share more takes only what it is to have from the others. kube-state-metrics does the same.
fn share_of(store: &str, lock: &str, total: u32) -> u32 {
    let bytes = store.bytes().chain([0]).chain(lock.bytes());
    let fnv = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let mut key: u64 = bytes.fold(0xcbf2_9ce4_8422_2325, fnv);
    let (mut share, mut next) = (0, 0.0);
    while next < f64::from(total) {
        // A whole number below `total`, and so without loss.
        share = next as u32;
        key = key.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(1);
        next =
            ((f64::from(share) + 1.0) * ((1u64 << 31) as f64 / ((key >> 33) + 1) as f64)).floor();
    }
    share
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> impl Iterator<Item = String> {
        (0..30_000).map(|n| format!("orders:{n}"))
    }

    #[test]
    fn each_lock_is_in_exactly_one_share_and_shares_are_alike() {
        for total in [1, 2, 3, 7] {
            let shards: Vec<Shard> = (0..total).map(|i| Shard::new(i, total).unwrap()).collect();
            let mut counts = vec![0u32; shards.len()];
            for name in names() {
                let has: Vec<usize> =
                    (0..shards.len()).filter(|i| shards[*i].has("main", &name)).collect();
                assert_eq!(has.len(), 1, "{name}");
                counts[has[0]] += 1;
            }
            let fair = 30_000 / total;
            assert!(counts.iter().all(|n| n.abs_diff(fair) < fair / 20), "{counts:?}");
        }
    }

    #[test]
    fn one_share_more_takes_only_its_own_locks_from_the_others() {
        for name in names() {
            let (before, after) = (share_of("main", &name, 3), share_of("main", &name, 4));
            assert!(after == before || after == 3, "{name}: {before} {after}");
        }
    }

    /// What was written down once: exporters of two versions may run side by side.
    #[test]
    fn shares_stay_what_they_are() {
        let of = |store, lock| share_of(store, lock, 10);
        let all = [of("main", "orders"), of("main", "orders:1"), of("spare", "orders"), of("", "")];
        // Computed by another program, in another language.
        assert_eq!(all, [5, 9, 1, 4]);
        assert_eq!(share_of("main", "é", 1000), 656);
    }

    #[test]
    fn there_is_no_share_beyond_the_last() {
        assert!(Shard::new(2, 3).is_some());
        for (index, total) in [(3, 3), (0, 0), (9, 3)] {
            assert_eq!(Shard::new(index, total), None);
        }
    }
}

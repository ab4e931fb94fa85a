//! Which changed keys are to be read at once, and which a little later: a lock that changes without end must cost no more
//! than a few reads in each poll interval, and all together no more than a bounded number in each second. Pure. What is
//! left out here, the next sweep reads.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use crate::observe::{KeyId, Mono};

/// Reads of one key in a row, and in each poll interval after that.
const A_FEW: u32 = 4;
/// Changes that come nearer to each other share a read.
const TOGETHER: Duration = Duration::from_millis(20);
/// Reads of all keys in one second.
const MOST: u32 = 2000;
/// Keys that nobody has met, told of in one second; SCAN brings the rest. Of locks that come and go it meets but some, and
/// each takes a place until it is forgotten.
const MOST_NEW: u32 = 8;
const SECOND: Duration = Duration::from_secs(1);

/// One key.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// Up to when its reads are spent.
    spent: Mono,
    /// No sooner than then.
    next: Mono,
    /// A read is put off until later.
    waits: bool,
}

/// See the module.
#[derive(Debug)]
pub struct Changes {
    /// Between two reads of a key that changes without end.
    apart: Duration,
    paces: HashMap<KeyId, Pace>,
    later: BTreeMap<Mono, Vec<KeyId>>,
    /// The present second, and what it has seen.
    second: Mono,
    reads: u32,
    new: u32,
}

impl Changes {
    /// Nothing has changed.
    pub fn new(poll: Duration) -> Self {
        Self {
            apart: poll / A_FEW,
            paces: HashMap::new(),
            later: BTreeMap::new(),
            second: Mono(0),
            reads: 0,
            new: 0,
        }
    }

    /// A key changed: whether to read it now.
    pub fn changed(&mut self, key: KeyId, now: Mono) -> bool {
        self.turn(now);
        let pace = self.paces.entry(key).or_insert(Pace { spent: now, next: now, waits: false });
        // The read that waits will show this change too.
        if pace.waits || self.reads >= MOST {
            return false;
        }
        self.reads += 1;
        let ahead = self.apart * (A_FEW - 1);
        let due = pace.spent.max(now).minus(ahead).max(pace.next);
        pace.spent = pace.spent.max(now).plus(self.apart);
        pace.next = due.max(now).plus(TOGETHER);
        if due <= now {
            return true;
        }
        pace.waits = true;
        self.later.entry(due).or_default().push(key);
        false
    }

    /// Whether a key that nobody has met may be told of.
    pub fn may_be_new(&mut self, now: Mono) -> bool {
        self.turn(now);
        self.new += 1;
        self.new <= MOST_NEW
    }

    /// When a read that was put off is due.
    pub fn due(&self) -> Option<Mono> {
        self.later.keys().next().copied()
    }

    /// The keys whose reads were put off until now.
    pub fn take_due(&mut self, now: Mono) -> Vec<KeyId> {
        let mut due = Vec::new();
        while let Some(first) = self.later.first_entry().filter(|e| *e.key() <= now) {
            due.extend(first.remove());
        }
        for key in &due {
            if let Some(pace) = self.paces.get_mut(key) {
                pace.waits = false;
            }
        }
        due
    }

    fn turn(&mut self, now: Mono) {
        if now.since(self.second) < SECOND {
            return;
        }
        (self.second, self.reads, self.new) = (now, 0, 0);
        self.paces.retain(|_, pace| pace.waits || pace.spent > now || pace.next > now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Mono {
        Mono(1_000_000_000_000 + ms * 1_000_000)
    }

    #[test]
    fn a_lock_that_changes_now_and_then_is_read_each_time() {
        let mut c = Changes::new(Duration::from_secs(2));
        for k in 0..100 {
            assert!(c.changed(KeyId(1), ms(k * 500)), "{k}");
        }
        assert_eq!(c.due(), None);
    }

    #[test]
    fn a_hot_lock_costs_a_few_reads_in_an_interval_and_its_last_change_is_read() {
        let mut c = Changes::new(Duration::from_secs(2));
        let mut reads = Vec::new();
        for t in 0..10_000 {
            let now = ms(t);
            if c.changed(KeyId(1), now) {
                reads.push(t);
            }
            reads.extend(c.take_due(now).iter().map(|_| t));
        }
        assert!(reads.starts_with(&[0, 20, 40, 60]), "{reads:?}");
        assert!(reads.len() <= 4 + 4 * 5, "{reads:?}");
        assert!(reads.windows(2).all(|w| w[1] - w[0] <= 501), "{reads:?}");
        let last = c.due().expect("its last change was not read");
        assert_eq!(c.take_due(last), [KeyId(1)]);
    }

    #[test]
    fn all_together_are_bounded_too() {
        let mut c = Changes::new(Duration::from_secs(2));
        let read = (0..100_000).filter(|k| c.changed(KeyId(*k), ms(k / 1000))).count();
        assert_eq!(read, MOST as usize);
        assert!(c.changed(KeyId(0), ms(1000)), "and again in the next second");
        assert!(c.paces.len() < 100_001, "what rests is forgotten");
        let new = (0..1000).filter(|_| c.may_be_new(ms(1001))).count();
        assert_eq!(new, MOST_NEW as usize);
    }
}

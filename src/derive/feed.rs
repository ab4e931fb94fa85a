//! A store's event feed as it stands, and the time in which it heard nothing. What it told comes as reads of locks.

use super::store::Store;
use crate::observe::FeedRead;
use crate::observe::feed::{Emptied, Standing, Why};

/// The feed of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feed {
    /// How it stands.
    pub standing: Standing,
    /// The config asks for this feed, not for whichever there may be.
    pub is_asked: bool,
    /// Nobody knows whether the server sends what it listens to.
    pub is_unsure: bool,
}

impl Feed {
    /// Whether something that is to be there is not: a feed that was asked for, or one that was there.
    pub fn is_lost(self) -> bool {
        match self.standing {
            Standing::Live => self.is_asked && self.is_unsure,
            Standing::Down(_) => true,
            Standing::Off(Why::Permission | Why::Unsupported | Why::Costly) => self.is_asked,
        }
    }
}

impl Store {
    /// Takes how the feed stands. The gap is the node's that it listens to.
    pub fn feed(&mut self, read: &FeedRead) {
        let &FeedRead { standing, is_asked, is_unsure, .. } = read;
        let line = self.lines.entry(read.node.line).or_default();
        line.feed = Some(Feed { standing, is_asked, is_unsure });
        match standing {
            Standing::Live => line.whole_since = Some(read.at),
            _ => line.whole_since = None,
        }
        line.emptied.clear();
        let node = self.node(&read.node);
        if !matches!(read.standing, Standing::Off(_)) || node.event_gap.is_some() {
            *node.event_gap.get_or_insert(0.0) += read.gap.as_secs_f64();
        }
    }
}

/// Told so often at most, the last ones.
const MOST_EMPTIED: usize = 16;

impl Store {
    /// The feed told that any key may have changed.
    pub fn emptied(&mut self, told: &Emptied) {
        let Some(line) = self.lines.get_mut(&told.node.line) else { return };
        if line.emptied.len() >= MOST_EMPTIED {
            // What is forgotten is not known to have come later.
            line.emptied.pop_front();
            line.whole_since = line.emptied.front().copied();
        }
        line.emptied.push_back(told.at);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::observe::node::{FailReason, Line};
    use crate::observe::{Mono, NodeRef, StoreId};

    fn gap_after(told: &[(Standing, u64)]) -> Option<f64> {
        let mut store = Store::new(StoreId(1), "main".into());
        for (standing, ms) in told {
            store.feed(&FeedRead {
                node: NodeRef { store: StoreId(1), line: Line::default(), addr: "a:1".into() },
                at: Mono(0),
                standing: *standing,
                is_asked: false,
                is_unsure: false,
                gap: Duration::from_millis(*ms),
            });
        }
        store.nodes.values().next().and_then(|n| n.event_gap)
    }

    #[test]
    fn a_feed_that_is_whole_has_a_gap_of_nothing_and_one_that_never_was_has_none() {
        let down = Standing::Down(FailReason::Network);
        assert_eq!(gap_after(&[(Standing::Live, 0)]), Some(0.0));
        assert_eq!(gap_after(&[(Standing::Off(Why::Costly), 0)]), None);
        let told = [(Standing::Live, 0), (down, 1500), (down, 500), (Standing::Live, 250)];
        assert_eq!(gap_after(&told), Some(2.25));
        let off = [(Standing::Live, 0), (down, 1500), (Standing::Off(Why::Permission), 0)];
        assert_eq!(gap_after(&off), Some(1.5), "no counter goes away");
    }
}

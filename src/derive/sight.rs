//! What a node showed of a lock, and the views of another node that wait to be held against the primary's: each counts only
//! between two reads of the primary of which one is surely older and one surely younger. What a difference means is not
//! decided here.

use std::collections::VecDeque;

use crate::observe::{Expiry, ServerTime, Span, Token};

/// E of two nodes is the same absolute time, and what differs by less is no write.
const SAME_EXPIRY_MICROS: i64 = 20_000;

/// Views that wait for the primary's next read at most. All nodes are swept in step, so one view comes before the read that
/// settles the view before it.
const MOST_PENDING: usize = 2;

/// What a node showed of the lock.
#[derive(Clone, Debug, PartialEq)]
pub struct Sight {
    /// When.
    pub span: Span,
    /// The node's clock.
    pub time: ServerTime,
    /// Its replication offset.
    pub offset: Option<u64>,
    /// What the key showed.
    pub held: Held,
}

/// Owner token and E; `None` if the key is absent.
pub type Held = Option<(Option<Token>, Expiry)>;

impl Sight {
    /// Whether both show the same owner and E.
    pub fn agrees(&self, other: &Sight) -> bool {
        match (&self.held, &other.held) {
            (None, None) => true,
            (Some((a, ea)), Some((b, eb))) => a == b && same_expiry(*ea, *eb),
            _ => false,
        }
    }
}

/// Whether two nodes mean the same instant.
pub fn same_expiry(a: Expiry, b: Expiry) -> bool {
    match (a, b) {
        (Expiry::At(a), Expiry::At(b)) => a.micros_since(b).abs() <= SAME_EXPIRY_MICROS,
        (a, b) => a == b,
    }
}

/// The newest of the primary's reads (given the newest first) that is surely older than the view. Sweeps run in step, so
/// the very newest one often overlaps it.
pub fn surely_before<'a>(
    view: &Sight,
    primary: impl IntoIterator<Item = &'a Sight>,
) -> Option<&'a Sight> {
    primary.into_iter().find(|p| p.span.done <= view.span.sent)
}

/// Views of another node, each with the primary's read before it, until the primary is read again.
#[derive(Clone, Debug, Default)]
pub struct Between(VecDeque<(Sight, Sight)>);

impl Between {
    /// Whether one more can wait.
    pub fn has_room(&self) -> bool {
        self.0.len() < MOST_PENDING
    }

    /// Takes a view with the primary's read before it.
    pub fn wait(&mut self, view: Sight, before: &Sight) {
        if self.has_room() {
            self.0.push_back((view, before.clone()));
        }
    }

    /// Drops the views about which the lock moved: also a read of the primary that overlaps a view tells that.
    pub fn keep_unmoved(&mut self, primary: &Sight, is_unmoved: impl Fn(&Sight, &Sight) -> bool) {
        self.0.retain(|(_, before)| is_unmoved(before, primary));
    }

    /// The next view that is surely older than this read of the primary, with the read before it.
    pub fn settled_by(&mut self, primary: &Sight) -> Option<(Sight, Sight)> {
        let is_older = self.0.front().is_some_and(|(view, _)| view.span.done <= primary.span.sent);
        if is_older { self.0.pop_front() } else { None }
    }
}

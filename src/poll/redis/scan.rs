//! Finds keys of a store's patterns: one `SCAN` call after another, spread out, round after round. Runs on the primary
//! only, and only tells what it saw.

use std::collections::BTreeSet;
use std::time::Duration;

use tracing::info;

use super::ability::RETRY_REFUSED;
use super::codec::Item;
use super::conn::Conn;
use super::failure::{Failure, is_noperm, is_unknown};
use super::pack;
use crate::clock;
use crate::observe::node::FailReason;
use crate::observe::{Mono, label};

/// Keys that the server looks at in one call; it stops nothing for longer than about 0.1 ms.
const COUNT: &[u8] = b"500";
/// Most keys that are taken of one call; servers give little more than they were asked for.
const MAX_KEYS: usize = 16_384;
/// Between two calls.
const STEP: Duration = Duration::from_millis(10);
/// Between the beginnings of two rounds, at least.
const ROUND: Duration = Duration::from_secs(5);

/// What a call brought.
#[derive(Debug, PartialEq)]
pub enum Page {
    /// Keys.
    Keys(Vec<Vec<u8>>),
    /// Keys, the last of this round.
    Last(Vec<Vec<u8>>),
    /// The ACL user may not scan.
    Refused,
}

/// The round over all patterns.
pub struct Scan {
    patterns: Vec<Vec<u8>>,
    round: Duration,
    at: usize,
    cursor: Vec<u8>,
    begun: Mono,
    /// The round that began then is over.
    is_over: bool,
    due: Mono,
    /// No call before that, over whatever connection.
    not_before: Mono,
    /// Whether the pattern at hand has matched anything in this round.
    matched: bool,
    /// Patterns of which it was said that they match nothing.
    told_empty: BTreeSet<usize>,
    /// Others look for the same elsewhere: that nothing matches here says nothing.
    is_part: bool,
}

impl Scan {
    /// Begins at once.
    pub fn new(patterns: Vec<Vec<u8>>, interval: Duration) -> Self {
        let now = clock::mono();
        let round = interval.max(ROUND);
        let cursor = b"0".to_vec();
        let told_empty = BTreeSet::new();
        Self {
            patterns,
            round,
            at: 0,
            cursor,
            begun: now,
            is_over: false,
            due: now,
            not_before: now,
            matched: false,
            told_empty,
            is_part: false,
        }
    }

    /// From now on these patterns are looked for, in a part of the store's keys only.
    pub fn look_for(&mut self, patterns: Vec<Vec<u8>>) {
        self.patterns = patterns;
        self.is_part = true;
        self.restart();
    }

    /// When the next call is due; `None` if there are no patterns.
    pub fn due(&self) -> Option<Mono> {
        (!self.patterns.is_empty()).then_some(self.due)
    }

    /// While all new keys have been told of since an instant, a round that began later is followed by none for this long.
    pub fn pace(&mut self, told_since: Option<Mono>, rare: Duration) {
        if self.is_over {
            let may_rest = told_since.is_some_and(|since| self.begun >= since);
            let round = if may_rest { self.round.max(rare) } else { self.round };
            self.due = self.begun.plus(round).max(self.not_before);
        }
    }

    /// A new connection: cursors of the old server mean nothing to another one.
    pub fn restart(&mut self) {
        self.at = 0;
        self.cursor = b"0".to_vec();
        self.is_over = false;
        self.matched = false;
        self.due = clock::mono().max(self.not_before);
    }

    /// Begins anew at once, whatever went wrong before.
    pub fn retry(&mut self) {
        self.not_before = clock::mono();
        self.restart();
    }

    /// Leaves the server alone for a while.
    pub fn pause(&mut self, pause: Duration) {
        self.not_before = clock::mono().plus(pause);
        self.restart();
    }

    /// One call.
    pub async fn step(&mut self, conn: &mut Conn) -> Result<Page, Failure> {
        let page = self.call(conn).await;
        if page.as_ref().is_err_and(|failure| failure.reason == FailReason::Protocol) {
            // It would break the next connection as well, and the locks that are known with it.
            self.not_before = clock::mono().plus(RETRY_REFUSED);
            self.restart();
        }
        page
    }

    async fn call(&mut self, conn: &mut Conn) -> Result<Page, Failure> {
        let Some(pattern) = self.patterns.get(self.at) else {
            self.restart();
            return Ok(Page::Last(Vec::new()));
        };
        let now = clock::mono();
        if self.at == 0 && self.cursor == b"0" {
            self.begun = now;
            self.is_over = false;
        }
        let mut request = Vec::new();
        let args = [b"SCAN".as_slice(), &self.cursor, b"MATCH", pattern, b"COUNT", COUNT];
        pack::command(&mut request, &args);
        conn.exchange(&request, 1).await?;
        let mut walk = conn.walk(0);
        match walk.next() {
            Some(Item::Many(2)) => {}
            Some(Item::Error(e)) if is_noperm(e) || is_unknown(e) => return Ok(Page::Refused),
            Some(Item::Error(e)) => return Err(Failure::server("SCAN", e)),
            _ => return Err(Failure::unexpected("SCAN")),
        }
        let bad = || Failure::unexpected("SCAN");
        let cursor = walk.bytes().filter(|c| c.len() <= 20).ok_or_else(bad)?.to_vec();
        let count = walk.many().filter(|n| *n <= MAX_KEYS).ok_or_else(bad)?;
        let mut keys = Vec::new();
        for _ in 0..count {
            keys.push(walk.bytes().ok_or_else(bad)?.to_vec());
        }
        self.due = clock::mono().plus(STEP);
        self.matched |= !keys.is_empty();
        if cursor != b"0" {
            self.cursor = cursor;
            return Ok(Page::Keys(keys));
        }
        self.cursor = cursor;
        self.tell_if_empty();
        self.at += 1;
        if self.at < self.patterns.len() {
            return Ok(Page::Keys(keys));
        }
        self.at = 0;
        self.is_over = true;
        self.due = self.begun.plus(self.round).max(self.due);
        Ok(Page::Last(keys))
    }

    /// A pattern with a typo matches nothing for ever, which looks like locks that are never taken: said once.
    fn tell_if_empty(&mut self) {
        let matched = std::mem::take(&mut self.matched);
        if matched || self.is_part {
            self.told_empty.remove(&self.at);
        } else if self.told_empty.insert(self.at)
            && let Some(pattern) = self.patterns.get(self.at)
        {
            info!(
                pattern = label::text(pattern),
                "no key matches this pattern now; it is looked for again and again"
            );
        }
    }
}

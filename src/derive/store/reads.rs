//! What reads of a line's primary, and of the keys beside a lock, mean for the locks. Which node is judged is not decided here.

use super::Store;
use super::settle::{marks, pool_of};
use super::unchanged::is_covered;
use crate::derive::host::StallRules;
use crate::derive::lock::{Learned, ReadContext};
use crate::derive::tenure::Seen;
use crate::derive::wanted::{Effects, Wanted};
use crate::derive::words::Evidence;
use crate::derive::workers::Workers;
use crate::observe::BatchRead;
use crate::observe::lock::CompanionRead;

impl Store {
    pub(super) fn read_locks(
        &mut self,
        batch: &BatchRead,
        stalls: StallRules,
        workers: &mut Workers,
        fx: &mut Effects,
    ) {
        let replicated = self.replicated(batch.node.line, batch.span.done, stalls.poll);
        if replicated.flatten().is_some() {
            self.lines.entry(batch.node.line).or_default().is_replicated = true;
        }
        let Some(node) = self.nodes.get(&batch.node.addr) else { return };
        let Some(line) = self.lines.get(&batch.node.line) else { return };
        let marks = marks(node, line);
        let hears = line.hears_overwrites();
        // Nothing about leases can be judged by a clock that stands still.
        if node.clock.is_standing() {
            for read in &batch.reads {
                // What it showed is so whatever the clock does.
                if let Some(lock) = self.locks.get_mut(&read.key).filter(|l| is_covered(l)) {
                    lock.shows(&read.found);
                }
            }
            return;
        }
        let seen = Seen { span: batch.span, time: batch.time, marks };
        let mut learned = None;
        for read in &batch.reads {
            let key = self.further.get(&read.key).unwrap_or(&read.key);
            let Some(mut lock) = self.locks.read_mut(key) else { continue };
            let entry = pool_of(&lock.rules);
            let pool = self.pools.get(&entry);
            let owners = &self.owners;
            let addr = &batch.node.addr;
            if lock.is_still() && lock.line == batch.node.line {
                let learned = match learned {
                    Some((of, learned)) if of == entry => learned,
                    _ => learned.insert((entry, Learned::of(pool, seen.span.done))).1,
                };
                let (poll, clock, offset) = (stalls.poll, &node.clock, batch.offset);
                let c = ReadContext {
                    seen,
                    addr,
                    offset,
                    replicated,
                    clock,
                    poll,
                    pool,
                    stalls,
                    owners,
                };
                if lock.stays(&read.found, &c, workers, learned) {
                    continue;
                }
            }
            if lock.rest().is_some() {
                let Some(woken) = self.locks.get_mut(key) else { continue };
                lock = woken;
            }
            if is_covered(lock) {
                lock.shows(&read.found);
            }
            if lock.servers.is_some() {
                lock.line = batch.node.line;
            } else if lock.line != batch.node.line && !lock.moves(batch, read, marks, fx) {
                continue;
            }
            let (poll, mut clock, mut offset) = (stalls.poll, &node.clock, batch.offset);
            let whole;
            let is_single = lock.servers.is_none() && lock.spread.is_none();
            let (found, seen) = if is_single {
                (&read.found, seen)
            } else if let Some(servers) = &mut lock.servers {
                let Some(shift) = self.common.shift(clock) else { continue };
                let all = servers.take(batch.node.line, &read.found, seen, shift, poll);
                let Some((found, seen)) = all else { continue };
                self.common.tick(seen.span.done, clock.rtt());
                whole = found;
                (clock, offset) = (&self.common.clock, None);
                (&whole, seen)
            } else if let Some(spread) = &mut lock.spread {
                let Some((found, seen)) = spread.take(read, seen, poll) else { continue };
                whole = found;
                (&whole, seen)
            } else {
                (&read.found, seen)
            };
            // A replica of one of several servers has no more than a vote.
            let replicated = replicated.filter(|_| lock.servers.is_none());
            let c =
                ReadContext { seen, addr, offset, replicated, clock, poll, pool, stalls, owners };
            let unknown = lock.counts.ends[Evidence::Unknown as usize];
            lock.read(found, &c, workers, fx);
            if hears && lock.servers.is_none() && lock.may_have_been_overwritten(seen.span.done) {
                fx.wanted.push(Wanted::Facts { store: self.id });
            }
            lock.count_votes(seen.span.done, fx);
            lock.counted_servers(seen, fx);
            self.missed.tell(lock, fx);
            // Ends that waited too long for facts are given up there and then.
            self.lease_ends[Evidence::Unknown as usize] +=
                lock.counts.ends[Evidence::Unknown as usize] - unknown;
            if is_single {
                lock.was_read(found, &c);
            }
        }
    }

    /// Takes what the keys beside a lock told.
    pub fn companions(
        &mut self,
        read: &CompanionRead,
        stalls: StallRules,
        workers: &mut Workers,
        fx: &mut Effects,
    ) {
        let Some(lock) = self.locks.get_mut(&read.key) else { return };
        // What lies beside the key on one of several servers is not all of it.
        if lock.servers.is_some() {
            return;
        }
        let Some(line) = self.lines.get(&lock.line) else { return };
        let Some(node) = line.primary.as_ref().and_then(|p| self.nodes.get(p)) else { return };
        if node.clock.is_standing() {
            return;
        }
        let marks = marks(node, line);
        let seen = Seen { span: read.span, time: read.time, marks };
        let pool = self.pools.get(&pool_of(&lock.rules));
        let (poll, clock, owners) = (stalls.poll, &node.clock, &self.owners);
        let (addr, offset, replicated) = (&node.addr, None, None);
        let c = ReadContext { seen, addr, offset, replicated, clock, poll, pool, stalls, owners };
        lock.told_beside(read, &c, workers, fx);
    }
}

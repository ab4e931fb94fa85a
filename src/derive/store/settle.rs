//! How ends of tenures are settled by the primary's facts, and what they teach all locks of one config entry.

use std::sync::Arc;
use std::time::Duration;

use super::Store;
use super::line::LineState;
use crate::config::LockRules;
use crate::derive::ends::{After, Cut, PendingEnd};
use crate::derive::flushed::{self, Calls, Stay};
use crate::derive::lock::{Kept, Lock, Told};
use crate::derive::node::Node;
use crate::derive::servers;
use crate::derive::tenure::Marks;
use crate::derive::wanted::Effects;
use crate::derive::words::Evidence;
use crate::observe::node::Flushes;
use crate::observe::{KeyId, Line, Mono, NodeFacts};

/// Longest lease assumed for a restart before any lease is known.
const LEAST_UNSAFE: Duration = Duration::from_secs(30);

impl Store {
    pub(super) fn longest_lease(&self) -> Duration {
        let longest = self.locks.values().filter_map(|l| l.longest_lease()).fold(0.0, f64::max);
        Duration::try_from_secs_f64(longest).unwrap_or_default().max(LEAST_UNSAFE)
    }

    /// The observer itself stood still, and its clock with it: nothing seen before and after belongs together.
    pub(in crate::derive) fn we_stood_still(&mut self) {
        self.break_all();
        for end in self.locks.values_mut().flat_map(|l| &mut l.pending) {
            end.is_broken |= end.last.marks.steps != end.gone.marks.steps;
        }
    }

    /// The primary is another process than at its last facts, over the connection of its last reads. That it is another one
    /// shows only after the first of these: an end for which the connection was lost, and that showed itself over this one,
    /// is the restart's.
    pub(super) fn restarted_before(&mut self, line: Line) {
        let Some(state) = self.lines.get(&line) else { return };
        let (before, now, failovers) = (state.facts_breaks, state.breaks, state.failover_marks + 1);
        let locks = self.locks.values_mut().filter(|l| l.line == line && l.servers.is_none());
        for end in locks.flat_map(|l| &mut l.pending) {
            let (last, gone) = (end.last.marks.breaks, end.gone.marks.breaks);
            if last <= before && before < gone && gone == now {
                end.gone.marks.failovers = failovers;
            }
        }
    }

    /// What is held on a line, if its node ever emptied a single database.
    fn stays(&self, line: Line, facts: &NodeFacts) -> Vec<Stay> {
        if facts.flushes.is_none_or(|flushes| flushes.one == 0) {
            return Vec::new();
        }
        let awake = self.locks.awake().filter_map(|(_, lock)| lock.stay(line));
        // What rests was there when the last word on it was asked for.
        let until = self.locks.last_word(line).map(|probe| probe.seen.span.sent);
        let classes = self.locks.at_rest().filter(|c| c.line() == line);
        let oldest = classes.flat_map(|c| c.oldest(flushed::MOST_STAYS));
        let rests = oldest.filter_map(|(from, key)| {
            let own = self.locks.get(&key)?.stay(line)?;
            Some(Stay { from, until: until.map_or(own.until, |until| until.max(own.until)) })
        });
        flushed::oldest(awake.chain(rests))
    }

    pub(super) fn settle_ends(&mut self, facts: &NodeFacts, fx: &mut Effects) {
        self.settle_some(facts, None, fx);
    }

    /// Settles the ends of these locks, or of all; gives which ended how.
    pub(super) fn settle_some(
        &mut self,
        facts: &NodeFacts,
        keys: Option<&[KeyId]>,
        fx: &mut Effects,
    ) -> Vec<(KeyId, Evidence)> {
        let mut ended = Vec::new();
        // Whether the server's clock was stepped or we stood still is known within two polls.
        if self.nodes.get(&facts.node.addr).is_some_and(|n| n.clock.undecided.is_some()) {
            return ended;
        }
        let line = facts.node.line;
        let cut = self.lines.get(&line).map(|l| l.succession.cut).unwrap_or_default();
        let stays = self.stays(line, facts);
        let has_others = self.nodes.get(&facts.node.addr).is_none_or(|n| n.has_other_databases);
        let is_only = !has_others && facts.has_other_databases == Some(false);
        let emptied: Vec<Mono> = self.lines.get(&line).map_or_else(Vec::new, LineState::emptied);
        let heard = self.lines.get(&line).and_then(LineState::whole_since);
        let calls = facts.flushes;
        let sent = facts.span.sent;
        let flushes = Calls { calls, sent, is_only, stays: &stays, heard, emptied: &emptied };
        let after = After { flushes, evicted: facts.evicted_keys, cut };
        let failovers = self.lines.get(&line).map(|l| l.failover_marks).unwrap_or_default();
        let of_servers = servers::After {
            line: usize::from(line.0),
            sent: facts.span.sent,
            failovers,
            flushes,
            evicted: facts.evicted_keys,
        };
        let due: Vec<KeyId> = match keys {
            Some(keys) => keys.to_vec(),
            None => {
                // A lock at which nothing goes on waits for nothing, and need not be asked.
                let waits =
                    |l: &Kept| !l.is_still() && (!l.pending.is_empty() || l.servers.is_some());
                let waiting = self.locks.awake().filter(|(_, l)| waits(l));
                waiting.map(|(key, _)| *key).collect()
            }
        };
        for key in due {
            let Some(mut lock) = self.locks.remove(&key) else { continue };
            if lock.line != line && lock.servers.is_none() {
                self.locks.insert(key, lock);
                continue;
            }
            let (after, time, hearing) = match lock.servers {
                Some(_) => {
                    lock.learn_losses(&of_servers);
                    // What else ends a lock over several servers is told by none of them.
                    let calls = Some(Flushes::default());
                    let flushes = Calls { calls, ..Calls::default() };
                    let none = After { flushes, evicted: Some(0), cut: Cut::All };
                    (none, self.common.at(facts.span.done), None)
                }
                None => {
                    let hearing = self.lines.get(&line).and_then(LineState::hearing);
                    (after, facts.time, hearing)
                }
            };
            let told = |lock: &Lock, end: &PendingEnd| {
                hearing.map_or(Told::Nothing, |hearing| hearing.told(lock, end))
            };
            let settled = lock.settle_ends(facts.span.sent, after, time, told, fx);
            for (evidence, end) in settled {
                if let Some(n) = self.lease_ends.get_mut(evidence as usize) {
                    *n += 1;
                }
                if lock.rules.pooled {
                    let own_end = matches!(evidence, Evidence::Released | Evidence::Unknown);
                    let pool = self.pools.entry(pool_of(&lock.rules)).or_default();
                    if end.tells_hold(evidence) {
                        pool.holds.learn(end.held, own_end, facts.span.done);
                    }
                    pool.leases.learn(end.largest);
                }
                ended.push((key, evidence));
            }
            self.locks.insert(key, lock);
        }
        ended
    }
}

/// Counters as of now, for a read of this primary.
pub(super) fn marks(node: &Node, line: &LineState) -> Marks {
    let facts = node.facts.as_ref();
    Marks {
        breaks: line.breaks,
        failovers: line.failover_marks,
        steps: node.clock.steps,
        stepped_micros: node.clock.stepped_micros,
        flushes: facts.and_then(|f| f.flushes),
        counted_at: facts.map(|f| f.span.sent),
        evicted: facts.and_then(|f| f.evicted_keys),
    }
}

/// Locks of one config entry share their rules, and with them the pool of their holds.
pub(super) fn pool_of(rules: &Arc<LockRules>) -> usize {
    Arc::as_ptr(rules) as usize
}

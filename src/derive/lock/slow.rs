//! Slow commands on a lock's key, as its servers' slow logs told of them; and a hint: two owners' acquires within one lease. An
//! acquire that failed, or that followed a release, looks the same in the log, so that this proves nothing.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Lock;
use super::proof::{Basis, Party, Proof};
use crate::derive::wanted::{Effects, Weight};
use crate::derive::words::ContentionKind;
use crate::observe::Mono;
use crate::observe::slowlog::{SlowCommand, Touch};

/// Commands that are kept of one lock.
const MOST: usize = 8;

/// Slow commands on a lock's key.
#[derive(Clone, Debug, Default)]
pub struct SlowCommands {
    /// The last ones, oldest first.
    pub last: VecDeque<SlowEntry>,
    /// Whose acquire came last, and when on the server's clock.
    acquired: Option<(Arc<str>, i64)>,
}

/// One of them.
#[derive(Clone, Debug)]
pub struct SlowEntry {
    /// The node whose log it is in.
    pub addr: Arc<str>,
    /// What the log says.
    pub command: SlowCommand,
    /// Whether it touched the key.
    pub touch: Touch,
}

impl Lock {
    /// A slow command on its key that was not told before; `owner` is the fingerprint of the one that it acquires for, if it
    /// does and is to be counted.
    pub(in crate::derive) fn slow_command(
        &mut self,
        entry: SlowEntry,
        owner: Option<&Arc<str>>,
        at: Mono,
        fx: &mut Effects,
    ) {
        let at_secs = entry.command.at_secs;
        if self.slow.last.len() >= MOST {
            self.slow.last.pop_front();
        }
        self.slow.last.push_back(entry);
        let Some(owner) = owner else { return };
        let before = self.slow.acquired.replace((owner.clone(), at_secs));
        // A vote on one of several servers, or one of several keys, is no acquire.
        if !self.is_exclusive() || self.servers.is_some() {
            return;
        }
        let Some((lease, _)) = self.lease() else { return };
        let Some((other, earlier)) = before.filter(|(other, _)| other != owner) else { return };
        // The log knows whole seconds: they are apart by less than one more than it says.
        let apart = at_secs.saturating_sub(earlier).saturating_add(1);
        if at_secs >= earlier && apart.saturating_mul(1_000_000) <= lease {
            let party = |known_by| Party { known_by: Some(known_by), ..Party::default() };
            let owners = vec![party(other), party(owner.clone())];
            let (kind, basis) = (ContentionKind::Slowlog, Basis::Reads);
            let hint = Proof { kind, at, owners, basis };
            self.note(at, "slow_acquires", &hint.in_words(), Weight::Routine, fx);
            self.contested.keep(hint);
        }
    }
}

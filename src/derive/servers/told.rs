//! What a lock tells of its votes: each loss of one, that it holds by too few, and the losses that its ends wait for.

use super::{After, Losses, Servers};
use crate::derive::flushed::Stay;
use crate::derive::lock::Lock;
use crate::derive::quorum::Votes;
use crate::derive::tenure::Seen;
use crate::derive::wanted::{Effects, Weight};
use crate::derive::words::Signal;
use crate::observe::{Line, ServerTime, Token};

impl Servers {
    /// What the holder that was had lost.
    pub fn take_ended(&mut self) -> Losses {
        std::mem::take(&mut self.ended)
    }

    /// Whether some server has a live vote of this owner.
    fn shows(&self, owner: &Option<Token>, time: ServerTime) -> bool {
        self.places.iter().any(|p| p.answers() && p.shows(owner, time))
    }

    /// What the server of a line has had since when.
    pub fn stay(&self, line: Line) -> Option<Stay> {
        self.places.get(usize::from(line.0))?.stay()
    }

    /// Whether what was just counted shows that the lock was written: so many servers as an owner needs were.
    pub fn is_written(&self) -> bool {
        self.is_written
    }

    /// Whether it shows that the lock's end was set to an earlier one. An end is also earlier once the server that had the
    /// latest one lost its vote, which is nobody's deed.
    pub fn is_shortened(&self) -> bool {
        self.is_shortened
    }

    /// Votes that the holder has fewer than in the count before.
    fn fewer(&mut self) -> Option<Votes> {
        let votes = self.votes.filter(|_| self.holder.is_some())?;
        let before = std::mem::replace(&mut self.before, votes.most);
        (votes.most < before).then_some(votes)
    }
}

impl Lock {
    /// How many keys or servers show its owner; `None` for a lock of one key on one server, and while that is not known.
    pub fn votes(&self) -> Option<Votes> {
        match &self.servers {
            Some(servers) => servers.votes,
            None => self.spread.as_ref()?.votes,
        }
    }

    /// All servers were counted, and the lock was judged by that.
    pub fn counted_servers(&mut self, whole: Seen, fx: &mut Effects) {
        let at = whole.span.done;
        let Some(servers) = &mut self.servers else { return };
        for end in self.pending.iter_mut().filter(|e| e.gone.span.done < whole.span.sent) {
            if let Some(losses) = &mut end.losses {
                losses.recounted(servers.shows(&end.token, whole.time));
            }
        }
        let (is_degraded, most) = (servers.is_degraded, servers.most);
        let votes = servers.votes;
        if let Some(Votes { most, needed, of }) = servers.fewer() {
            let detail = format!("its holder has {most} of {of} servers left, and needs {needed}");
            self.note(at, "votes_lost", &detail, Weight::Change, fx);
        }
        let detail = || match votes {
            Some(Votes { most: now, needed, of }) => {
                format!("its holder has {now} of {of} servers, had {most}, and needs {needed}")
            }
            None => String::new(),
        };
        self.signal(Signal::QuorumDegraded, votes.map(|_| is_degraded), at, detail, fx);
    }

    /// Takes a server's facts for what owners lost.
    pub fn learn_losses(&mut self, after: &After<'_>) {
        if let Some(servers) = &mut self.servers {
            servers.losses.learn(after);
            servers.ended.learn(after);
        }
        self.pending.iter_mut().filter_map(|e| e.losses.as_mut()).for_each(|l| l.learn(after));
    }
}

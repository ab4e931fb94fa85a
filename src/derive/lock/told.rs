//! What is told of a lock: signals that rise and fall, transitions for its timeline and the log.

use super::{Lock, Transition};
use crate::derive::signals::Change;
use crate::derive::wanted::{Effects, Notice, Weight};
use crate::derive::words::Signal;
use crate::observe::Mono;

/// The rank of what needs a look and is no signal: behind all that are.
const NO_SIGNAL: u8 = Signal::ALL.len() as u8;

/// Transitions kept for the timeline.
const TIMELINE: usize = 16;

impl Lock {
    /// Sets a signal, and tells of its rise or fall. `detail` is made only for a rise: this runs at every read.
    pub(in crate::derive) fn signal(
        &mut self,
        signal: Signal,
        value: Option<bool>,
        at: Mono,
        detail: impl FnOnce() -> String,
        fx: &mut Effects,
    ) {
        let change = self.signals.set(signal, value);
        if value == Some(true) {
            self.look(signal as u8, at, fx);
        }
        if let Some(raised) = &mut self.raised {
            if change == Some(Change::Rose) {
                raised.push((signal, detail()));
            }
            return;
        }
        match change {
            Some(Change::Rose) => self.note(at, signal.as_str(), &detail(), Weight::Alarm, fx),
            Some(Change::Fell) => {
                let detail = format!("{} is over", signal.as_str());
                self.note(at, "cleared", &detail, Weight::Change, fx);
            }
            None => {}
        }
    }

    /// A fencing token of the lock went down. Its series are for somebody to look at, whichever locks have any.
    pub fn token_regressed(&mut self, at: Mono, detail: &str, fx: &mut Effects) {
        self.look(NO_SIGNAL, at, fx);
        self.note(at, "fencing_regressed", detail, Weight::Alarm, fx);
    }

    /// Under the lock there were more side effects than requests; told as above.
    pub fn effects_duplicated(&mut self, at: Mono, detail: &str, fx: &mut Effects) {
        self.look(NO_SIGNAL, at, fx);
        self.note(at, "effects_duplicated", detail, Weight::Alarm, fx);
    }

    /// Remembers a transition and tells of it.
    pub(in crate::derive) fn note(
        &mut self,
        at: Mono,
        what: &'static str,
        detail: &str,
        weight: Weight,
        fx: &mut Effects,
    ) {
        if self.timeline.len() == TIMELINE {
            self.timeline.pop_front();
        }
        // How a tenure ended is settled after the next one began, but it belongs before it.
        let later = self.timeline.iter().rev().take_while(|t| {
            t.at > at || (t.at == at && t.what == "acquired" && what != "acquired")
        });
        let place = self.timeline.len() - later.count();
        self.timeline.insert(place, Transition { at, what, detail: detail.to_owned() });
        fx.notices.push(Notice {
            weight,
            store: self.store_name.clone(),
            subject: self.name.clone(),
            what,
            detail: detail.to_owned(),
        });
    }
}

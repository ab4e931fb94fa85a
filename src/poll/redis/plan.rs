//! What a sweep that begins now reads: its batches, and what was refused or too large for long enough to be tried again.
//! Batches change their size between two sweeps only, since a plan goes by their numbers.

use std::time::Duration;

use super::batch::Form;
use super::batch_size::Execs;
use super::slot::Slot;
use super::sweep::Sweeper;
use crate::clock;

/// How long a value with too many elements to be read is left uncounted; a semaphore's members come and go.
const RECOUNT: Duration = Duration::from_secs(30);

impl Sweeper {
    /// The batches of a sweep that begins now; gives what was refused or too large long ago another try.
    pub fn plan(&mut self) -> Vec<(Form, usize)> {
        self.note_memory();
        self.resize();
        let now = clock::mono();
        let at_once = std::mem::take(&mut self.retry_refused);
        let again =
            |slot: &Slot| slot.crowded.is_some_and(|since| at_once || now.since(since) >= RECOUNT);
        let crowded = self.members(Form::Opaque).into_iter();
        let mut retried: Vec<u32> =
            crowded.filter(|p| self.slots.get(*p).is_some_and(again)).collect();
        retried.extend(self.denied_due(at_once, now));
        for place in retried {
            self.settle(place, None);
        }
        self.groups.plan()
    }

    /// What the server has counted of transactions since the last sweep.
    pub fn note_execs(&mut self, execs: Option<Execs>) {
        let ours = std::mem::take(&mut self.transactions);
        self.size.note(ours, execs);
    }

    /// In a cluster each key has a transaction of its own.
    fn resize(&mut self) {
        if self.membership.is_some() || self.groups.limit() == self.size.keys() {
            return;
        }
        let slots = &mut self.slots;
        self.groups.resize(self.size.keys(), |place, index| {
            if let Some(slot) = slots.get_mut(place) {
                slot.home = Some(index);
            }
        });
    }
}

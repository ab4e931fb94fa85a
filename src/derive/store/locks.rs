//! The locks of a store: those that are awake, of which each read is looked at, and those at rest, of which one word tells all
//! there is to know of their reads. Whoever may change a lock wakes it by that; what rests is brought up to date only when it
//! wakes or is looked at. Judges nothing.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use super::rest::{Class, Classes};
use crate::derive::lock::{Kept, Learned, Lock, Probe, Rest};
use crate::derive::tenure::Seen;
use crate::observe::{KeyId, Line};

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Locks {
    awake: BTreeMap<KeyId, Kept>,
    resting: BTreeMap<KeyId, Kept>,
    classes: Classes,
    logs: BTreeMap<Line, Log>,
}

/// The last reads of all that rests in a line.
#[derive(Clone, Copy, Debug)]
struct Log {
    count: u64,
    before: Probe,
    last: Probe,
    /// Since the last sweep ended.
    is_new: bool,
}

impl Locks {
    /// How many.
    pub fn len(&self) -> usize {
        self.awake.len() + self.resting.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All, in no order that means anything. When they were last seen is not up to date of those at rest.
    pub fn values(&self) -> impl Iterator<Item = &Kept> {
        self.awake.values().chain(self.resting.values())
    }

    /// Those that are awake.
    pub fn awake(&self) -> impl Iterator<Item = (&KeyId, &Kept)> {
        self.awake.iter()
    }

    /// The same, to change them.
    pub fn awake_mut(&mut self) -> impl Iterator<Item = &mut Kept> {
        self.awake.values_mut()
    }

    /// All, to change them: none rests any more.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Kept> {
        self.wake_all();
        self.awake.values_mut()
    }

    /// One. When it was last seen is not up to date if it rests.
    pub fn get(&self, key: &KeyId) -> Option<&Kept> {
        self.awake.get(key).or_else(|| self.resting.get(key))
    }

    /// One, to change it: it rests no more.
    pub fn get_mut(&mut self, key: &KeyId) -> Option<&mut Kept> {
        self.wake(*key);
        self.awake.get_mut(key)
    }

    /// A lock of that key.
    pub fn insert(&mut self, key: KeyId, lock: Kept) {
        self.remove(&key);
        self.awake.insert(key, lock);
    }

    /// It is none of ours any more.
    pub fn remove(&mut self, key: &KeyId) -> Option<Kept> {
        self.wake(*key);
        self.awake.remove(key)
    }

    /// None is left here.
    pub fn take_all(&mut self) -> impl Iterator<Item = Kept> + use<> {
        self.wake_all();
        (self.classes, self.logs) = Default::default();
        std::mem::take(&mut self.awake).into_values()
    }

    /// What rests, by class, with one lock that stands for all of it, up to date.
    pub fn classes(&self) -> impl Iterator<Item = (&Class, Cow<'_, Lock>)> {
        self.classes.all().filter_map(|class| Some((class, self.current(&class.any()?)?)))
    }

    /// What rests, by class.
    pub(in crate::derive) fn at_rest(&self) -> impl Iterator<Item = &Class> {
        self.classes.all()
    }

    /// A lock as it is, up to date.
    pub fn current(&self, key: &KeyId) -> Option<Cow<'_, Lock>> {
        let kept = self.get(key)?;
        match self.missed(kept) {
            Some((times, log)) if times > 0 => {
                let mut lock = Lock::clone(kept);
                lock.seen_so_often(times, log.before, log.last);
                Some(Cow::Owned(lock))
            }
            _ => Some(Cow::Borrowed(kept)),
        }
    }

    /// Until when a lock at rest was seen to be as it is: when the last word on it was asked for.
    pub(super) fn last_word(&self, line: Line) -> Option<Probe> {
        self.logs.get(&line).map(|log| log.last)
    }

    /// Reads since then that a lock at rest was not told of.
    fn missed(&self, kept: &Kept) -> Option<(u64, &Log)> {
        let rest = kept.rest()?;
        let log = self.logs.get(&kept.line)?;
        Some((log.count.saturating_sub(rest.reads), log))
    }

    /// The keys of those at rest.
    pub fn resting(&self) -> impl Iterator<Item = &KeyId> {
        self.resting.keys()
    }

    /// Whether it is at rest.
    pub fn rests(&self, key: &KeyId) -> bool {
        self.resting.contains_key(key)
    }

    /// One that is read, up to date. If it rests, it rests on, and may only be seen as it is.
    pub(super) fn read_mut(&mut self, key: &KeyId) -> Option<&mut Kept> {
        if let Some(kept) = self.awake.get_mut(key) {
            return Some(kept);
        }
        let kept = self.resting.get_mut(key)?;
        catch_up(&self.logs, kept);
        Some(kept)
    }

    /// It rests no more.
    pub(super) fn wake(&mut self, key: KeyId) {
        let Some(mut kept) = self.resting.remove(&key) else { return };
        catch_up(&self.logs, &mut kept);
        if let Some(rest) = kept.woken() {
            self.classes.remove(&kept, rest);
        }
        self.awake.insert(key, kept);
    }

    /// None rests any more.
    pub(in crate::derive) fn wake_all(&mut self) {
        let logs = &self.logs;
        let mut woken = std::mem::take(&mut self.resting);
        for kept in woken.values_mut() {
            catch_up(logs, kept);
            kept.woken();
        }
        match self.awake.is_empty() {
            true => self.awake = woken,
            false => self.awake.extend(woken),
        }
        self.classes.clear();
    }

    /// None of a line rests any more.
    pub(super) fn wake_line(&mut self, line: Line) {
        let keys: Vec<KeyId> =
            self.resting.iter().filter(|(_, l)| l.line == line).map(|(key, _)| *key).collect();
        match keys.len() == self.resting.len() {
            true => self.wake_all(),
            false => keys.into_iter().for_each(|key| self.wake(key)),
        }
        self.logs.remove(&line);
    }

    /// Wakes what has to be judged by a read of then.
    pub(super) fn wake_due(
        &mut self,
        line: Line,
        seen: &Seen,
        poll: Duration,
        learned: impl Fn(usize) -> Learned,
    ) {
        let of_line = self.classes.all().filter(|c| c.line() == line);
        let due: Vec<KeyId> = of_line.flat_map(|c| c.due(seen, poll, learned(c.entry()))).collect();
        due.into_iter().for_each(|key| self.wake(key));
    }

    /// Whether a read of then goes on from the one before, for all that rests in the line.
    pub(super) fn goes_on(&self, line: Line, probe: &Probe, poll: Duration) -> bool {
        self.logs.get(&line).is_some_and(|log| log.last.is_followed_by(probe, poll))
    }

    /// All that rests in the line was seen as it is.
    pub(super) fn seen(&mut self, line: Line, probe: Probe) {
        let log = self.logs.entry(line);
        let log = log.or_insert(Log { count: 0, before: probe, last: probe, is_new: true });
        *log = Log { count: log.count + 1, before: log.last, last: probe, is_new: true };
    }

    /// A lock that was just seen so comes to rest, if it may.
    pub(super) fn rest(&mut self, key: KeyId, entry: usize, poll: Duration) {
        let Some(mut kept) = self.awake.remove(&key) else { return };
        let reads = self.logs.get(&kept.line).map(|log| log.count);
        let rest = self.classes.add(&kept, entry, poll).zip(reads);
        match rest {
            Some((rest, reads)) => {
                kept.comes_to_rest(Rest { reads, ..rest });
                self.resting.insert(key, kept);
            }
            None => {
                self.awake.insert(key, kept);
            }
        }
    }

    /// A sweep over a line ended: what rests there does so no more if no word came of it.
    pub(super) fn swept(&mut self, line: Line) {
        match self.logs.get_mut(&line) {
            Some(log) if log.is_new => log.is_new = false,
            Some(_) => self.wake_line(line),
            None => {}
        }
    }
}

fn catch_up(logs: &BTreeMap<Line, Log>, kept: &mut Kept) {
    if let Some(log) = logs.get(&kept.line) {
        kept.catch_up(log.count, log.before, log.last);
    }
}

#[cfg(test)]
impl std::ops::Index<&KeyId> for Locks {
    type Output = Kept;

    fn index(&self, key: &KeyId) -> &Kept {
        self.get(key).expect("no lock of this key")
    }
}

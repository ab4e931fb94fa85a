//! What a line's event feed lets its primary's poller take for unchanged. The feed notes which keys changed and that it is
//! whole; the poller asks it to prove that up to now. Decides nothing about a key, and does no I/O.
//!
//! Why an answer proves it: the poller reads the server's time first, and only once it has that does the feed ask its own
//! question. What was done before the time was read was told of before the answer to the question, as the server sends what
//! it has to tell of a command before the next one of that client is answered.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};

use crate::observe::{KeyId, Mono};

/// Changed keys that are remembered one by one; beyond it any may have changed.
const MOST: usize = 1 << 20;

/// What the feed of one line proves.
pub struct Silence {
    inner: Mutex<Inner>,
    /// The poller wants a proof.
    wanted: Notify,
    /// Something became known: a proof, or that there is none.
    told: watch::Sender<()>,
}

impl Default for Silence {
    fn default() -> Self {
        Self { inner: Mutex::default(), wanted: Notify::new(), told: watch::Sender::new(()) }
    }
}

#[derive(Default)]
struct Inner {
    whole: Option<Whole>,
    /// When keys last changed, as far as that is known.
    changed: HashMap<KeyId, Mono>,
    /// The newest key that the feed knows by name.
    last: Option<KeyId>,
    /// When a key that is not watched yet was last passed over.
    missed: Option<Mono>,
}

/// A feed that is whole.
struct Whole {
    /// The run id of the server that it listens to: its address may lead another connection elsewhere.
    server: String,
    since: Mono,
    answered: Option<Mono>,
}

/// What is proven of the time up to an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The answer is still to come.
    Waits,
    /// None: the feed is not whole.
    Lost,
    /// All changes since then were told of, of keys up to this number.
    Since(Mono, Option<KeyId>),
}

impl Silence {
    /// The feed of the server with this run id tells of every change from here on.
    pub fn begin(&self, server: String, since: Mono) {
        let mut inner = self.inner();
        inner.changed.clear();
        inner.missed = None;
        inner.whole = Some(Whole { server, since, answered: None });
        self.told.send_replace(());
    }

    /// Changes may go untold from here on.
    pub fn end(&self) {
        let was_whole = self.inner().whole.take().is_some();
        if was_whole {
            self.told.send_replace(());
        }
    }

    /// Any key may have changed.
    pub fn any_changed(&self, now: Mono) {
        let mut inner = self.inner();
        inner.changed.clear();
        if let Some(whole) = &mut inner.whole {
            whole.since = whole.since.max(now);
            self.told.send_replace(());
        }
    }

    /// This key changed.
    pub fn changed(&self, key: KeyId, now: Mono) {
        let mut inner = self.inner();
        if inner.whole.is_none() {
            return;
        }
        if inner.changed.len() >= MOST {
            drop(inner);
            return self.any_changed(now);
        }
        inner.changed.insert(key, now);
    }

    /// From now on the feed knows these keys by name; what was told of them before was passed over.
    pub fn knows(&self, new: &[KeyId], last: Option<KeyId>, now: Mono) {
        if new.len() >= MOST {
            self.any_changed(now);
        }
        new.iter().for_each(|key| self.changed(*key, now));
        self.inner().last = last;
    }

    /// A key that no node is told to read was passed over, and only `SCAN` will meet it.
    pub fn missed(&self, now: Mono) {
        self.inner().missed = Some(now);
    }

    /// The feed answered a question of that instant.
    pub fn answered(&self, asked: Mono) {
        if let Some(whole) = &mut self.inner().whole {
            whole.answered = Some(asked);
        }
        self.told.send_replace(());
    }

    /// Waits until somebody wants a proof.
    pub async fn wanted(&self) {
        self.wanted.notified().await;
    }

    /// Since when the feed of this server is whole, if it is.
    pub fn since(&self, server: &str) -> Option<Mono> {
        self.inner().whole.as_ref().filter(|w| w.server == server).map(|w| w.since)
    }

    /// Since when all new keys of that server were told of, if they are.
    pub fn since_for_new(&self, server: &str) -> Option<Mono> {
        let since = self.since(server)?;
        Some(self.inner().missed.map_or(since, |at| at.max(since)))
    }

    /// Asks for a proof of the time up to now.
    pub fn ask(&self) {
        self.wanted.notify_one();
    }

    /// What is proven of the time up to `until`.
    pub fn proof(&self, server: &str, until: Mono) -> Proof {
        let inner = self.inner();
        match inner.whole.as_ref().filter(|w| w.server == server) {
            None => Proof::Lost,
            Some(w) if w.answered.is_some_and(|at| at >= until) => {
                Proof::Since(w.since, inner.last)
            }
            Some(_) => Proof::Waits,
        }
    }

    /// The keys of that server that changed since the last call, and when that was told.
    pub fn take_changed(&self, server: &str) -> HashMap<KeyId, Mono> {
        let mut inner = self.inner();
        let is_its = inner.whole.as_ref().is_some_and(|w| w.server == server);
        if is_its { std::mem::take(&mut inner.changed) } else { HashMap::new() }
    }

    /// Wakes whoever waits for something to become known.
    pub fn watch(&self) -> watch::Receiver<()> {
        self.told.subscribe()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_answer_to_a_later_question_of_a_whole_feed_proves() {
        let (here, other) = ("1a", "1b");
        let silence = Silence::default();
        assert_eq!(silence.proof(here, Mono(1)), Proof::Lost);
        silence.begin(here.into(), Mono(10));
        assert_eq!(silence.proof(here, Mono(20)), Proof::Waits);
        silence.answered(Mono(19));
        assert_eq!(silence.proof(here, Mono(20)), Proof::Waits, "asked before the time was read");
        silence.answered(Mono(20));
        assert_eq!(silence.proof(here, Mono(20)), Proof::Since(Mono(10), None));
        assert_eq!(silence.proof(other, Mono(20)), Proof::Lost);
        silence.any_changed(Mono(25));
        assert_eq!(silence.proof(here, Mono(20)), Proof::Since(Mono(25), None));
        silence.end();
        silence.answered(Mono(40));
        assert_eq!(silence.proof(here, Mono(30)), Proof::Lost);
    }

    #[test]
    fn a_change_is_kept_until_it_is_taken_and_a_new_key_counts_as_one() {
        let silence = Silence::default();
        silence.changed(KeyId(1), Mono(5));
        assert!(silence.take_changed("1a").is_empty(), "nothing is proven without a whole feed");
        silence.begin("1a".into(), Mono(10));
        silence.changed(KeyId(1), Mono(11));
        silence.changed(KeyId(1), Mono(12));
        silence.knows(&[KeyId(7)], Some(KeyId(7)), Mono(13));
        let changed = silence.take_changed("1a");
        assert_eq!(changed, HashMap::from([(KeyId(1), Mono(12)), (KeyId(7), Mono(13))]));
        assert!(silence.take_changed("1a").is_empty());
        assert_eq!(silence.since_for_new("1a"), Some(Mono(10)));
        silence.missed(Mono(14));
        assert_eq!(silence.since_for_new("1a"), Some(Mono(14)));
    }
}

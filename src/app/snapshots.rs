//! Owns the state. Feeds it every fact, hands on what it wants, and publishes a snapshot after each poll: at most fifty
//! times a second, at least once an interval so that ages and withheld series are right even when nothing answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::{Notify, mpsc, oneshot};

use super::conductor::Errand;
use super::{notices, tokens};
use crate::clock;
use crate::config::Evidence;
use crate::derive::{Effects, Rules, State, Weight};
use crate::evidence::Recorder;
use crate::expose::{Asks, Rendered, SelfFacts};
use crate::http::ShowRequest;
use crate::observe::{Mono, Observation};
use crate::view::{Instant, Show, View};

/// Snapshots are not made more often than this: what changed is to be seen within 50 ms of it.
const LEAST_SPACING: Duration = Duration::from_millis(20);
/// How long a snapshot waits for what belongs to it: facts, a sweep's end and its poll's come one after the other.
const SETTLE: Duration = Duration::from_millis(10);
/// A snapshot that takes long is made more rarely: at most a twentieth of this thread's time.
const SHARE: u32 = 20;
/// Facts taken at once between two looks at the clock.
const BATCH: usize = 256;
/// After this long the exporter is ready even if some target never answered at all.
const READY_AT_LAST: Duration = Duration::from_secs(10);

/// What the rest of the app tells the state.
pub enum Word {
    /// A new config; acknowledged when it is in force.
    Reconfigure {
        /// For the state machines.
        rules: Box<Rules>,
        /// For the exporter's own metrics.
        own: SelfFacts,
        /// How many stores must have answered or failed before it is ready.
        stores: usize,
        /// Where evidence goes.
        evidence: Option<Evidence>,
        /// Acknowledges.
        done: oneshot::Sender<()>,
    },
    /// The exporter's own facts changed.
    Own(SelfFacts),
}

/// Where snapshots go, and whether the first polls are over.
#[derive(Clone)]
pub struct Published {
    /// The last snapshot.
    pub snapshot: Arc<ArcSwap<Rendered>>,
    /// Every store has answered or failed once.
    pub is_ready: Arc<AtomicBool>,
    /// When it is scraped.
    pub asks: Arc<Asks>,
    /// There is another snapshot.
    pub anew: Arc<Notify>,
}

impl Published {
    /// An empty snapshot of now.
    pub fn new(own: SelfFacts) -> Self {
        let view = View { taken: clock::mono(), taken_wall: clock::wall_secs(), ..View::default() };
        Self {
            snapshot: Arc::new(ArcSwap::from_pointee(Rendered::new(Arc::new(view), own))),
            is_ready: Arc::new(AtomicBool::new(false)),
            asks: Arc::default(),
            anew: Arc::default(),
        }
    }
}

/// The state and what it is published with.
pub struct Snapshots {
    state: State,
    own: SelfFacts,
    stores: usize,
    published: Published,
    errands: mpsc::Sender<Errand>,
    recorder: Recorder,
    generation: u64,
    started: Mono,
    last: Mono,
    spacing: Duration,
    /// Since when something is known that the last snapshot does not show.
    dirty: Option<Mono>,
    /// The pollers have not been told yet whom to watch.
    watch_due: bool,
}

impl Snapshots {
    /// Nothing is known yet.
    pub fn new(
        rules: Rules,
        own: SelfFacts,
        published: Published,
        errands: mpsc::Sender<Errand>,
        recorder: Recorder,
    ) -> Self {
        let now = clock::mono();
        Self {
            state: State::new(rules, now),
            own,
            stores: 0,
            published,
            errands,
            recorder,
            generation: 0,
            started: now,
            last: now,
            spacing: LEAST_SPACING,
            dirty: None,
            watch_due: false,
        }
    }

    /// Runs until no poller and nobody of the app can send any more.
    pub async fn run(
        mut self,
        mut facts: mpsc::Receiver<Observation>,
        mut words: mpsc::Receiver<Word>,
        mut wishes: mpsc::Receiver<ShowRequest>,
    ) {
        loop {
            tokio::select! {
                biased;
                Some(wish) = wishes.recv() => self.show(wish),
                word = words.recv() => match word {
                    Some(word) => self.hear(word),
                    None => return,
                },
                fact = facts.recv() => match fact {
                    Some(fact) => self.take(fact, &mut facts),
                    None => return,
                },
                () = tokio::time::sleep(self.until_due()) => self.publish(),
            }
            if self.dirty.is_some() && self.until_due().is_zero() {
                self.publish();
            }
        }
    }

    fn until_due(&self) -> Duration {
        let now = clock::mono();
        match self.dirty {
            Some(since) => {
                let settled = SETTLE.saturating_sub(now.since(since));
                self.spacing.saturating_sub(now.since(self.last)).max(settled)
            }
            None => self
                .state
                .rules
                .poll_interval
                .max(self.spacing)
                .saturating_sub(now.since(self.last)),
        }
    }

    /// The next snapshot is due soon.
    fn mark_dirty(&mut self) {
        self.dirty.get_or_insert_with(clock::mono);
    }

    fn hear(&mut self, word: Word) {
        match word {
            Word::Reconfigure { rules, own, stores, evidence, done } => {
                self.recorder.configure(evidence);
                self.state.reconfigure(*rules, clock::mono());
                (self.own, self.stores) = (own, stores);
                self.watch_due = true;
                self.tell_watched();
                self.mark_dirty();
                // Nobody waiting any more is no reason to stop.
                let _ = done.send(());
            }
            Word::Own(own) => {
                self.own = own;
                self.mark_dirty();
            }
        }
    }

    fn take(&mut self, first: Observation, facts: &mut mpsc::Receiver<Observation>) {
        let mut fx = Effects::default();
        let mut next = Some(first);
        for _ in 0..BATCH {
            let Some(fact) = next else { break };
            if !is_shown_with_the_next_poll(&fact, self.state.rules.poll_interval) {
                self.mark_dirty();
            }
            self.state.step(&fact, &mut fx);
            next = facts.try_recv().ok();
        }
        if let Some(fact) = next {
            self.state.step(&fact, &mut fx);
        }
        for notice in &fx.notices {
            if notice.weight >= Weight::Change {
                self.mark_dirty();
            }
            notices::log(notice);
        }
        if !fx.wanted.is_empty() {
            self.errand(Errand::Wanted(fx.wanted));
        }
        if !fx.keep.is_empty() {
            self.errand(Errand::Keep(fx.keep));
        }
        self.watch_due |= fx.watch_changed;
        self.tell_watched();
    }

    /// Unlike a wanted read this must not be lost: whom nobody watches cannot be found dead. Tried again with each fact
    /// and each snapshot.
    fn tell_watched(&mut self) {
        if self.watch_due {
            let watch = Errand::Watch(self.state.to_watch(), self.state.to_read());
            self.watch_due = self.errands.try_send(watch).is_err();
        }
    }

    /// Makes a snapshot for one reader, with locks that the last one only counts.
    fn show(&self, (show, answer): ShowRequest) {
        let now = Instant::of(&clock::host());
        let view = View::showing(&self.state, now, self.generation, &show);
        let own = SelfFacts { evidence: self.recorder.counts(), ..self.own.clone() };
        // Whoever asked may have gone.
        let _ = answer.send(Arc::new(Rendered::new(Arc::new(view), own)));
    }

    /// Wanted reads are best effort: when the conductor is behind, the verdicts that need them say less.
    fn errand(&self, errand: Errand) {
        if self.errands.try_send(errand).is_err() {
            tracing::debug!("a wanted read was dropped: the pollers are behind");
        }
    }

    fn publish(&mut self) {
        self.tell_watched();
        let reading = clock::host();
        let begun = reading.span.done;
        self.generation += 1;
        // One reading for all: a step of the wall clock between two of them would look like a server's.
        let now = Instant::of(&reading);
        let mut fx = Effects::default();
        self.state.step(&Observation::HostClock(reading), &mut fx);
        fx.notices.iter().for_each(notices::log);
        let view = View::showing(&self.state, now, self.generation, &Show::Needed);
        if !self.published.is_ready.load(Ordering::Relaxed) {
            let answered =
                view.stores.iter().filter(|s| s.nodes.iter().any(|n| !n.up) || s.fresh).count();
            let is_ready = answered >= self.stores || begun.since(self.started) > READY_AT_LAST;
            self.published.is_ready.store(is_ready, Ordering::Relaxed);
        }
        let view = Arc::new(view);
        self.recorder.record(&view, &self.own, |risen| tokens::of(&self.state, risen));
        let own = SelfFacts { evidence: self.recorder.counts(), ..self.own.clone() };
        self.published.snapshot.store(Arc::new(Rendered::new(view, own)));
        self.published.anew.notify_one();
        let took = clock::mono().since(begun);
        self.spacing = spacing(took, self.state.rules.poll_interval);
        (self.last, self.dirty) = (begun, None);
    }
}

/// From one snapshot to the next, if one took so long: not longer than to the next poll, unless making them would leave too
/// little time for the facts; and never so long that the last one is too old to be shown.
fn spacing(took: Duration, poll: Duration) -> Duration {
    LEAST_SPACING.max(took * SHARE).min(poll.max(took * 3)).min((poll * 5).max(LEAST_SPACING))
}

/// Facts that come by the thousand, or more than once a poll: they are shown with what comes after them.
fn is_shown_with_the_next_poll(fact: &Observation, poll_interval: Duration) -> bool {
    match fact {
        Observation::Batch(_)
        | Observation::Unchanged(_)
        | Observation::Heard(_)
        | Observation::KeyWatched(_)
        | Observation::KeyForgotten { .. }
        | Observation::Stalls(_)
        | Observation::Cgroup(_)
        | Observation::Jvm(_) => true,
        // Stalls are sampled more often than anything else is read: where there are many workers, a snapshot after each look
        // at them would cost more than the look. What a signal makes of it is told at once all the same.
        Observation::Poll(done) => done.interval < poll_interval,
        _ => false,
    }
}

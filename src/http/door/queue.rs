//! Who waits for a password to be checked: few at a time, and few of one network. When all places are taken, whoever comes
//! from elsewhere takes one of the network that has most of them, so that many guesses keep nobody else out.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::Network;

/// Most that wait or are at work, and most of them from one network.
const WAITING: usize = 16;
const WAITING_FROM_ONE: usize = 4;

/// The places.
#[derive(Default)]
pub struct Queue(Mutex<Row>);

#[derive(Default)]
struct Row {
    next: u64,
    /// In the order in which they came.
    all: Vec<Waiter>,
}

struct Waiter {
    id: u64,
    from: Network,
    is_at_work: bool,
    /// Gone with it, which is how it hears that it is displaced.
    _here: oneshot::Sender<()>,
}

/// A place in the queue.
pub struct Place {
    queue: Arc<Queue>,
    id: u64,
}

impl Queue {
    fn row(&self) -> MutexGuard<'_, Row> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place, and what ends if somebody else gets it; nothing if this network has enough of them, or nobody has more.
    pub fn enter(self: &Arc<Self>, from: Network) -> Option<(Place, oneshot::Receiver<()>)> {
        let mut row = self.row();
        let own = row.all.iter().filter(|w| w.from == from).count();
        if own >= WAITING_FROM_ONE {
            return None;
        }
        if row.all.len() >= WAITING {
            let newest = row.of_the_biggest(own + 1)?;
            row.all.remove(newest);
        }
        row.next += 1;
        let id = row.next;
        let (here, displaced) = oneshot::channel();
        row.all.push(Waiter { id, from, is_at_work: false, _here: here });
        Some((Place { queue: self.clone(), id }, displaced))
    }

    /// How many there are of this network.
    #[cfg(test)]
    pub fn of(&self, from: Network) -> usize {
        self.row().all.iter().filter(|w| w.from == from).count()
    }
}

impl Row {
    /// Where the newest is that still waits, of the network with most places, if that has more than so many.
    fn of_the_biggest(&self, more_than: usize) -> Option<usize> {
        let mut counts: HashMap<Network, usize> = HashMap::new();
        self.all.iter().for_each(|w| *counts.entry(w.from).or_default() += 1);
        let (newest, _) = self
            .all
            .iter()
            .enumerate()
            .filter(|(_, w)| !w.is_at_work && counts.get(&w.from) > Some(&more_than))
            .max_by_key(|(at, w)| (counts.get(&w.from).copied(), *at))?;
        Some(newest)
    }
}

impl Place {
    /// From now on it is at work and nobody else gets the place; false if somebody has it already.
    pub fn is_at_work(&self) -> bool {
        let mut row = self.queue.row();
        let own = row.all.iter_mut().find(|w| w.id == self.id);
        own.map(|w| w.is_at_work = true).is_some()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.queue.row().all.retain(|w| w.id != self.id);
    }
}

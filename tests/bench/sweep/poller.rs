//! The exporter's own poller in a thread of this process, without anything behind it: what it tells is counted and thrown
//! away. It polls one store all the time, sweep after sweep, or at an interval, and can be held.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use dlock_exporter::config::{self, Clients, Events, LockConfig, LockKeys, LockRules, Slowlog};
use dlock_exporter::observe::{Found, Observation, StoreId};
use dlock_exporter::poll::redis::{Settings, spawn};
use tokio::sync::{mpsc, oneshot};

use super::cpu_of_threads;

/// The name of its thread.
const THREAD: &str = "bench-poller";
/// More observations than a sweep has, so that the poller never waits for a place.
const PLACES: usize = 8192;

/// A running poller.
pub struct Poller {
    facts: mpsc::Receiver<Observation>,
    out: mpsc::Sender<Observation>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Poller {
    /// Begins to read these string locks and waits until a sweep has read them all.
    pub fn start(address: SocketAddr, keys: &[String], interval: Duration) -> Self {
        let (out, facts) = mpsc::channel(PLACES);
        let input = config::Input {
            redis_url: Some(format!("redis://{address}")),
            lock_patterns: vec!["unused".into()],
            ..Default::default()
        };
        let loaded = config::load(&input).unwrap();
        let mut store = (**loaded.stores.values().next().unwrap()).clone();
        // All keys are read each time, and nothing else is asked for.
        (store.events, store.clients, store.slowlog) = (Events::Off, Clients::Off, Slowlog::Off);
        store.response_timeout = Duration::from_secs(10);
        let rules = Arc::new(LockRules::default());
        let lock = |key: &String| LockConfig {
            keys: LockKeys::One { name: key.as_str().into(), key: key.clone().into_bytes() },
            rules: rules.clone(),
        };
        store.locks = keys.iter().map(lock).collect();
        let settings = Settings {
            poll_interval: interval,
            sweep_interval: interval,
            retain: Duration::from_secs(3600),
            shard: Default::default(),
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let told = out.clone();
        let work = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                let handle = spawn(Arc::new(store), StoreId(1), settings, told);
                let _ = stopped.await;
                handle.stop().await;
            });
        };
        let thread = std::thread::Builder::new().name(THREAD.into()).spawn(work).unwrap();
        let mut poller = Self { facts, out, stop: Some(stop), thread: Some(thread) };
        let mut held = 0;
        while held < keys.len() {
            held = 0;
            poller.until_swept(&mut held);
        }
        poller
    }

    /// So many whole sweeps in a row: how long one took, and what `cost` rose by for each.
    pub fn sweeps<const N: usize>(
        &mut self,
        count: u32,
        cost: impl Fn() -> [f64; N],
    ) -> (f64, [f64; N]) {
        let mut held = 0;
        // What was told while nobody listened.
        while self.facts.try_recv().is_ok() {}
        self.until_swept(&mut held);
        let before = cost();
        let wall: Duration = (0..count).map(|_| self.until_swept(&mut held)).sum();
        let mut rise = cost();
        for (now, before) in rise.iter_mut().zip(before) {
            *now = (*now - before) / f64::from(count);
        }
        ((wall / count).as_secs_f64(), rise)
    }

    /// Does something while the poller is held.
    pub fn while_held<T>(&mut self, what: impl FnOnce() -> T) -> T {
        let mut taken = Vec::new();
        while let Ok(places) = self.out.try_reserve_many(self.out.capacity().max(1)) {
            taken.push(places);
        }
        // The batch under way may still end.
        std::thread::sleep(Duration::from_millis(3));
        what()
    }

    /// Does something while the poller goes on.
    pub fn meanwhile<T>(&mut self, what: impl FnOnce() -> T) -> T {
        let facts = &mut self.facts;
        let (done, is_done) = std::sync::mpsc::channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let pause = Duration::from_millis(5);
                while is_done.recv_timeout(pause) == Err(std::sync::mpsc::RecvTimeoutError::Timeout)
                {
                    while facts.try_recv().is_ok() {}
                }
            });
            let result = what();
            drop(done);
            result
        })
    }

    /// Takes what is told until a sweep is over; gives how long that took. Looks now and then, so that the poller need not
    /// wake anybody.
    fn until_swept(&mut self, held: &mut usize) -> Duration {
        loop {
            match self.facts.try_recv() {
                Ok(Observation::SweepDone(done)) => return done.span.width(),
                Ok(Observation::Batch(batch)) => {
                    let there = |r: &&_| matches!(r, Found::Present { .. });
                    *held += batch.reads.iter().map(|r| &r.found).filter(there).count();
                }
                Ok(_) => {}
                Err(_) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }
}

impl Drop for Poller {
    fn drop(&mut self) {
        drop(self.stop.take());
        self.facts.close();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

/// Its processor time until now, in seconds.
pub fn cpu() -> f64 {
    cpu_of_threads(std::process::id().try_into().unwrap(), THREAD).as_secs_f64()
}

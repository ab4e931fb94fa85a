//! Looking at `/metrics` all the time while a test does something else: for what must never be seen, and for how long
//! answers take. It must not count an exporter that does not answer as one that shows nothing.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use dlock_exporter::clock;

use super::{Metrics, request};

/// A thread that does something again and again until it is told to stop.
pub(super) struct Repeating<T> {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<T>>,
}

impl<T: Send + 'static> Repeating<T> {
    /// `step` is called every `pause` until it says that it has seen enough or the test has.
    pub(super) fn start(
        pause: Duration,
        mut state: T,
        mut step: impl FnMut(&mut T) -> bool + Send + 'static,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            while !told.load(Ordering::Relaxed) && step(&mut state) {
                std::thread::sleep(pause);
            }
            state
        });
        Self { stop, thread: Some(thread) }
    }

    /// Ends it and gives what it has.
    pub(super) fn finish(mut self) -> T {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take().expect("finished once");
        thread.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause))
    }
}

impl<T> Drop for Repeating<T> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Watches for something that must not be seen.
pub struct Sampler {
    repeating: Repeating<Seen>,
}

#[derive(Default)]
struct Seen {
    good: usize,
    wrong: Option<String>,
}

impl Sampler {
    /// Looks every 50 ms; `wrong` says what is wrong with a scrape, if anything is.
    pub fn start(
        address: SocketAddr,
        wrong: impl Fn(&Metrics) -> Option<String> + Send + 'static,
    ) -> Self {
        let step = move |seen: &mut Seen| {
            let answer = request(address, "GET", "/metrics", Duration::from_secs(2));
            let Some(answer) = answer.ok().filter(|answer| answer.status == 200) else {
                return true;
            };
            match Metrics::parse(&answer.body) {
                Ok(metrics) => seen.wrong = wrong(&metrics),
                Err(error) => seen.wrong = Some(error),
            }
            seen.good += 1;
            seen.wrong.is_none()
        };
        Self { repeating: Repeating::start(Duration::from_millis(50), Seen::default(), step) }
    }

    /// Ends it; panics if it ever saw something wrong, or nothing at all. Gives the number of scrapes.
    pub fn finish(self) -> usize {
        let seen = self.repeating.finish();
        if let Some(wrong) = seen.wrong {
            panic!("seen in scrape {}, and it must never be: {wrong}", seen.good);
        }
        assert!(seen.good > 0, "the exporter never answered, so nothing was proven");
        seen.good
    }
}

/// How long `/metrics` took to answer.
#[derive(Debug, Default)]
pub struct Latencies {
    took: Vec<Duration>,
    failed: Vec<String>,
}

/// Measures until it is told to stop.
pub struct Stopwatch {
    repeating: Repeating<Latencies>,
}

impl Latencies {
    /// Starts to ask `/metrics` every 20 ms.
    pub fn measure(address: SocketAddr) -> Stopwatch {
        Self::measure_path(address, "/metrics")
    }

    /// Starts to ask for a path every 20 ms. `/-/healthy` costs nothing, so that what it takes is the machine's.
    pub fn measure_path(address: SocketAddr, path: &'static str) -> Stopwatch {
        Self::measure_each(address, path, Duration::from_millis(20))
    }

    /// The same with so long between two.
    pub fn measure_each(address: SocketAddr, path: &'static str, pause: Duration) -> Stopwatch {
        let step = move |seen: &mut Latencies| {
            let begun = clock::mono();
            match request(address, "GET", path, Duration::from_secs(5)) {
                Ok(answer) if answer.status == 200 => seen.took.push(clock::mono().since(begun)),
                Ok(answer) => seen.failed.push(format!("status {}", answer.status)),
                Err(error) => seen.failed.push(error.to_string()),
            }
            true
        };
        Stopwatch { repeating: Repeating::start(pause, Latencies::default(), step) }
    }

    /// The time that this share of the answers did not exceed.
    pub fn quantile(&self, share: f64) -> Duration {
        let mut sorted = self.took.clone();
        sorted.sort();
        let rank = (share * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied().unwrap_or_default()
    }

    /// Takes an answer's time.
    pub(super) fn note(&mut self, took: Duration) {
        self.took.push(took);
    }

    /// How many answers there were.
    pub fn count(&self) -> usize {
        self.took.len()
    }

    /// What was not an answer.
    pub fn failed(&self) -> &[String] {
        &self.failed
    }
}

impl Stopwatch {
    /// Ends it.
    pub fn finish(self) -> Latencies {
        self.repeating.finish()
    }
}

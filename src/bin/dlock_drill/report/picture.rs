//! What of a lock's time can be drawn, in seconds since the beginning. Only what was seen is in it.

use dlock_exporter::view::Act;

use crate::outcome::Event;

/// A write of the lease.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Write {
    /// When it was seen.
    pub seconds: f64,
    /// What it was.
    pub act: Act,
    /// What was left of the lease then; `None` without an end.
    pub left: Option<f64>,
}

/// One owner's time with the lock, and whether its holder was lost.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// Who.
    pub who: String,
    /// From.
    pub from: f64,
    /// Until; the end of the picture if it is not over.
    pub until: Option<f64>,
}

/// A time in which a holder was lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lost {
    /// From.
    pub from: f64,
    /// Until.
    pub until: f64,
}

/// All that can be drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Picture {
    /// Its length.
    pub seconds: f64,
    /// Writes of the lease, oldest first.
    pub writes: Vec<Write>,
    /// Who had it when.
    pub held: Vec<Held>,
    /// When a holder was lost.
    pub lost: Vec<Lost>,
    /// Heartbeats by worker.
    pub beats: Vec<(String, Vec<f64>)>,
    /// What happened: seconds, and whether it is bad.
    pub happened: Vec<(f64, String, bool)>,
}

impl Picture {
    /// Of events alone.
    pub fn of_events(events: &[Event]) -> Self {
        let last = events.iter().map(|e| e.seconds).fold(0.0, f64::max);
        let happened =
            events.iter().map(|e| (e.seconds, e.what.clone(), e.what.starts_with("FAIL")));
        Self { seconds: last, happened: happened.collect(), ..Self::default() }
    }
}

//! One process that is looked at as a JVM: its open directory, its open counters file, and when to look again for what
//! was not there. The open directory is of this process alone, so that no other can be taken for it.

use std::os::unix::fs::FileExt;
use std::time::Duration;

use rustix::fs::OFlags;

use super::counters;
use super::hsperfdata::{self, Malformed};
use super::locate::{self, Found, Opened, Trouble};
use crate::clock;
use crate::observe::jvm::Jvm;
use crate::observe::stall::HostUnknown;
use crate::observe::{Mono, Span};
use crate::poll::process::dir::{ProcDir, SMALL, is_gone, ticks};
use crate::poll::process::stat;

/// Until this age a JVM without counters may still be starting.
const STARTING: Duration = Duration::from_secs(5);
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Reads of a file whose counters move, until two are the same.
const ATTEMPTS: usize = 8;

/// A process and what is known of its counters.
#[derive(Debug)]
pub(super) struct Known {
    dir: ProcDir,
    path: String,
    started: Mono,
    counters: Counters,
}

#[derive(Debug)]
enum Counters {
    /// They are read from here; `checked` is when the process was seen to have the file mapped.
    Open { opened: Opened, last: Option<Jvm>, checked: Mono },
    /// They were not there, for this reason.
    Missing { answer: Answer, again: Mono, pause: Duration },
}

/// What there is to say of a process.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    /// Its counters, and how long reading them took.
    Jvm(Jvm, Span, String),
    /// It is no JVM.
    NoJvm,
    /// It may be a JVM that is only starting.
    Starting,
    /// It cannot be read.
    Trouble(Trouble),
}

impl Known {
    /// Opens a process's directory; it must have started then.
    pub(super) fn open(
        dir: std::io::Result<ProcDir>,
        path: String,
        start: u64,
    ) -> Result<Self, Trouble> {
        let dir = dir.map_err(|e| locate::trouble(&path, "", &e))?;
        let text = dir.file("stat", SMALL).map_err(|e| locate::trouble(&path, "stat", &e))?;
        if stat::parse(&text).map(|s| s.start_ticks) != Some(start) {
            return Err((HostUnknown::Gone, format!("{path} is another process now")));
        }
        let started = Mono::default().plus(ticks(start));
        let counters = Counters::Missing {
            answer: Answer::Starting,
            again: Mono::default(),
            pause: FIRST_PAUSE,
        };
        Ok(Self { dir, path, started, counters })
    }

    /// The name of its program, if it may be seen.
    pub(super) fn is_called_java(&self) -> bool {
        self.dir.file("comm", SMALL).is_ok_and(|name| name == b"java\n")
    }

    /// Whether its counters have been found.
    pub(super) fn has_counters(&self) -> bool {
        matches!(self.counters, Counters::Open { .. })
    }

    /// Looks at it.
    pub(super) fn look(&mut self) -> Answer {
        let now = clock::mono();
        match &mut self.counters {
            Counters::Missing { answer, again, .. } if now < *again => {
                let answer = answer.clone();
                return self.alive().map_or_else(Answer::Trouble, |()| answer);
            }
            Counters::Missing { .. } => self.find(now),
            Counters::Open { checked, .. } if now.since(*checked) >= LONGEST_PAUSE => {
                self.check(now)
            }
            Counters::Open { .. } => {}
        }
        match &mut self.counters {
            Counters::Missing { answer, .. } => answer.clone(),
            Counters::Open { opened, last, .. } => {
                let sent = clock::mono();
                let read = snapshot(opened, last.as_ref(), sent.since(self.started));
                let span = Span { sent, done: clock::mono() };
                if let Ok((jvm, _)) = &read {
                    *last = Some(jvm.clone());
                }
                // After the read, which was then of a living one. What it left behind would stay as it was for ever.
                match (self.alive(), read) {
                    (Err(trouble), _) => Answer::Trouble(trouble),
                    (Ok(()), Ok((jvm, detail))) => Answer::Jvm(jvm, span, detail),
                    (Ok(()), Err(what)) => self.unreadable(what, now),
                }
            }
        }
    }

    /// Whether it has neither ended nor been killed; a zombie has no root any more.
    fn alive(&self) -> Result<(), Trouble> {
        match self.dir.open_part("root", OFlags::PATH | OFlags::DIRECTORY) {
            Err(e) if is_gone(&e) && !self.has_threads() => {
                Err((HostUnknown::Gone, format!("{} has ended", self.path)))
            }
            _ => Ok(()),
        }
    }

    /// Whether only its first thread has ended.
    fn has_threads(&self) -> bool {
        let text = self.dir.file("stat", SMALL).unwrap_or_default();
        stat::parse(&text).is_some_and(|s| s.threads > 1)
    }

    fn is_starting(&self, now: Mono) -> bool {
        now.since(self.started) < STARTING
    }

    fn find(&mut self, now: Mono) {
        let answer = match locate::locate(&self.dir, &self.path) {
            Ok(Found::Counters(opened)) => {
                self.counters = Counters::Open { opened, last: None, checked: now };
                return;
            }
            Ok(Found::NoJvm) => Answer::NoJvm,
            Ok(Found::Without(_)) if self.is_starting(now) => Answer::Starting,
            Ok(Found::Without(what) | Found::Removed(what)) => {
                Answer::Trouble((HostUnknown::Unsupported, what))
            }
            Err(trouble) => Answer::Trouble(trouble),
        };
        self.miss(answer, now);
    }

    fn miss(&mut self, answer: Answer, now: Mono) {
        let pause = match &self.counters {
            Counters::Missing { pause, .. } => *pause,
            Counters::Open { .. } => FIRST_PAUSE,
        };
        // A process may become a JVM at any time, most likely soon after its start.
        let (again, pause) = if self.is_starting(now) {
            (now, pause)
        } else {
            (now.plus(pause), pause.saturating_mul(2).min(LONGEST_PAUSE))
        };
        self.counters = Counters::Missing { answer, again, pause };
    }

    /// Whether the file is still the one that it has mapped: the program may have been replaced by another.
    fn check(&mut self, now: Mono) {
        match locate::locate(&self.dir, &self.path) {
            Ok(Found::NoJvm | Found::Without(_)) => self.find(now),
            _ => {
                if let Counters::Open { checked, .. } = &mut self.counters {
                    *checked = now;
                }
            }
        }
    }

    fn unreadable(&mut self, what: Unreadable, now: Mono) -> Answer {
        let answer = match what {
            // The file is right, only not yet.
            Unreadable::NotYet if self.is_starting(now) => return Answer::Starting,
            Unreadable::Moving => {
                return Answer::Trouble((
                    HostUnknown::Failed,
                    format!(
                        "{}: the counters of this JVM moved during each of {ATTEMPTS} reads",
                        self.path
                    ),
                ));
            }
            Unreadable::NotYet => (HostUnknown::Malformed, Malformed::NotYet.to_string()),
            Unreadable::Malformed(what) => (HostUnknown::Malformed, what),
            Unreadable::Failed(e) => (HostUnknown::Failed, e.to_string()),
        };
        let answer =
            Answer::Trouble((answer.0, format!("{}: counters file: {}", self.path, answer.1)));
        self.miss(answer.clone(), now);
        answer
    }
}

enum Unreadable {
    NotYet,
    Moving,
    Malformed(String),
    Failed(std::io::Error),
}

/// Reads the counters of one instant. The JVM moves them one by one while they are read; but none ever goes back, so
/// that what is the same in two reads was so at the time between them. In most cases `last` is one of the two.
fn snapshot(
    opened: &Opened,
    last: Option<&Jvm>,
    age: Duration,
) -> Result<(Jvm, String), Unreadable> {
    let size = usize::try_from(opened.size).unwrap_or(0);
    let mut bytes = vec![0; size];
    let mut before = last.cloned();
    for _ in 0..ATTEMPTS {
        let got = opened.file.read_at(&mut bytes, 0).map_err(Unreadable::Failed)?;
        let counters =
            hsperfdata::parse(bytes.get(..got).unwrap_or_default()).map_err(|e| match e {
                Malformed::NotYet => Unreadable::NotYet,
                e => Unreadable::Malformed(e.to_string()),
            })?;
        let now = counters::read(&counters, age).map_err(Unreadable::Malformed)?;
        if before.as_ref().is_some_and(|b| is_same(b, &now)) {
            let detail = match counters.overflow {
                0 => String::new(),
                n => format!("{n} bytes of counters found no place; raise -XX:PerfDataMemorySize"),
            };
            return Ok((now, detail));
        }
        before = Some(now);
    }
    Err(Unreadable::Moving)
}

/// Apart from its clock, which moves all the time.
fn is_same(a: &Jvm, b: &Jvm) -> bool {
    let Jvm {
        ticks: _,
        collectors,
        safepoints,
        safepoint_time,
        sync_time,
        version,
        sync_is_included,
    } = a;
    *collectors == b.collectors
        && (*safepoints, *safepoint_time, *sync_time)
            == (b.safepoints, b.safepoint_time, b.sync_time)
        && *version == b.version
        && *sync_is_included == b.sync_is_included
}

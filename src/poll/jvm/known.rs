//! One process that is looked at as a JVM: its open counters file, and when to look again for what was not there. Its
//! directory is opened together with a look at when it started, so that no other process can be taken for it; both are
//! held open only for JVMs that are read, because descriptors are few.

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;

use super::counters;
use super::hsperfdata::{self, Malformed};
use super::locate::{self, Found, Opened, Trouble};
use crate::clock;
use crate::observe::jvm::Jvm;
use crate::observe::stall::HostUnknown;
use crate::observe::{Mono, ProcessId, Span};
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
    process: ProcessId,
    procfs: PathBuf,
    path: String,
    started: Mono,
    is_jvm: bool,
    counters: Counters,
}

#[derive(Debug)]
enum Counters {
    /// They are read from here; `checked` is when the process was seen to have the file mapped.
    Open { dir: ProcDir, opened: Opened, last: Option<Jvm>, checked: Mono },
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
    /// Nothing is known yet.
    pub(super) fn new(procfs: &Path, process: ProcessId) -> Self {
        Self {
            process,
            procfs: procfs.to_owned(),
            path: procfs.join(process.pid.to_string()).display().to_string(),
            started: Mono::default().plus(ticks(process.start_ticks)),
            is_jvm: false,
            counters: Counters::Missing {
                answer: Answer::NoJvm,
                again: Mono::default(),
                pause: FIRST_PAUSE,
            },
        }
    }

    /// Whether its counters file is held open.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.counters, Counters::Open { .. })
    }

    /// Whether it is a JVM as far as is known; one that cannot be looked into is told by its name.
    pub(super) fn is_a_jvm(&self) -> bool {
        let name = || self.dir().ok()?.file("comm", SMALL).ok();
        self.is_jvm || name().is_some_and(|name| name == b"java\n")
    }

    /// Looks at it; `has_room` if one more counters file may be held open.
    pub(super) fn look(&mut self, has_room: bool) -> Answer {
        let now = clock::mono();
        match &self.counters {
            Counters::Missing { answer: Answer::NoJvm, again, .. } if now < *again => {}
            Counters::Missing { again, .. } if now < *again => {
                if let Err(trouble) = self.dir().and_then(|dir| alive(&dir, &self.path)) {
                    return Answer::Trouble(trouble);
                }
            }
            Counters::Missing { .. } => self.find(now, has_room),
            Counters::Open { checked, .. } if now.since(*checked) >= LONGEST_PAUSE => {
                self.check(now);
            }
            Counters::Open { .. } => {}
        }
        self.answer(now)
    }

    fn answer(&mut self, now: Mono) -> Answer {
        let (dir, opened, last) = match &mut self.counters {
            Counters::Missing { answer, .. } => return answer.clone(),
            Counters::Open { dir, opened, last, .. } => (dir, opened, last),
        };
        let sent = clock::mono();
        let read = snapshot(opened, last.as_ref(), sent.since(self.started));
        let span = Span { sent, done: clock::mono() };
        if let Ok((jvm, _)) = &read {
            *last = Some(jvm.clone());
        }
        // After the read, which was then of a living one. What it left behind would stay as it was for ever.
        match (alive(dir, &self.path), read) {
            (Err(trouble), _) => Answer::Trouble(trouble),
            (Ok(()), Ok((jvm, detail))) => Answer::Jvm(jvm, span, detail),
            (Ok(()), Err(what)) => self.unreadable(what, now),
        }
    }

    /// Opens the directory, if it is still that of this process.
    fn dir(&self) -> Result<ProcDir, Trouble> {
        let failed = |part: &str, e: &std::io::Error| locate::trouble(&self.path, part, e);
        let dir = ProcDir::open(&self.procfs, self.process.pid).map_err(|e| failed("", &e))?;
        let text = dir.file("stat", SMALL).map_err(|e| failed("stat", &e))?;
        if stat::parse(&text).map(|s| s.start_ticks) != Some(self.process.start_ticks) {
            return Err((HostUnknown::Gone, format!("{} is another process now", self.path)));
        }
        Ok(dir)
    }

    fn is_starting(&self, now: Mono) -> bool {
        now.since(self.started) < STARTING
    }

    fn find(&mut self, now: Mono, has_room: bool) {
        let found = self.dir().and_then(|dir| Ok((locate::locate(&dir, &self.path)?, dir)));
        if let Ok((found, _)) = &found {
            self.is_jvm = !matches!(found, Found::NoJvm);
        }
        let answer = match found {
            Ok((Found::Counters(opened), dir)) if has_room => {
                self.counters = Counters::Open { dir, opened, last: None, checked: now };
                return;
            }
            Ok((Found::Counters(_), _)) => {
                let what = "there are more JVMs than file descriptors for them; raise LimitNOFILE";
                Answer::Trouble((HostUnknown::Failed, format!("{}: {what}", self.path)))
            }
            Ok((Found::NoJvm, _)) => Answer::NoJvm,
            Ok((Found::Without(_), _)) if self.is_starting(now) => Answer::Starting,
            Ok((Found::Without(what) | Found::Removed(what), _)) => {
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
        // A process may become a JVM at any time, most likely soon after its start; but most never do, and reading what
        // one has mapped costs more than all the rest.
        let is_coming = !matches!(answer, Answer::NoJvm);
        let (again, pause) = if is_coming && self.is_starting(now) {
            (now, pause)
        } else {
            (now.plus(pause), pause.saturating_mul(2).min(LONGEST_PAUSE))
        };
        self.counters = Counters::Missing { answer, again, pause };
    }

    /// Whether the file is still the one that it has mapped: the program may have been replaced by another.
    fn check(&mut self, now: Mono) {
        let Counters::Open { dir, checked, .. } = &mut self.counters else { return };
        *checked = now;
        if let Ok(Found::NoJvm | Found::Without(_)) = locate::locate(dir, &self.path) {
            self.find(now, true);
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

/// Whether it has neither ended nor been killed; a zombie has no root any more.
fn alive(dir: &ProcDir, path: &str) -> Result<(), Trouble> {
    match dir.open_part("root", OFlags::PATH | OFlags::DIRECTORY) {
        Err(e) if is_gone(&e) && !has_threads(dir) => {
            Err((HostUnknown::Gone, format!("{path} has ended")))
        }
        _ => Ok(()),
    }
}

/// Whether only its first thread has ended.
fn has_threads(dir: &ProcDir) -> bool {
    let text = dir.file("stat", SMALL).unwrap_or_default();
    stat::parse(&text).is_some_and(|s| s.threads > 1)
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

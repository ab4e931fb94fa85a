//! Heartbeats as parts: of the worker `part-1`, over HTTP and in a file.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tempfile::TempDir;

use super::cell::{Effect, Fault, Part, Wrong, failed_since};
use super::is_part;
use super::world::World;
use crate::support::{Endpoint, Exporter, Gate, Ghost, Haunted, Metrics, Reply, Way};

/// A worker's heartbeat that says nothing is the worker's silence, and no failure of ours.
const SILENT: &str = "silent";

/// What is said of the worker `part-1`.
fn is_alive(m: &Metrics, value: f64) -> bool {
    m.is("dlock_worker_alive", &[("worker", "part-1"), ("source", "heartbeat")], value)
}

fn blind(m: &Metrics, aspect: &str) -> Vec<String> {
    let labels = [("worker", "part-1"), ("aspect", aspect)];
    let lost = m.all("dlock_worker_coverage_lost", &labels);
    lost.iter().map(|s| s.label("reason").to_owned()).collect()
}

/// Reasons of a heartbeat that is lost: why it cannot be judged, or that it is judged to be silent.
fn heartbeat_reasons(before: &Metrics, m: &Metrics) -> Vec<String> {
    let mut reasons = failed_since(before, m, is_part);
    if blind(m, "heartbeat").is_empty() {
        // A failure that is told nowhere else would be no reason for its absence.
        reasons.clear();
    }
    reasons.extend(is_alive(m, 0.0).then(|| SILENT.to_owned()));
    reasons
}

/// The worker `part-1`, who beats over HTTP.
pub struct Http {
    gate: Gate,
    endpoint: Arc<Mutex<Option<Endpoint>>>,
    reply: Arc<Mutex<Option<Reply>>>,
}

pub fn http(world: &World) -> (Http, Exporter) {
    let gate = Gate::start();
    let endpoint = Endpoint::start(Reply::Answer(200, "0".into()));
    gate.lead_to(endpoint.address());
    let endpoint = Arc::new(Mutex::new(Some(endpoint)));
    let reply = Arc::new(Mutex::new(None));
    let (beating, instead) = (Arc::clone(&endpoint), Arc::clone(&reply));
    world.beat(move |n| {
        let instead = instead.lock().expect("no beat panics").clone();
        let reply = instead.unwrap_or_else(|| Reply::Answer(200, format!("{{\"beat\": {n}}}")));
        if let Some(endpoint) = &*beating.lock().expect("no beat panics") {
            endpoint.set(reply);
        }
    });
    let source = format!("{{ url: 'http://{}/{{worker}}', json: /beat }}", gate.address());
    let workers = format!(
        "  part: {{ names: [part-1], heartbeat: {{ http: {source}, frozen_after: 2s }} }}\n"
    );
    let exporter = world.setup("", &workers, "").start();
    (Http { gate, endpoint, reply }, exporter)
}

impl Part for Http {
    fn broken(&mut self, fault: Fault) -> Effect {
        match fault {
            Fault::Absent => self.gate.set(Way::Nobody),
            Fault::Refusing | Fault::Flapping => self.gate.set(Way::Refuse),
            Fault::Hanging => self.gate.set(Way::Mute),
            Fault::Slow => self.gate.set(Way::Slow(Duration::from_millis(50))),
            Fault::Garbage => self.gate.set(Way::Garbage),
            Fault::Huge => {
                self.gate.set(Way::Huge(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"));
            }
            Fault::Denied => self.answer(Some(Reply::Answer(403, String::new()))),
            Fault::Back => *self.endpoint.lock().expect("no beat panics") = None,
        }
        match fault {
            Fault::Slow => Effect::Keeps,
            Fault::Flapping => Effect::Waits,
            Fault::Denied => Effect::Loses(&["permission"]),
            // Nobody at this address may be the network's doing; who takes a connection and is silent hangs himself.
            Fault::Absent => Effect::Loses(&["timeout"]),
            Fault::Refusing | Fault::Hanging | Fault::Back => Effect::Loses(&[SILENT, "network"]),
            _ => Effect::Loses(&[SILENT, "protocol", "network", "timeout", "other"]),
        }
    }

    fn heal(&mut self, fault: Fault) {
        self.answer(None);
        if fault == Fault::Back {
            let endpoint = Endpoint::start(Reply::Answer(200, "0".into()));
            self.gate.lead_to(endpoint.address());
            *self.endpoint.lock().expect("no beat panics") = Some(endpoint);
        }
        self.gate.set(Way::Pass);
    }

    fn flap(&mut self, is_broken: bool) {
        self.gate.set(if is_broken { Way::Refuse } else { Way::Pass });
    }

    fn is_whole(&self, m: &Metrics) -> bool {
        is_alive(m, 1.0) && blind(m, "heartbeat").is_empty()
    }

    fn is_lost(&self, m: &Metrics) -> bool {
        !is_alive(m, 1.0)
    }

    fn reasons(&self, before: &Metrics, m: &Metrics) -> Vec<String> {
        heartbeat_reasons(before, m)
    }

    fn shows(&self) -> &'static str {
        "dlock_worker_"
    }

    fn settles(&self, _: Fault) -> Duration {
        Duration::from_secs(2)
    }
}

impl Http {
    fn answer(&self, reply: Option<Reply>) {
        *self.reply.lock().expect("no beat panics") = reply;
    }
}

/// The worker `part-1`, who beats into a file, and one beside in the same directory.
pub struct Beats {
    haunted: Haunted,
    real: TempDir,
    is_fifo: Arc<Mutex<bool>>,
}

pub fn file(world: &World) -> Option<(Beats, Exporter)> {
    let real = TempDir::new().expect("a temporary directory can be made");
    let haunted = Haunted::over(real.path())?;
    let is_fifo = Arc::new(Mutex::new(false));
    let (files, paused) = (real.path().to_owned(), Arc::clone(&is_fifo));
    world.beat(move |n| {
        drop(std::fs::write(files.join("beside-1"), n.to_string()));
        if !*paused.lock().expect("no beat panics") {
            drop(std::fs::write(files.join("part-1"), n.to_string()));
        }
    });
    let workers = format!(
        "  part: {{ names: [part-1, beside-1], heartbeat: {{ file: '{}/{{worker}}', content: true, frozen_after: 2s }} }}\n",
        haunted.path().display()
    );
    let exporter = world.setup("", &workers, "").start();
    Some((Beats { haunted, real, is_fifo }, exporter))
}

impl Beats {
    /// A FIFO that nobody writes to, at the file's place.
    fn put_fifo(&self, is_there: bool) {
        let mut is_fifo = self.is_fifo.lock().expect("no beat panics");
        let path = self.real.path().join("part-1");
        let _ = std::fs::remove_file(&path);
        if is_there {
            let made = std::process::Command::new("mkfifo").arg(&path).status();
            assert!(made.is_ok_and(|s| s.success()), "mkfifo {}", path.display());
        }
        *is_fifo = is_there;
    }
}

impl Part for Beats {
    fn broken(&mut self, fault: Fault) -> Effect {
        match fault {
            Fault::Absent => self.haunted.haunt(Ghost::Gone, "part-1"),
            Fault::Refusing => self.haunted.haunt(Ghost::Broken, "part-1"),
            Fault::Hanging => self.haunted.haunt(Ghost::Mute, "part-1"),
            Fault::Slow => self.haunted.haunt(Ghost::Slow(Duration::from_millis(30)), "part-1"),
            Fault::Garbage => self.put_fifo(true),
            Fault::Huge => self.haunted.haunt(Ghost::Huge, "part-1"),
            Fault::Denied => self.haunted.haunt(Ghost::Denied, "part-1"),
            Fault::Flapping | Fault::Back => self.flap(true),
        }
        match fault {
            Fault::Absent | Fault::Back => Effect::Loses(&[SILENT]),
            Fault::Refusing | Fault::Garbage => Effect::Loses(&["other"]),
            Fault::Hanging => Effect::Loses(&["timeout"]),
            Fault::Denied => Effect::Loses(&["permission"]),
            // Its beginning is always the same.
            Fault::Huge => Effect::Loses(&[SILENT]),
            Fault::Slow => Effect::Keeps,
            Fault::Flapping => Effect::Waits,
        }
    }

    fn heal(&mut self, fault: Fault) {
        if fault == Fault::Garbage {
            self.put_fifo(false);
        }
        self.haunted.heal();
    }

    fn flap(&mut self, is_broken: bool) {
        if is_broken {
            self.haunted.haunt(Ghost::Gone, "part-1");
        } else {
            self.haunted.heal();
        }
    }

    fn wrong(&self) -> Wrong {
        Box::new(|m| {
            let labels = [("worker", "beside-1"), ("source", "heartbeat")];
            (!m.is("dlock_worker_alive", &labels, 1.0))
                .then(|| format!("beside-1 does not live: {}", m.lines("dlock_worker_")))
        })
    }

    fn is_whole(&self, m: &Metrics) -> bool {
        is_alive(m, 1.0) && blind(m, "heartbeat").is_empty()
    }

    fn is_lost(&self, m: &Metrics) -> bool {
        !is_alive(m, 1.0)
    }

    fn reasons(&self, before: &Metrics, m: &Metrics) -> Vec<String> {
        heartbeat_reasons(before, m)
    }

    fn shows(&self) -> &'static str {
        "dlock_worker_"
    }

    fn settles(&self, _: Fault) -> Duration {
        Duration::from_secs(1)
    }
}

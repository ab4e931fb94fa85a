//! A chronyd as a part: the clock `part`, asked over UDP through a gate.

use std::time::Duration;

use super::cell::{Effect, Fault, Part, failed_since};
use super::world::World;
use crate::support::{Chronyd, ChronydSetup, Exporter, Gate, Metrics, Way};

/// The clock `part`, whose chronyd is behind a gate.
pub struct Clock {
    gate: Gate,
    daemon: Chronyd,
}

pub fn start(world: &World) -> (Clock, Exporter) {
    let (gate, daemon) = (Gate::udp(), ChronydSetup::local(5).start());
    gate.lead_to(([127, 0, 0, 1], daemon.port()).into());
    let clocks = format!("clocks: {{ part: {{ chrony: 'udp://{}' }} }}\n", gate.address());
    let exporter = world.setup("", "", &clocks).start();
    (Clock { gate, daemon }, exporter)
}

impl Part for Clock {
    fn broken(&mut self, fault: Fault) -> Effect {
        match fault {
            Fault::Absent => {
                return Effect::Never("over UDP a host that is gone is silent: hanging");
            }
            Fault::Refusing | Fault::Flapping => self.gate.set(Way::Refuse),
            Fault::Hanging => self.daemon.pause(),
            Fault::Slow => self.gate.set(Way::Slow(Duration::from_millis(50))),
            Fault::Garbage => self.gate.set(Way::Garbage),
            Fault::Huge => self.gate.set(Way::Huge(b"")),
            Fault::Denied => {
                return Effect::Never(
                    "chronyd answers its own host always, and others with silence: hanging",
                );
            }
            Fault::Back => self.daemon.kill(),
        }
        match fault {
            Fault::Refusing => Effect::Loses(&["refused"]),
            // What comes behind an answer is left alone.
            Fault::Slow | Fault::Huge => Effect::Keeps,
            Fault::Flapping => Effect::Waits,
            // What is no answer of a chronyd is waited past, as anybody may send it.
            Fault::Garbage => Effect::Loses(&["protocol", "timeout"]),
            _ => Effect::Loses(&["timeout", "refused"]),
        }
    }

    fn heal(&mut self, fault: Fault) {
        self.gate.set(Way::Pass);
        match fault {
            Fault::Hanging => self.daemon.resume(),
            Fault::Back => self.daemon.restart(),
            _ => {}
        }
    }

    fn flap(&mut self, is_broken: bool) {
        self.gate.set(if is_broken { Way::Refuse } else { Way::Pass });
    }

    fn is_whole(&self, m: &Metrics) -> bool {
        m.is("dlock_clock_up", &[("clock", "part")], 1.0)
            && m.value("dlock_clock_stratum", &[("clock", "part")]).is_some()
    }

    fn is_lost(&self, m: &Metrics) -> bool {
        !m.is("dlock_clock_up", &[("clock", "part")], 1.0)
            && m.value("dlock_clock_stratum", &[("clock", "part")]).is_none()
    }

    fn reasons(&self, before: &Metrics, m: &Metrics) -> Vec<String> {
        failed_since(before, m, super::is_part)
    }

    fn shows(&self) -> &'static str {
        "dlock_clock_"
    }

    fn settles(&self, _: Fault) -> Duration {
        Duration::from_secs(1)
    }
}

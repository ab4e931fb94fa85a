//! A server of Redis as a part: behind a gate, and itself stopped, killed, and told to let nobody in.

use std::time::Duration;

use super::cell::{Effect, Fault, Part, Wrong, failed_since};
use crate::support::{Gate, Metrics, RedisServer, Sentinel, Way};

/// What is known of a node only while it answers.
const OFFSET: &str = "dlock_store_clock_offset_seconds";
/// The length of a reply that never ends.
const ENDLESS: &[u8] = b"$2147483647\r\n";

/// A server behind a gate.
pub trait Server: Send {
    fn pause(&mut self);
    fn resume(&mut self);
    fn kill(&mut self);
    fn restart(&mut self);
    fn cmd(&mut self, words: &[&str]);
    fn text(&mut self, words: &[&str]) -> String;
}

impl Server for RedisServer {
    fn pause(&mut self) {
        RedisServer::pause(self);
    }
    fn resume(&mut self) {
        RedisServer::resume(self);
    }
    fn kill(&mut self) {
        RedisServer::kill(self);
    }
    fn restart(&mut self) {
        RedisServer::restart(self);
    }
    fn cmd(&mut self, words: &[&str]) {
        RedisServer::cmd(self, words);
    }
    fn text(&mut self, words: &[&str]) -> String {
        RedisServer::text(self, words)
    }
}

impl Server for Sentinel {
    fn pause(&mut self) {
        Sentinel::pause(self);
    }
    fn resume(&mut self) {
        Sentinel::resume(self);
    }
    fn kill(&mut self) {
        Sentinel::kill(self);
    }
    fn restart(&mut self) {
        Sentinel::restart(self);
    }
    fn cmd(&mut self, words: &[&str]) {
        Sentinel::cmd(self, words);
    }
    fn text(&mut self, _: &[&str]) -> String {
        String::new()
    }
}

/// Done to a server that was restarted.
pub type Again = Box<dyn Fn(&mut dyn Server) + Send>;

/// A node of the store `part`.
pub struct Node {
    pub gate: Gate,
    pub server: Box<dyn Server>,
    pub addr: String,
    /// It has no keys and no clock that counts.
    pub is_sentinel: bool,
    /// A lock that goes with it.
    pub lock: Option<&'static str>,
    /// Locks that must not go, and what keeps them.
    pub others: &'static [&'static str],
    pub _others: Vec<RedisServer>,
    /// Done after a restart, which leaves nothing.
    pub again: Again,
    /// What it says while it is started anew.
    pub after_kill: &'static [&'static str],
}

impl Node {
    fn node(&self) -> [(&str, &str); 2] {
        [("store", "part"), ("addr", &self.addr)]
    }

    fn is_held(m: &Metrics, lock: &str) -> bool {
        m.is("dlock_lock_held", &[("store", "part"), ("lock", lock)], 1.0)
    }
}

impl Part for Node {
    fn broken(&mut self, fault: Fault) -> Effect {
        match fault {
            Fault::Absent => self.gate.set(Way::Nobody),
            Fault::Refusing => self.gate.set(Way::Refuse),
            Fault::Hanging => self.server.pause(),
            Fault::Slow => self.gate.set(Way::Slow(Duration::from_millis(20))),
            Fault::Garbage => self.gate.set(Way::Garbage),
            Fault::Huge => self.gate.set(Way::Huge(ENDLESS)),
            Fault::Flapping => self.gate.set(Way::Refuse),
            Fault::Denied => {
                self.server.cmd(&["ACL", "SETUSER", "dlock", "off"]);
                self.server.cmd(&["CLIENT", "KILL", "USER", "dlock"]);
            }
            Fault::Back => self.server.kill(),
        }
        match fault {
            Fault::Absent | Fault::Hanging => Effect::Loses(&["timeout"]),
            Fault::Refusing => Effect::Loses(&["refused"]),
            Fault::Slow => Effect::Keeps,
            Fault::Garbage => Effect::Loses(&["protocol"]),
            Fault::Huge => Effect::Loses(&["protocol", "timeout"]),
            Fault::Flapping => Effect::Waits,
            Fault::Denied => Effect::Loses(&["auth"]),
            Fault::Back => Effect::Loses(self.after_kill),
        }
    }

    fn heal(&mut self, fault: Fault) {
        self.gate.set(Way::Pass);
        match fault {
            Fault::Hanging => self.server.resume(),
            Fault::Denied => self.server.cmd(&["ACL", "SETUSER", "dlock", "on"]),
            Fault::Back => {
                self.server.restart();
                (self.again)(&mut *self.server);
            }
            _ => {}
        }
    }

    fn flap(&mut self, is_broken: bool) {
        self.gate.set(if is_broken { Way::Refuse } else { Way::Pass });
    }

    fn is_whole(&self, m: &Metrics) -> bool {
        m.is("dlock_store_up", &self.node(), 1.0)
            && (self.is_sentinel || m.value(OFFSET, &self.node()).is_some())
            && self.lock.is_none_or(|lock| Self::is_held(m, lock))
            && self.others.iter().all(|lock| Self::is_held(m, lock))
    }

    fn is_lost(&self, m: &Metrics) -> bool {
        !m.is("dlock_store_up", &self.node(), 1.0)
            && m.value(OFFSET, &self.node()).is_none()
            && self.lock.is_none_or(|lock| {
                let lock = [("store", "part"), ("lock", lock)];
                m.all("dlock_lock_held", &lock).is_empty()
                    && m.all("dlock_lease_remaining_seconds", &lock).is_empty()
            })
    }

    fn wrong(&self) -> Wrong {
        let others = self.others;
        Box::new(move |m| {
            let lost = others.iter().find(|lock| !Self::is_held(m, lock));
            lost.map(|lock| format!("{lock} is not held: {}", m.lines("dlock_lock_held")))
        })
    }

    fn reasons(&self, before: &Metrics, m: &Metrics) -> Vec<String> {
        failed_since(before, m, |target| target == format!("part/{}", self.addr))
    }

    fn shows(&self) -> &'static str {
        "dlock_store_up"
    }

    fn settles(&self, fault: Fault) -> Duration {
        match fault {
            // Each wrong password is a line in the server's log: it is tried every 5 s at most.
            Fault::Denied => Duration::from_secs(5),
            // A timeout that is under way, and a pause before the next try.
            _ => Duration::from_millis(600),
        }
    }
}

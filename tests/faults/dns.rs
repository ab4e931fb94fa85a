//! The name server as a part: the store `part` has a name, and the exporter a resolver of its own.

use std::time::Duration;

use tempfile::TempDir;

use super::cell::{Effect, Fault, Part, failed_since};
use super::is_part;
use super::world::World;
use crate::support::{Exporter, Metrics, NameServer, RedisServer, Says};

/// The store `part` by a name, which is asked for at each connection.
pub struct Names {
    names: NameServer,
    server: RedisServer,
    _dir: TempDir,
}

pub fn start(world: &World) -> Option<(Names, Exporter)> {
    let may = std::process::Command::new("unshare").args(["--mount", "true"]).status();
    if !may.is_ok_and(|status| status.success()) {
        crate::support::not_tested("this machine lets us make no mounts of our own");
        return None;
    }
    let (names, server) = (NameServer::start()?, RedisServer::start());
    server.cmd(&["SET", "lock:own", "part-1:x", "PX", "600000"]);
    let dir = TempDir::new().expect("a temporary directory can be made");
    let file = dir.path().join("resolv.conf");
    std::fs::write(&file, names.resolv_conf()).expect("the directory is ours");
    let store = format!(
        "  part:\n    url: redis://locks.example:{}\n    username: dlock\n    connect_timeout: 300ms\n    response_timeout: 300ms\n    locks: [{{ name: own, key: 'lock:own', lease: 10m }}]\n",
        server.address().port()
    );
    let script = format!("mount --bind '{}' /etc/resolv.conf && exec \"$@\"", file.display());
    let words = ["unshare", "--mount", "sh", "-c", &script, "sh"];
    let exporter = world.setup(&store, "", "").beneath(&words).start();
    Some((Names { names, server, _dir: dir }, exporter))
}

impl Part for Names {
    fn broken(&mut self, fault: Fault) -> Effect {
        let says = match fault {
            Fault::Absent => Says::Error(3),
            Fault::Refusing => Says::Closed,
            Fault::Hanging => Says::Nothing,
            Fault::Slow => Says::Late(Duration::from_millis(40)),
            Fault::Garbage => Says::Garbage,
            Fault::Huge => Says::Many,
            Fault::Flapping | Fault::Back => Says::Error(2),
            Fault::Denied => Says::Error(5),
        };
        self.names.set(says);
        self.cut();
        match fault {
            Fault::Slow | Fault::Flapping => Effect::Waits,
            // It leads to many addresses where nobody is.
            Fault::Huge => Effect::Loses(&["refused", "timeout"]),
            _ => Effect::Loses(&["dns", "timeout"]),
        }
    }

    fn heal(&mut self, _: Fault) {
        self.names.set(Says::Address);
    }

    fn flap(&mut self, is_broken: bool) {
        self.names.set(if is_broken { Says::Error(2) } else { Says::Address });
        self.cut();
    }

    fn is_whole(&self, m: &Metrics) -> bool {
        m.is("dlock_lock_held", &[("store", "part"), ("lock", "own")], 1.0)
            && m.sum("dlock_store_up", &[("store", "part")]) == 1.0
    }

    fn is_lost(&self, m: &Metrics) -> bool {
        m.all("dlock_lock_held", &[("store", "part")]).is_empty()
            && m.sum("dlock_store_up", &[("store", "part")]) == 0.0
    }

    fn reasons(&self, before: &Metrics, m: &Metrics) -> Vec<String> {
        failed_since(before, m, is_part)
    }

    fn shows(&self) -> &'static str {
        "dlock_store_up"
    }

    fn settles(&self, _: Fault) -> Duration {
        // The resolver asks again after a second.
        Duration::from_millis(2600)
    }
}

impl Names {
    /// A name is asked for when a connection is made.
    fn cut(&self) {
        self.server.cmd(&["CLIENT", "KILL", "USER", "dlock"]);
    }
}

//! Two places on a network that can be cut apart, each a network namespace with a server and an exporter of its own, and
//! this machine, which reaches both whatever happens between them. Needs root. What is cut loses packets, as a network
//! does: nobody is told.

use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// One of the two places.
pub struct Place {
    namespace: String,
    /// Its address for the other place, and for this machine.
    pub host: Ipv4Addr,
    /// Where only this machine reaches it.
    pub aside: Ipv4Addr,
}

impl Place {
    /// The words that start a program there.
    pub fn words(&self) -> Vec<String> {
        ["ip", "netns", "exec", &self.namespace].map(str::to_owned).to_vec()
    }
}

/// Both, and what is between them.
pub struct Partition {
    /// The first.
    pub here: Place,
    /// The second.
    pub there: Place,
    /// This machine's ends of the links to them.
    devices: [String; 2],
}

/// Of the addresses that are for tests of networks.
fn address(net: u8, last: u8) -> Ipv4Addr {
    Ipv4Addr::new(198, 18, net, last)
}

/// Runs `ip`; what it says, if it fails.
fn ip(words: &str) -> Result<(), String> {
    let output = Command::new("ip").args(words.split(' ')).output().map_err(|e| e.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() { Ok(()) } else { Err(format!("ip {words}: {said}")) }
}

impl Partition {
    /// Makes it, or says why this machine does not let us.
    pub fn new() -> Result<Self, String> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let id = std::process::id().wrapping_mul(4) + MADE.fetch_add(1, Ordering::Relaxed);
        let net = u8::try_from(id % 251).expect("it is below 251");
        let place = |side: &str, last, aside| Place {
            namespace: format!("dlock-{id}-{side}"),
            host: address(net, last),
            aside: address(net, aside),
        };
        let devices = ["a", "b"].map(|side| format!("dl{id}{side}"));
        let made = Self { here: place("a", 1, 6), there: place("b", 2, 10), devices };
        let (a, b) = (&made.here.namespace, &made.there.namespace);
        let mut steps = vec![format!("netns add {a}"), format!("netns add {b}")];
        steps.push(format!("link add ab netns {a} type veth peer name ab netns {b}"));
        let [to_here, to_there] = &made.devices;
        for (place, own, device) in [(&made.here, 5, to_here), (&made.there, 9, to_there)] {
            let ns = &place.namespace;
            let own = address(net, own);
            steps.push(format!("link add {device} type veth peer name out netns {ns}"));
            steps.push(format!("addr add {own}/30 dev {device}"));
            steps.push(format!("link set {device} up"));
            steps.push(format!("-n {ns} addr add {}/30 dev ab", place.host));
            steps.push(format!("-n {ns} addr add {}/30 dev out", place.aside));
            for link in ["lo", "ab", "out"] {
                steps.push(format!("-n {ns} link set {link} up"));
            }
            steps.push(format!("route add {}/32 via {} src {own}", place.host, place.aside));
        }
        // What was made goes with `made` if a step fails.
        steps.iter().try_for_each(|words| ip(words)).map(|()| made)
    }

    /// From now on nothing passes between the two.
    pub fn cut(&self) {
        self.between("down");
    }

    /// It passes again.
    pub fn heal(&self) {
        self.between("up");
    }

    fn between(&self, state: &str) {
        let namespace = &self.here.namespace;
        ip(&format!("-n {namespace} link set ab {state}")).unwrap_or_else(|e| panic!("{e}"));
    }
}

impl Drop for Partition {
    fn drop(&mut self) {
        // A namespace stays for a while after its last process, for connections that nobody closed: its link goes first.
        for (place, device) in [(&self.here, &self.devices[0]), (&self.there, &self.devices[1])] {
            let _ = ip(&format!("link del {device}"));
            let _ = ip(&format!("netns del {}", place.namespace));
        }
    }
}

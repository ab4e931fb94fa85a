//! A private chronyd that leaves the system's clock alone: on free ports, in its own directory, started, paused, killed
//! and restarted by the test, gone with it. Its `chronyc` is what the exporter is held against.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use super::{Group, wait_until};

const SOON: Duration = Duration::from_secs(20);

/// How to start a chronyd.
pub struct ChronydSetup {
    lines: Vec<String>,
    user: String,
    commands: bool,
}

impl ChronydSetup {
    /// Without any source: not synchronised. Answers commands on 127.0.0.1, on ::1 if there is IPv6, and on its socket.
    pub fn unsynchronised() -> Self {
        Self { lines: Vec::new(), user: whoami(), commands: true }
    }

    /// Local mode: claims a stratum although it has no source, and serves its time.
    pub fn local(stratum: u8) -> Self {
        Self::unsynchronised().line(&format!("local stratum {stratum}"))
    }

    /// Follows the NTP server at this address, and asks it many times a second.
    pub fn following(server: SocketAddr) -> Self {
        let (ip, port) = (server.ip(), server.port());
        let line = format!("server {ip} port {port} iburst minpoll -4 maxpoll -4 minsamples 4");
        Self::unsynchronised().line(&line)
    }

    /// Adds a line to its configuration.
    pub fn line(mut self, line: &str) -> Self {
        self.lines.push(line.to_owned());
        self
    }

    /// Runs it as another user, who owns its directory then.
    pub fn user(mut self, name: &str) -> Self {
        self.user = name.to_owned();
        self
    }

    /// Without an open command port on UDP.
    pub fn without_port(mut self) -> Self {
        self.commands = false;
        self
    }

    /// Starts it and waits until its command socket is there.
    pub fn start(self) -> Chronyd {
        let dir = TempDir::new().expect("a temporary directory can be made");
        let mode = |path: &std::path::Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
                .expect("an own directory's mode can be changed");
        };
        mode(dir.path(), 0o711);
        let run = dir.path().join("run");
        std::fs::create_dir(&run).expect("a directory can be made");
        // chronyd opens no socket in a directory that others can enter.
        mode(&run, 0o750);
        if self.user != whoami() {
            let status = Command::new("chown").arg(format!("{}:", self.user)).arg(&run).status();
            assert!(status.is_ok_and(|s| s.success()), "chown {}", self.user);
        }
        let (port, ntp_port) = (free_udp_port(), free_udp_port());
        let mut lines = vec![
            format!("port {ntp_port}"),
            "bindaddress 127.0.0.1".into(),
            "allow 127.0.0.1".into(),
            format!("cmdport {}", if self.commands { port } else { 0 }),
            "bindcmdaddress 127.0.0.1".into(),
            "bindcmdaddress ::1".into(),
            format!("bindcmdaddress {}", run.join("chronyd.sock").display()),
            format!("pidfile {}", dir.path().join("pid").display()),
        ];
        lines.extend(self.lines);
        std::fs::write(dir.path().join("conf"), lines.join("\n") + "\n")
            .expect("the configuration can be written");
        let mut daemon = Chronyd { port, ntp_port, user: self.user, dir, group: None };
        daemon.restart();
        daemon
    }
}

/// A running (or killed) chronyd.
pub struct Chronyd {
    port: u16,
    ntp_port: u16,
    user: String,
    dir: TempDir,
    group: Option<Group>,
}

impl Chronyd {
    /// Its command port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where it serves its time.
    pub fn ntp(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.ntp_port))
    }

    /// `udp://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("udp://127.0.0.1:{}", self.port)
    }

    /// The path of its command socket.
    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("run/chronyd.sock")
    }

    /// `unix:///PATH`.
    pub fn unix_url(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    /// What is in the directory of its command socket beside that.
    pub fn strangers(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.dir.path().join("run")).expect("it can be listed");
        let names =
            entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned());
        names.filter(|name| name != "chronyd.sock").collect()
    }

    /// The fields of `chronyc -c tracking` over UDP.
    pub fn tracking(&self) -> Option<Vec<String>> {
        chronyc(&["-h", "127.0.0.1", "-p", &self.port.to_string(), "-c", "tracking"])
    }

    /// Waits until its own tracking data is as wanted.
    pub fn wait(&self, what: &str, condition: impl Fn(&[String]) -> bool) -> Vec<String> {
        let seen = || {
            let fields = self.tracking()?;
            condition(&fields).then_some(fields)
        };
        wait_until(&format!("chronyd: {what}"), SOON, seen).0
    }

    /// Waits until it is synchronised and has updated its clock often enough to have settled.
    pub fn wait_synchronised(&self) -> Vec<String> {
        self.wait("synchronised", |t| t[13] == "Normal" && t[0] != "7F7F0101" && t[12] != "0.0")
    }

    /// SIGSTOP.
    pub fn pause(&self) {
        self.group().pause();
    }

    /// SIGCONT.
    pub fn resume(&self) {
        self.group().resume();
    }

    /// SIGKILL: its socket's file stays.
    pub fn kill(&mut self) {
        if let Some(mut group) = self.group.take() {
            group.kill();
        }
    }

    /// SIGTERM, and waits for its end: it removes its socket.
    pub fn stop(&mut self) {
        if let Some(mut group) = self.group.take() {
            group.signal(rustix::process::Signal::TERM);
            group.wait(SOON);
        }
    }

    /// Starts it (again) and waits until it answers.
    pub fn restart(&mut self) {
        self.kill();
        let _ = std::fs::remove_file(self.dir.path().join("pid"));
        let _ = std::fs::remove_file(self.socket());
        let log = self.dir.path().join("log");
        let mut command = Command::new("chronyd");
        // -x: leaves the clock alone; -U: may be started by anyone.
        command.args(["-x", "-U", "-d", "-u", &self.user, "-f"]).arg(self.dir.path().join("conf"));
        let mut group = Group::start("chronyd", &mut command, &log);
        wait_until("chronyd answers", SOON, || {
            assert!(group.ended().is_none(), "chronyd ended: {}", group.log_tail());
            let over_socket = ["-h", &self.socket().display().to_string(), "-c", "tracking"];
            // Only chronyd's user and root may use its socket; anybody may use the port.
            chronyc(&over_socket).or_else(|| self.tracking())
        });
        self.group = Some(group);
    }

    fn group(&self) -> &Group {
        self.group.as_ref().expect("chronyd was not killed")
    }
}

/// Whether there is a user of that name.
pub fn has_user(name: &str) -> bool {
    Command::new("id").arg(name).output().is_ok_and(|output| output.status.success())
}

/// Whether the loopback has IPv6.
pub fn has_ipv6() -> bool {
    UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_ok()
}

/// A UDP port of the loopback that was free a moment ago.
pub fn free_udp_port() -> u16 {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("the loopback has a free port");
    socket.local_addr().as_ref().map(SocketAddr::port).expect("a bound socket has an address")
}

fn chronyc(words: &[&str]) -> Option<Vec<String>> {
    let output = Command::new("chronyc").args(words).output().expect("chronyc runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let fields: Vec<String> = text.trim().split(',').map(str::to_owned).collect();
    (output.status.success() && fields.len() == 14).then_some(fields)
}

fn whoami() -> String {
    let output = Command::new("id").arg("-un").output().expect("id runs");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

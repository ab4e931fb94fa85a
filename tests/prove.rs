//! `dlock_drill prove`, live: each criterion is proven of a right sample system and refuted of a matching wrong one. All of them at
//! the same time, each with a lock of its own, against one server, one exporter and two resources; the faults are made when the
//! tool says that it waits for them.

mod world;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command};
use std::time::Duration;

use dlock_exporter::clock;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{ExporterSetup, Group, RedisServer, free_port, long, take_share, wait_until};
use world::{World, is_unchecked, listening};

/// Long enough for a busy machine.
const LIMIT: Duration = Duration::from_secs(90);
const LEASE: f64 = 5.0;

/// Criterion, what is wrong, exit status, what the report must say.
const CASES: [(&str, &str, i32, &str); 11] = [
    ("pause", "right", 0, "the lease of pause-right-a was"),
    ("pause", "overwritten", 1, "could not let go"),
    ("kill", "right", 0, "known to within"),
    ("kill", "renewed", 1, "renewed"),
    ("partition", "right", 0, "refused since"),
    ("partition", "restored", 1, "had the lock"),
    ("partition", "unchecked", 1, "an older token"),
    ("effects", "right", 0, "none of them twice"),
    ("effects", "repeated", 1, "beyond one for each request"),
    ("renewal", "right", 0, "its expiry stayed as it was"),
    ("renewal", "extended", 1, "something else renews it"),
];

fn drill(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dlock_drill"));
    command.args(words);
    command
}

/// One case: its lock, its workers, and the tool that watches.
struct Case<'a> {
    world: &'a World,
    name: String,
    how: &'a str,
    prove: Group,
    input: ChildStdin,
    output: ChildStdout,
    json: PathBuf,
    svg: PathBuf,
}

impl Case<'_> {
    fn path(&self, end: &str) -> PathBuf {
        self.world.dir.path().join(format!("{}{end}", self.name))
    }

    /// Starts a worker, `a` or `b`, at the lock server or through a proxy.
    fn worker(&self, which: &str, through: Option<u16>, more: &[&str]) -> Group {
        let world = self.world;
        let (name, key) = (format!("{}-{which}", self.name), format!("lock:{}", self.name));
        let redis =
            through.map_or(world.server.address().to_string(), |p| format!("127.0.0.1:{p}"));
        let port = if is_unchecked(self.how) { world.unchecked.1 } else { world.checking.1 };
        let resource = format!("http://127.0.0.1:{port}/locks/{}", self.name);
        let (fence, beat) = (format!("fence:{}", self.name), format!("hb:{name}"));
        let mut command = drill(&["worker", "--redis", &redis, "--name", &name, "--lock", &key]);
        command.args(["--lease", &LEASE.to_string(), "--renew-every", "1", "--beat-every", "0.25"]);
        command.args(["--heartbeat", &beat, "--fence", &fence, "--resource", &resource]);
        command.args(["--effect-every", "0.3", "--at-most", "300", "--with-parent"]).args(more);
        command.arg("--pid-file").arg(world.dir.path().join(format!("{name}.pid")));
        Group::start(&name, &mut command, &self.path(&format!("-{which}.log")))
    }

    fn proxy(&self) -> (Group, u16) {
        let to = self.world.server.address().to_string();
        let mut command = drill(&["proxy", "--listen", "127.0.0.1:0", "--to", &to]);
        listening("proxy", &mut command, &self.path("-proxy.log"))
    }

    /// Waits until the tool says that it waits for this.
    fn asked_for(&mut self, what: &str) {
        let said = format!("waiting for {what}");
        wait_until(&format!("{}: {said}", self.name), LIMIT, || {
            if self.prove.ended().is_some() {
                let mut report = String::new();
                let _ = self.output.read_to_string(&mut report);
                panic!("{} ended:\n{}\n{report}", self.name, self.prove.log());
            }
            self.prove.log().contains(&said).then_some(())
        });
    }

    fn is_shown(&self, what: &str, labels: &[(&str, &str)]) {
        let own = [&[("store", "main"), ("lock", self.name.as_str())], labels].concat();
        wait_until(&format!("{}: {what} {labels:?}", self.name), LIMIT, || {
            self.world.exporter.metrics().is(what, &own, 1.0).then_some(())
        });
    }

    /// Stops only the separate process that renews.
    fn stop_renewer(&self) {
        let file = self.path("-a.pid.renewer");
        let pid = std::fs::read_to_string(&file).expect("a renewer's pid file");
        let pid = Pid::from_raw(pid.trim().parse().expect("a pid")).expect("a pid");
        kill_process(pid, Signal::STOP).expect("the renewer can be stopped");
    }
}

/// Makes the fault of one case and waits for the verdict.
fn play(world: &World, (criterion, how, status, says): (&str, &str, i32, &str)) {
    let name = format!("{criterion}-{how}");
    let dir = world.dir.path();
    let (json, svg) = (dir.join(format!("{name}.json")), dir.join(format!("{name}.svg")));
    let url = format!("http://{}", world.exporter.address());
    let mut command = drill(&["prove", criterion, "--lock", &name, "--exporter", &url]);
    command.args(["--timeout", "120", "--json"]).arg(&json).arg("--svg").arg(&svg);
    let log = dir.join(format!("{name}.prove.log"));
    let (prove, input, output) = Group::talking(&name, &mut command, &log);
    let mut case = Case { world, name, how, prove, input, output, json, svg };
    match criterion {
        "pause" => pause(&mut case),
        "kill" => kill(&mut case),
        "partition" => partition(&mut case),
        "effects" => effects(&mut case),
        _ => renewal(&mut case),
    }
    let mut said = String::new();
    let _ = case.output.read_to_string(&mut said);
    let text = format!("{}\n{said}", case.prove.log());
    assert_eq!(case.prove.wait(LIMIT).code(), Some(status), "{}:\n{text}", case.name);
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(says), "{} does not say {says:?}:\n{text}", case.name);
    let report: Value =
        serde_json::from_slice(&std::fs::read(&case.json).expect("a report")).expect("JSON");
    let result = &report["results"][0];
    assert_eq!(result["verdict"], if status == 0 { "pass" } else { "fail" }, "{text}");
    assert_eq!((&result["name"], &result["lock"]), (&criterion.into(), &case.name.clone().into()));
    is_a_picture(&case.svg);
}

fn is_a_picture(path: &Path) {
    let svg = std::fs::read_to_string(path).expect("a picture");
    let opened = svg.matches("<svg").count();
    assert!(svg.starts_with("<svg ") && opened == svg.matches("</svg>").count(), "{svg}");
    for part in ["class=\"lease\"", "class=\"fault\"", "prefers-color-scheme"] {
        assert!(svg.contains(part), "no {part} in {svg}");
    }
}

fn pause(case: &mut Case<'_>) {
    let holder = case.worker("a", None, &[]);
    case.asked_for("the pause: freeze the holder now");
    let next = (case.how == "right").then(|| case.worker("b", None, &[]));
    holder.pause();
    if next.is_none() {
        case.asked_for("the end of the lease");
        let (key, token) =
            (format!("lock:{}", case.name), format!("{}-b:elsewhere:1:x", case.name));
        case.world.server.cmd(&["SET", &key, &token, "PX", "20000"]);
    } else {
        case.asked_for(&format!("{}-a to go on", case.name));
        holder.resume();
    }
    end(case);
}

fn kill(case: &mut Case<'_>) {
    let more: &[&str] = if case.how == "renewed" { &["--renewer", "separate"] } else { &[] };
    let mut holder = case.worker("a", None, more);
    case.asked_for("the kill: kill the holder now");
    holder.kill();
    end(case);
}

fn partition(case: &mut Case<'_>) {
    let (proxy, port) = case.proxy();
    let more: &[&str] = if case.how == "restored" { &["--restore", "late"] } else { &[] };
    let _holder = case.worker("a", Some(port), more);
    case.asked_for("the partition: cut the holder off");
    // Long enough to know how its heart beats usually.
    let name = format!("{}-a", case.name);
    wait_until("the holder's heart beats", LIMIT, || {
        let metrics = case.world.exporter.metrics();
        metrics.value("dlock_worker_heartbeats_total", &[("worker", &name)]).filter(|n| *n >= 7.0)
    });
    let next = case.worker("b", None, &[]);
    proxy.signal(Signal::USR1);
    if case.how == "unchecked" {
        // The exporter has to see the new token, and then the old one in two reads running.
        let own = [("store", "main"), ("lock", case.name.as_str()), ("resource", "db")];
        wait_until("the successor's token is accepted", LIMIT, || {
            let metrics = case.world.exporter.metrics();
            metrics.is("dlock_fencing_token_accepted", &own, 2.0).then_some(())
        });
        next.pause();
    } else {
        case.asked_for("the heal: let");
        proxy.signal(Signal::USR2);
    }
    end(case);
}

fn effects(case: &mut Case<'_>) {
    let more: &[&str] = if case.how == "repeated" { &["--requests", "repeated"] } else { &[] };
    let holder = case.worker("a", None, more);
    case.asked_for("the first attempt to be cut off");
    case.is_shown("dlock_holder_liveness", &[("state", "alive")]);
    let _next = case.worker("b", None, more);
    holder.pause();
    if case.how == "right" {
        case.asked_for("the second attempt to be counted");
        // Its late write is refused.
        holder.resume();
    }
    end(case);
}

fn renewal(case: &mut Case<'_>) {
    let _holder = case.worker("a", None, &["--renewer", "separate"]);
    case.asked_for("the pause of the renewal");
    let _next = case.worker("b", None, &[]);
    case.stop_renewer();
    case.input.write_all(b"\n").expect("the tool listens");
    let key = format!("lock:{}", case.name);
    while case.prove.ended().is_none() {
        if case.how == "extended" {
            // What another thread of the worker would do.
            case.world.server.cmd(&["PEXPIRE", &key, &format!("{}", LEASE * 1000.0)]);
        }
        std::thread::sleep(Duration::from_millis(400));
    }
}

/// Waits until the tool has judged, with the workers at work. One that does not is asked to stop, and says how it stands.
fn end(case: &mut Case<'_>) {
    let begun = clock::mono();
    while case.prove.ended().is_none() {
        if clock::mono().since(begun) > LIMIT {
            case.prove.signal(Signal::TERM);
            case.prove.wait(Duration::from_secs(30));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn each_criterion_is_proven_of_a_right_system_and_refuted_of_a_wrong_one() {
    take_share();
    let rounds = if long() { 10 } else { 1 };
    for _ in 0..rounds {
        let world = World::start();
        std::thread::scope(|all| {
            for case in CASES {
                let world = &world;
                all.spawn(move || play(world, case));
            }
        });
    }
}

#[test]
fn what_is_not_watched_or_not_known_is_said_with_what_to_do() {
    take_share();
    let list = drill(&["prove", "--list"]).output().expect("the drill runs");
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    for criterion in ["pause", "kill", "partition", "effects", "renewal"] {
        assert!(list.lines().any(|l| l == criterion), "{list}");
    }
    let server = RedisServer::start();
    let yaml = format!(
        "poll_interval: 200ms\nstores:\n  main:\n    url: {}\n    username: dlock\n    locks:\n      - {{ name: plain, key: 'lock:plain', \
         lease: 60s }}\n",
        server.url()
    );
    let exporter = ExporterSetup::file(&yaml).password().start();
    server.cmd(&["SET", "lock:plain", "opaque", "PX", "60000"]);
    let url = format!("http://{}", exporter.address());
    let nobody = format!("http://127.0.0.1:{}", free_port());
    for (words, says) in [
        (
            ["prove", "sleep", "--lock", "plain", "--exporter", &url],
            "there are pause, kill, partition, effects, renewal",
        ),
        (["prove", "pause", "--lock", "other", "--exporter", &url], "add it to stores.main.locks"),
        (["prove", "pause", "--lock", "plain", "--exporter", &nobody], "cannot be reached"),
        (["prove", "pause", "--lock", "plain", "--exporter", &url], "`process` or a `heartbeat`"),
        (
            ["prove", "effects", "--lock", "plain", "--exporter", &url],
            "add `effects` with `total` and `distinct`",
        ),
    ] {
        let output = drill(&words).args(["--timeout", "60"]).output().expect("the drill runs");
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(says), "{words:?} does not say {says:?}: {said}");
    }
    let mut late = drill(&["prove", "pause", "--lock", "plain", "--exporter", &url]);
    let late = late.args(["--timeout", "0.5"]).output().expect("the drill runs");
    let said = String::from_utf8_lossy(&late.stdout);
    assert_eq!(late.status.code(), Some(2), "{said}");
    assert!(said.contains("the time is up"), "{said}");
}

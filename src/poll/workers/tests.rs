//! The pollers of workers as a whole: real files and processes, a store that is scripted.

use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Mutex;

use super::*;
use crate::clock;
use crate::config::{Heartbeat, HttpPart, JvmMode, ProcessSource, RedisPart, SeriesTier, Source};
use crate::observe::node::FailReason;
use crate::observe::poll::PollDone;
use crate::observe::worker::{Beat, ProcessSeen, ProcessUnknown};
use crate::observe::{HeartbeatRead, ProcessRead, Span};
use crate::poll::TokenPid;
use crate::poll::part::{PartRequest, PartValue, PartsFailed, PartsFuture, PartsReply};
use crate::poll::source::value;

/// A store that answers as told, and remembers what it was asked for.
#[derive(Default)]
struct Scripted {
    asked: Mutex<Vec<Vec<PartRequest>>>,
    fails: Mutex<bool>,
}

impl ReadParts for Scripted {
    fn read<'a>(&'a self, _store: &'a str, parts: Vec<PartRequest>) -> PartsFuture<'a> {
        Box::pin(async move {
            if *self.fails.lock().unwrap() {
                return Err(PartsFailed { reason: FailReason::Refused, detail: "down".to_owned() });
            }
            let values = parts.iter().map(|p| match (p.key.as_slice(), &p.part) {
                (b"hb:gone", _) => PartValue::Missing,
                (_, RedisPart::Exists) => PartValue::Exists { expires_at_ms: None },
                (key, _) => PartValue::Value { bytes: key.to_vec(), expires_at_ms: Some(9) },
            });
            let values = values.collect();
            let now = clock::mono();
            self.asked.lock().unwrap().push(parts);
            Ok(PartsReply { span: Span { sent: now, done: clock::mono() }, values })
        })
    }
}

fn group(name: &str, names: &[&str]) -> WorkerGroup {
    WorkerGroup {
        name: name.to_owned(),
        names: names.iter().map(|n| Arc::from(*n)).collect(),
        matches: None,
        series: SeriesTier::Full,
        process: None,
        heartbeat: None,
        claim: None,
        jvm: JvmMode::Auto,
    }
}

fn beats(group: WorkerGroup, source: Source) -> WorkerGroup {
    WorkerGroup { heartbeat: Some(Heartbeat { source, frozen_after: None }), ..group }
}

fn redis(part: RedisPart) -> Source {
    Source::Redis { store: "main".into(), key: "hb:{worker}".to_owned(), part, json: None }
}

fn file(dir: &Path) -> Source {
    Source::File { path: format!("{}/{{worker}}", dir.display()), content: true }
}

/// A running set of pollers and what came out of it so far.
struct Run {
    handle: WorkerHandle,
    facts: mpsc::Receiver<Observation>,
    parts: Arc<Scripted>,
}

fn start(groups: Vec<WorkerGroup>, interval: Duration) -> Run {
    let (out, facts) = mpsc::channel(1024);
    let parts = Arc::new(Scripted::default());
    let settings = Settings {
        poll_interval: interval,
        stall_poll: interval,
        procfs: "/proc".into(),
        cgroupfs: None,
    };
    let handle = spawn(Arc::new(groups), settings, Arc::clone(&parts) as Arc<dyn ReadParts>, out);
    Run { handle, facts, parts }
}

impl Run {
    /// The next fact that `pick` takes, within ten seconds.
    async fn next<T>(&mut self, pick: impl Fn(Observation) -> Option<T>) -> T {
        let wait = async {
            loop {
                if let Some(found) = pick(self.facts.recv().await.expect("the pollers ended")) {
                    return found;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(10), wait).await.expect("no such fact")
    }

    async fn beat(&mut self, worker: &str) -> HeartbeatRead {
        self.next(|o| match o {
            Observation::Heartbeat(read) if &*read.worker == worker => Some(read),
            _ => None,
        })
        .await
    }

    async fn process(&mut self, worker: &str) -> ProcessRead {
        self.next(|o| match o {
            Observation::Process(read) if &*read.worker == worker => Some(read),
            _ => None,
        })
        .await
    }

    async fn done(&mut self, poller: &str, target: &str) -> PollDone {
        self.next(|o| match o {
            Observation::Poll(done) if done.poller == poller && &*done.target == target => {
                Some(done)
            }
            _ => None,
        })
        .await
    }
}

const FAST: Duration = Duration::from_millis(20);
const NEVER: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn one_batch_for_a_store_and_all_fail_with_it() {
    let text = beats(group("text", &["a", "gone"]), redis(RedisPart::Text));
    let exists = beats(group("exists", &["s"]), redis(RedisPart::Exists));
    let mut run = start(vec![text, exists], FAST);
    assert_eq!(run.done("heartbeat", "exists").await.failure, None);
    assert_eq!(run.parts.asked.lock().unwrap().first().unwrap().len(), 3);
    let beat = run.beat("a").await.beat;
    assert_eq!(beat, Beat::Value { mark: value::mark(b"hb:a", Some(9)), expires: true });
    assert_eq!(run.beat("gone").await.beat, Beat::None);
    assert_eq!(run.beat("s").await.beat, Beat::Success);
    *run.parts.fails.lock().unwrap() = true;
    run.next(|o| match o {
        Observation::Heartbeat(read) if matches!(read.beat, Beat::Failed { .. }) => Some(()),
        _ => None,
    })
    .await;
    for worker in ["a", "gone", "s"] {
        let read = run.beat(worker).await;
        assert_eq!(
            read.beat,
            Beat::Failed { reason: FailReason::Refused, detail: "down".to_owned() }
        );
        assert!(read.span.sent <= read.span.done);
    }
    assert_eq!(run.done("heartbeat", "text").await.failure, Some(FailReason::Refused));
    run.handle.stop().await;
}

#[tokio::test]
async fn a_hung_endpoint_holds_up_nobody() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("f"), "1").unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let hung = Source::Http {
        url: format!("http://{}/", listener.local_addr().unwrap()),
        part: HttpPart::Success,
        tls: Default::default(),
        basic_auth: None,
        bearer_token_file: None,
    };
    let groups =
        vec![beats(group("hung", &["h"]), hung), beats(group("files", &["f"]), file(dir.path()))];
    let mut run = start(groups, FAST);
    let mut files = 0;
    let mut after = 0;
    loop {
        let read =
            run.next(|o| if let Observation::Heartbeat(r) = o { Some(r) } else { None }).await;
        match &*read.worker {
            "f" => files += 1,
            _ => {
                assert_eq!(read.beat, Beat::None);
                after += 1;
                if after == 2 {
                    break;
                }
            }
        }
    }
    assert!(files > 20, "{files} reads of a file while an endpoint hung for two seconds");
    assert_eq!(run.done("heartbeat", "hung").await.interval, FAST);
}

struct Kid(Child);

impl Drop for Kid {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn processes_by_pid_file_token_and_command() {
    let dir = tempfile::tempdir().unwrap();
    let marker = format!("62.{}", std::process::id());
    let mut kid = Kid(Command::new("sleep").arg(&marker).spawn().unwrap());
    let pid = i32::try_from(kid.0.id()).unwrap();
    let by = |name: &str, worker: &str, source| WorkerGroup {
        process: Some(source),
        ..group(name, &[worker])
    };
    let template = format!("{}/{{worker}}.pid", dir.path().display());
    let mut run = start(
        vec![
            by("files", "f", ProcessSource::PidFile(template)),
            by("tokens", "t", ProcessSource::FromHolder),
            by("commands", &marker, ProcessSource::Command("^sleep {worker}$".to_owned())),
        ],
        FAST,
    );
    let unknown = |why| ProcessSeen::Unknown(why);
    assert_eq!(run.process("f").await.seen, unknown(ProcessUnknown::NoPidFile));
    assert_eq!(run.process("t").await.seen, unknown(ProcessUnknown::NoPid));
    fs::write(dir.path().join("f.pid"), format!("{pid}\n")).unwrap();
    let token = Some(TokenPid { pid, host: None });
    run.handle.watch(vec![WatchedWorker { name: "t".into(), group: 1, token }]);
    for worker in ["f", "t", &marker] {
        let process = run
            .next(|o| match o {
                Observation::Process(ProcessRead {
                    worker: w,
                    seen: ProcessSeen::Processes(list),
                    ..
                }) if &*w == worker => Some(list),
                _ => None,
            })
            .await;
        assert_eq!(process.iter().map(|p| p.pid).collect::<Vec<_>>(), [pid], "{worker}");
    }
    // A file that is gone says nothing of the process it named, alive or dead.
    fs::remove_file(dir.path().join("f.pid")).unwrap();
    let removed = crate::clock::mono();
    run.next(|o| match o {
        Observation::Process(ProcessRead {
            worker, span, seen: ProcessSeen::Processes(_), ..
        }) => (&*worker == "f" && span.sent > removed).then_some(()),
        _ => None,
    })
    .await;
    kid.0.kill().unwrap();
    kid.0.wait().unwrap();
    for worker in ["f", "t", &marker] {
        run.next(|o| match o {
            Observation::Process(p) if &*p.worker == worker => {
                (p.seen == ProcessSeen::Gone { named_here: false }).then_some(())
            }
            _ => None,
        })
        .await;
    }
    assert_eq!(run.done("process", "commands").await.failure, None);
    run.handle.stop().await;
}

#[tokio::test]
async fn extra_looks_begin_at_their_instant() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("f"), "1").unwrap();
    let mut found = beats(group("g", &[]), file(dir.path()));
    found.process = Some(ProcessSource::FromHolder);
    let mut run = start(vec![found], NEVER);
    // The first poll, of nobody yet, in either order.
    for _ in 0..2 {
        run.next(|o| matches!(o, Observation::Poll(_)).then_some(())).await;
    }
    // Who is new is looked at without a poll.
    run.handle.watch(vec![WatchedWorker { name: "f".into(), group: 0, token: None }]);
    run.beat("f").await;
    let at = clock::mono().plus(Duration::from_millis(50));
    for _ in 0..10 {
        run.handle.look("f".into(), Look::Heartbeat, at);
    }
    run.handle.look("nobody".into(), Look::Heartbeat, at);
    let read = run.beat("f").await;
    assert!(read.span.sent >= at);
    assert!(read.span.sent.since(at) < Duration::from_secs(1), "{:?}", read.span.sent.since(at));
    // The ten were one: the next to come is the one asked for next.
    let later = clock::mono().plus(Duration::from_millis(30));
    run.handle.look("f".into(), Look::Heartbeat, later);
    assert!(run.beat("f").await.span.sent >= later);
    run.handle.stop().await;
    let polls = std::iter::from_fn(|| run.facts.try_recv().ok())
        .filter(|o| matches!(o, Observation::Poll(_)));
    assert_eq!(polls.count(), 0);
}

#[tokio::test]
async fn who_is_no_longer_found_is_no_longer_read() {
    let dir = tempfile::tempdir().unwrap();
    let mut run = start(vec![beats(group("g", &["own"]), file(dir.path()))], FAST);
    run.handle.watch(vec![WatchedWorker { name: "f".into(), group: 0, token: None }]);
    assert_eq!(run.beat("f").await.beat, Beat::None);
    run.handle.watch(Vec::new());
    let mut since = 0;
    let until = clock::mono().plus(Duration::from_secs(10));
    while since < 5 {
        assert!(clock::mono() < until);
        let read =
            run.next(|o| if let Observation::Heartbeat(r) = o { Some(r) } else { None }).await;
        since = if &*read.worker == "own" { since + 1 } else { 0 };
    }
    run.handle.stop().await;
}

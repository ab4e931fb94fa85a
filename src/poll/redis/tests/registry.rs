//! Registries of live workers on a real server: what each library leaves there, and what is wrong, too large or not ours.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use super::support::*;
use crate::config::{MembersKind, Preset, RedisPart, Source, Store};
use crate::observe::Observation;
use crate::observe::node::FailReason;
use crate::observe::source::{ListMember, SourceFailed};
use crate::poll::redis::registry::ListReader;
use crate::poll::redis::{Settings, StoreHandle, spawn};

/// A reader of the server's registries, and the pollers' facts, which nobody needs.
struct Bench {
    reader: ListReader,
    handle: StoreHandle,
    _facts: mpsc::Receiver<Observation>,
}

impl Bench {
    fn of(server: &Server) -> Self {
        Self::with(store(server.port, Vec::new()))
    }

    fn with(store: Store) -> Self {
        let (out, facts) = mpsc::channel(100_000);
        let settings = Settings {
            poll_interval: Duration::from_millis(50),
            sweep_interval: Duration::from_secs(60),
            retain: Duration::from_secs(60),
            shard: Default::default(),
        };
        let handle = spawn(Arc::new(store), ID, settings, out);
        Self { reader: ListReader::new(handle.clone()), handle, _facts: facts }
    }

    /// Reads as soon as the store is connected.
    async fn read(&mut self, preset: &Preset) -> Result<Vec<ListMember>, SourceFailed> {
        for _ in 0..2000 {
            match self.reader.read(preset).await {
                Err(f) if f.reason == FailReason::NotReady => {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                read => return read,
            }
        }
        panic!("never connected")
    }

    async fn names(&mut self, preset: &Preset) -> Vec<String> {
        let members = self.read(preset).await.unwrap();
        let mut names: Vec<_> = members.iter().map(|m| m.name.to_string()).collect();
        names.sort();
        names
    }
}

fn members(key: &str, kind: MembersKind, part: Option<RedisPart>) -> Preset {
    let beat =
        |part| Source::Redis { store: "main".into(), key: "{member}".to_owned(), part, json: None };
    let heartbeat = part.map(|part| Box::new(beat(part)));
    Preset::Members { key: key.to_owned(), kind, heartbeat }
}

#[tokio::test]
async fn sidekiq_lists_processes_that_beat_and_jobs_wherever_they_are() {
    let server = Server::start(&[]);
    let mut bench = Bench::of(&server);
    let run = |words: &[&str]| server.run::<redis::Value>(words);
    assert_eq!(bench.names(&Preset::Sidekiq).await, [] as [&str; 0]);
    run(&["SADD", "queues", "default", "mail"]);
    run(&[
        "LPUSH",
        "queue:default",
        r#"{"class":"A","jid":"a1"}"#,
        "no job",
        r#"{"x":[{"jid":"no"}]}"#,
    ]);
    run(&["ZADD", "schedule", "1790000000", r#"{"jid":"b1"}"#]);
    run(&["ZADD", "retry", "1790000000.5", r#"{"jid":"c1"}"#]);
    run(&["ZADD", "dead", "1", r#"{"jid":"dead"}"#]);
    run(&["SADD", "processes", "web:1:aa", "gone:2:bb"]);
    run(&["HSET", "web:1:aa", "beat", "1790000000.25", "info", "{}"]);
    run(&["HSET", "web:1:aa:work", "t1", r#"{"queue":"default","payload":"{\"jid\":\"d1\"}"}"#]);
    run(&["HSET", "web:1:aa:work", "t2", r#"{"queue":"default","payload":{"jid":"e1"}}"#]);
    assert_eq!(bench.names(&Preset::Sidekiq).await, ["a1", "b1", "c1", "d1", "e1", "web:1:aa"]);
    let read = bench.read(&Preset::Sidekiq).await.unwrap();
    let process = read.iter().find(|m| &*m.name == "web:1:aa").unwrap();
    assert_eq!(process.beat, Some(1_790_000_000.25));
    assert!(read.iter().all(|m| m.is_job == (m.name != process.name)), "jobs are no workers");
    assert!(!format!("{read:?}").contains("a1"), "a job's id may be a token");
}

#[tokio::test]
async fn rq_and_resque_are_read_as_they_are_written() {
    let server = Server::start(&[]);
    let mut bench = Bench::of(&server);
    let run = |words: &[&str]| server.run::<redis::Value>(words);
    run(&["SADD", "rq:workers", "rq:worker:w1", "rq:worker:dead", "odd"]);
    let beat = "2026-11-29T13:13:47.090039Z";
    run(&[
        "HSET",
        "rq:worker:w1",
        "last_heartbeat",
        beat,
        "hostname",
        "h",
        "pid",
        "7",
        "current_job",
        "j",
    ]);
    assert_eq!(bench.names(&Preset::Rq).await, ["h:7", "j", "w1"]);
    let read = bench.read(&Preset::Rq).await.unwrap();
    assert!(
        read.iter()
            .all(|m| m.is_job || m.beat.is_some_and(|b| (b - 1_795_958_027.09).abs() < 0.01)),
        "{read:?}"
    );
    assert!(read.iter().all(|m| m.is_job == (&*m.name == "j")), "{read:?}");
    run(&["SADD", "resque:workers", "web-1:42:high,low"]);
    run(&["HSET", "resque:workers:heartbeat", "web-1:42:high,low", "2026-11-29T13:13:47+00:00"]);
    run(&["HSET", "resque:workers:heartbeat", "gone:1:x", "2026-11-29T13:13:47+00:00"]);
    assert_eq!(bench.names(&Preset::Resque).await, ["web-1:42", "web-1:42:high,low"]);
    let read = bench.read(&Preset::Resque).await.unwrap();
    assert!(read.iter().all(|m| m.beat.is_some()));
}

#[tokio::test]
async fn bullmq_lists_workers_while_they_are_connected() {
    let server = Server::start(&[]);
    let mut bench = Bench::of(&server);
    let mut worker = server.client();
    redis::cmd("CLIENT").arg("SETNAME").arg("bull:cGF5:w:wk1").exec(&mut worker).unwrap();
    let preset = Preset::BullMq { queue: "pay".into() };
    assert_eq!(bench.names(&preset).await, ["wk1"]);
    assert!(bench.names(&Preset::BullMq { queue: "mail".into() }).await.is_empty());
    drop(worker);
    for _ in 0..2000 {
        if bench.names(&preset).await.is_empty() {
            return;
        }
    }
    panic!("still listed");
}

#[tokio::test]
async fn members_of_every_kind_are_listed_while_they_beat() {
    let server = Server::start(&[]);
    let mut bench = Bench::of(&server);
    let run = |words: &[&str]| server.run::<redis::Value>(words);
    run(&["SADD", "s", "a", "b"]);
    run(&["ZADD", "z", "1", "a", "2", "b"]);
    run(&["HSET", "h", "a", "1", "b", "2"]);
    run(&["RPUSH", "l", "a", "b", "b"]);
    for (key, kind) in [
        ("s", MembersKind::Set),
        ("z", MembersKind::Zset),
        ("h", MembersKind::Hash),
        ("l", MembersKind::List),
    ] {
        assert_eq!(bench.names(&members(key, kind, None)).await, ["a", "b"], "{key}");
    }
    run(&["HSET", "a", "beat", "17.5"]);
    let beating = members("s", MembersKind::Set, Some(RedisPart::Field("beat".into())));
    let read = bench.read(&beating).await.unwrap();
    assert_eq!(read, [ListMember { name: "a".into(), is_job: false, beat: Some(17.5) }]);
    let many: Vec<String> = (0..2500).map(|n| format!("m{n}")).collect();
    let mut words = vec!["RPUSH", "many"];
    words.extend(many.iter().map(String::as_str));
    run(&words);
    assert_eq!(bench.names(&members("many", MembersKind::List, None)).await.len(), 2500);
    words[0] = "SADD";
    words[1] = "many-too";
    run(&words);
    assert_eq!(bench.names(&members("many-too", MembersKind::Set, None)).await.len(), 2500);
}

/// Nothing is better than a part: whoever is not in the part would be taken for dead.
#[tokio::test]
async fn what_is_wrong_or_too_large_is_a_failure_and_the_next_read_is_fine() {
    let server = Server::start(&[]);
    let mut bench = Bench::of(&server);
    let run = |words: &[&str]| server.run::<redis::Value>(words);
    run(&["SET", "processes", "text"]);
    assert_eq!(bench.read(&Preset::Sidekiq).await.unwrap_err().reason, FailReason::Protocol);
    run(&["DEL", "processes"]);
    run(&["SADD", "queues", "huge"]);
    run(&[
        "EVAL",
        "for i=1,51 do local t={} for j=1,1000 do t[j]='x' end redis.call('LPUSH', 'queue:huge', unpack(t)) end",
        "0",
    ]);
    let failed = bench.read(&Preset::Sidekiq).await.unwrap_err();
    assert!(failed.detail.contains("50,000"), "{}", failed.detail);
    run(&["DEL", "queue:huge"]);
    run(&["EVAL", "redis.call('SADD', 'big', string.rep('x', 17 * 1024 * 1024))", "0"]);
    let big = members("big", MembersKind::Set, None);
    bench.read(&big).await.unwrap_err();
    run(&["SADD", "small", "a"]);
    assert_eq!(bench.names(&members("small", MembersKind::Set, None)).await, ["a"]);
    run(&["ACL", "SETUSER", "default", "-sscan"]);
    let failed = || server.commands().into_iter().find(|(name, ..)| name == "sscan").unwrap().2;
    let before = failed();
    let refused = bench.read(&members("small", MembersKind::Set, None)).await.unwrap_err();
    assert_eq!(refused.reason, FailReason::Permission);
    run(&["ACL", "SETUSER", "default", "+@all"]);
    let again = bench.read(&members("small", MembersKind::Set, None)).await.unwrap_err();
    assert_eq!(again.detail, refused.detail, "not asked again before five minutes");
    assert_eq!(failed(), before + 1);
    bench.handle.retry_refused();
    assert_eq!(bench.names(&members("small", MembersKind::Set, None)).await, ["a"]);
}

/// The README's line for lists, beside its first, is enough for all presets, and nothing of it is granted for nothing.
#[tokio::test]
async fn what_the_readme_grants_for_lists_is_what_is_sent() {
    let server = Server::start(&[]);
    let readme = include_str!("../../../../README.md");
    let line = |start: &str| readme.lines().find_map(|l| l.strip_prefix(start)).unwrap();
    let more = line("ACL SETUSER dlock +");
    let more = format!("+{}", more.replace("%R~YOUR-REGISTRY", "%R~*"));
    let rules = format!("{} {more}", line("ACL SETUSER dlock on ").replace("PASSWORD", "pw"));
    let mut words = vec!["ACL", "SETUSER", "dlock", "on"];
    words.extend(rules.split_whitespace());
    let run = |words: &[&str]| server.run::<redis::Value>(words);
    run(&words);
    run(&["SADD", "queues", "q"]);
    run(&["LPUSH", "queue:q", r#"{"jid":"a"}"#]);
    run(&["SADD", "processes", "h:1:a"]);
    run(&["HSET", "h:1:a", "beat", "1"]);
    run(&["SADD", "rq:workers", "rq:worker:w"]);
    run(&["HSET", "rq:worker:w", "last_heartbeat", "x"]);
    run(&["SADD", "resque:workers", "h:1:q"]);
    run(&["CONFIG", "RESETSTAT"]);
    let mut config = store(server.port, Vec::new());
    config.username = Some("dlock".into());
    config.password = crate::config::Password::Value(crate::secret::Secret::new("pw"));
    let mut bench = Bench::with(config);
    assert_eq!(bench.names(&Preset::Sidekiq).await, ["a", "h:1:a"]);
    assert_eq!(bench.names(&Preset::Rq).await, ["w"]);
    assert_eq!(bench.names(&Preset::Resque).await, ["h:1", "h:1:q"]);
    bench.names(&Preset::BullMq { queue: "q".into() }).await;
    for kind in [MembersKind::Set, MembersKind::Zset, MembersKind::Hash, MembersKind::List] {
        let beat = Some(RedisPart::Field("beat".into()));
        bench.names(&members("none", kind, beat)).await;
    }
    let ran = server.commands();
    for granted in more.split_whitespace().filter_map(|w| w.strip_prefix('+')) {
        let found = ran.iter().find(|(name, ..)| name == granted);
        let (_, calls, bad) = found.unwrap_or_else(|| panic!("{granted} was not sent"));
        assert!(*calls > 0 && *bad == 0, "{granted}: {bad} of {calls} failed");
    }
    assert_eq!(server.run::<Vec<redis::Value>>(&["ACL", "LOG"]).len(), 0, "nothing was refused");
}

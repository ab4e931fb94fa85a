//! What is read arrives as facts, each for itself, and a source that fails costs nobody else anything.

use std::collections::BTreeMap;
use std::sync::Mutex;

use tokio::sync::mpsc;

use super::*;
use crate::config::RedisPart;
use crate::observe::node::FailReason;
use crate::observe::poll::PollDone;
use crate::observe::source::{SourceRead, SourceValue};
use crate::observe::{Observation, Span};
use crate::poll::part::{PartRequest, PartValue, PartsFailed, PartsFuture, PartsReply};

const POLL: Duration = Duration::from_millis(20);
const SOON: Duration = Duration::from_secs(10);

/// Stores made of texts; one called `away` does not answer.
#[derive(Default)]
struct Texts {
    texts: Mutex<BTreeMap<String, String>>,
    asked: Mutex<Vec<Vec<String>>>,
}

impl ReadParts for Texts {
    fn read<'a>(&'a self, store: &'a str, parts: Vec<PartRequest>) -> PartsFuture<'a> {
        let keys: Vec<String> =
            parts.iter().map(|p| String::from_utf8_lossy(&p.key).into_owned()).collect();
        self.asked.lock().unwrap().push(keys.clone());
        Box::pin(async move {
            if store == "away" {
                let detail = "it is away".to_owned();
                return Err(PartsFailed { reason: FailReason::Network, detail });
            }
            let texts = self.texts.lock().unwrap();
            let value = |key: &String| match texts.get(key) {
                Some(text) => {
                    PartValue::Value { bytes: text.as_bytes().to_vec(), expires_at_ms: None }
                }
                None => PartValue::Missing,
            };
            let now = crate::clock::mono();
            let values = keys.iter().map(value).collect();
            Ok(PartsReply { span: Span { sent: now, done: now }, values })
        })
    }
}

fn redis(store: &str, key: &str, json: Option<&str>) -> Source {
    let json = json.map(str::to_owned);
    Source::Redis { store: store.into(), key: key.into(), part: RedisPart::Text, json }
}

fn lock(what: SourceRef, source: Source) -> Reading {
    let poll = ("fencing", "main".into());
    Reading { what, source, place: Place::Lock, name: "orders".into(), poll }
}

fn issued() -> SourceRef {
    SourceRef::FencingIssued { store: "main".into(), lock: "orders".into() }
}

fn accepted() -> SourceRef {
    let (store, lock, resource) = ("main".into(), "orders".into(), "db".into());
    SourceRef::FencingAccepted { store, lock, resource }
}

fn claim(source: Source) -> Reading {
    let what = SourceRef::Claim { worker: "w-1".into() };
    let poll = ("claim", "w".into());
    Reading { what, source, place: Place::Worker, name: "w-1".into(), poll }
}

struct Bench {
    handle: ReadingsHandle,
    facts: mpsc::Receiver<Observation>,
    texts: Arc<Texts>,
}

impl Bench {
    fn start(texts: &[(&str, &str)]) -> Self {
        let (out, facts) = mpsc::channel(1024);
        let known: BTreeMap<_, _> =
            texts.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let texts = Arc::new(Texts { texts: Mutex::new(known), asked: Mutex::default() });
        let handle = spawn(POLL, texts.clone(), out);
        Self { handle, facts, texts }
    }

    async fn fact(&mut self) -> Observation {
        tokio::time::timeout(SOON, self.facts.recv()).await.unwrap().unwrap()
    }

    /// The next read of this source.
    async fn read(&mut self, what: &SourceRef) -> SourceRead {
        loop {
            match self.fact().await {
                Observation::Source(read) if read.source == *what => return *read,
                _ => {}
            }
        }
    }

    async fn poll(&mut self, poller: &str) -> PollDone {
        loop {
            match self.fact().await {
                Observation::Poll(done) if done.poller == poller => return done,
                _ => {}
            }
        }
    }
}

#[tokio::test]
async fn a_number_is_read_where_the_template_says_and_its_absence_is_none() {
    let mut bench = Bench::start(&[("fence:orders", "17"), ("state", r#"{"last": null}"#)]);
    let source = redis("main", "fence:{lock}", None);
    let null = redis("main", "state", Some("/last"));
    bench.handle.watch(vec![lock(issued(), source), lock(accepted(), null)]);
    assert_eq!(bench.read(&issued()).await.value, Ok(Some(SourceValue::Number(17))));
    assert_eq!(bench.read(&accepted()).await.value, Ok(None));
    bench.texts.texts.lock().unwrap().clear();
    while bench.read(&issued()).await.value != Ok(None) {}
    assert_eq!(bench.poll("fencing").await.failure, None);
    bench.handle.stop().await;
}

#[tokio::test]
async fn what_is_no_number_or_away_fails_alone() {
    let mut bench = Bench::start(&[("fence", "secret"), ("good", "3")]);
    let away = SourceRef::FencingRejected {
        store: "main".into(),
        lock: "orders".into(),
        resource: "db".into(),
    };
    let count = |r: &str| SourceRef::EffectsTotal {
        store: "main".into(),
        lock: "orders".into(),
        resource: r.into(),
    };
    bench.handle.watch(vec![
        lock(issued(), redis("main", "fence", None)),
        lock(away.clone(), redis("away", "x", None)),
        lock(count("good"), redis("main", "good", None)),
    ]);
    let failed = bench.read(&issued()).await.value.unwrap_err();
    assert_eq!(failed.reason, FailReason::Protocol);
    assert!(!failed.detail.contains("secret"), "{}", failed.detail);
    assert_eq!(bench.read(&away).await.value.unwrap_err().reason, FailReason::Network);
    assert_eq!(bench.read(&count("good")).await.value, Ok(Some(SourceValue::Number(3))));
    assert!(bench.poll("fencing").await.failure.is_some());
}

#[tokio::test]
async fn claims_come_from_a_file_whole_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("w-1.json");
    let source = Source::File {
        path: dir.path().join("{worker}.json").display().to_string(),
        content: true,
    };
    let mut bench = Bench::start(&[]);
    let reading = claim(source);
    let what = reading.what.clone();
    bench.handle.watch(vec![reading]);
    assert_eq!(bench.read(&what).await.value, Ok(None));
    std::fs::write(&path, r#"[{"store": "main", "lock": "orders", "token": "t"}]"#).unwrap();
    let claims = loop {
        // A write may be seen half done; that is a failure, and no claim is made of it.
        if let Ok(Some(SourceValue::Claims(claims))) = bench.read(&what).await.value {
            break claims;
        }
    };
    assert_eq!((claims.len(), &*claims[0].lock), (1, "orders"));
    std::fs::write(&path, vec![b' '; 70_000]).unwrap();
    while bench.read(&what).await.value.is_ok() {}
}

/// Of what two sources count, the total is read first: the other way round a request in between is a duplicate.
#[tokio::test]
async fn totals_are_read_before_what_they_are_held_against() {
    let mut bench = Bench::start(&[("t", "1"), ("d", "1")]);
    let at = || ("main".into(), "orders".into(), "db".into());
    let ((store, lock_name, resource), (s, l, r)) = (at(), at());
    let distinct = SourceRef::EffectsDistinct { store, lock: lock_name, resource };
    let total = SourceRef::EffectsTotal { store: s, lock: l, resource: r };
    let readings = vec![
        lock(distinct.clone(), redis("main", "d", None)),
        lock(total, redis("main", "t", None)),
    ];
    bench.handle.watch(readings);
    bench.read(&distinct).await;
    assert!(bench.texts.asked.lock().unwrap().iter().all(|keys| keys == &["t", "d"]));
}

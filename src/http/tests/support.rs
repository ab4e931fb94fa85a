//! A server on a free port and a client of plain bytes.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Notify, Semaphore, mpsc, watch};
use tokio::task::JoinHandle;

use crate::clock;
use crate::evidence::Incidents;
use crate::expose::{Rendered, SelfFacts};
use crate::http::router::routes;
use crate::http::shared::{AppState, Shared};
use crate::http::{Door, TelemetryPath, bind, serve};
use crate::observe::Mono;
use crate::view::View;

/// What a server is started with.
pub struct Setup {
    pub view: View,
    pub own: SelfFacts,
    pub ready: Result<(), String>,
    pub telemetry_path: TelemetryPath,
    pub scrapes: usize,
    pub pages: usize,
    pub drain: Duration,
    pub incidents: Incidents,
    pub door: Arc<Door>,
}

impl Setup {
    /// The example, made just now.
    pub fn example() -> Self {
        let mut view = View::example();
        let then = std::mem::replace(&mut view.taken, clock::mono());
        let now = view.taken;
        let shift = |at: &mut Mono| *at = now.minus(then.since(*at));
        for lock in view.stores.iter_mut().flat_map(|s| s.locks.iter_mut()) {
            let recent = lock.recent.iter_mut().flat_map(|r| Arc::make_mut(r).iter_mut());
            recent.for_each(|mark| shift(&mut mark.at));
        }
        for worker in &mut view.workers {
            Arc::make_mut(&mut worker.beats).iter_mut().for_each(shift);
        }
        Self {
            view,
            own: SelfFacts::new(Duration::from_secs(60), 1_790_000_000.0),
            ready: Ok(()),
            telemetry_path: TelemetryPath::default(),
            scrapes: 40,
            pages: 10,
            drain: Duration::from_secs(20),
            incidents: Incidents::default(),
            door: Door::open(),
        }
    }

    /// The example, older than ten polls.
    pub fn too_old() -> Self {
        let mut setup = Self::example();
        setup.own.poll_interval = Duration::from_secs(2);
        setup.view.taken = clock::mono().minus(Duration::from_secs(21));
        setup
    }

    pub async fn start(self) -> Server {
        let listeners = bind(Some("127.0.0.1"), 0).await.unwrap();
        let addr = listeners[0].local_addr().unwrap();
        let (reload, mut asked) = mpsc::channel::<crate::http::ReloadRequest>(1);
        let outcomes: Outcomes = Arc::default();
        let reloads = Arc::new(Reloads::default());
        let (answers, gate) = (outcomes.clone(), reloads.clone());
        tokio::spawn(async move {
            while let Some(answer) = asked.recv().await {
                let next = answers.lock().unwrap().pop_front();
                gate.arrived.notify_one();
                if gate.hold.load(Ordering::SeqCst) {
                    gate.released.notified().await;
                }
                if let Some(outcome) = next {
                    let _ = answer.send(outcome);
                }
            }
        });
        let ready = self.ready;
        let snapshot =
            Arc::new(ArcSwap::from_pointee(Rendered::new(Arc::new(self.view), self.own)));
        let router = routes(Shared {
            app: AppState {
                snapshot: snapshot.clone(),
                asks: Arc::default(),
                // All locks are in its snapshots.
                show: mpsc::channel(1).0,
                incidents: self.incidents,
                ready: Arc::new(move || ready.clone()),
                reload,
                telemetry_path: self.telemetry_path,
            },
            scrapes: Arc::new(Semaphore::new(self.scrapes)),
            pages: Arc::new(Semaphore::new(self.pages)),
            files: Arc::new(Semaphore::new(1)),
        });
        let (stop, stopped) = watch::channel(false);
        let serving = tokio::spawn(serve(listeners, router, self.door, stopped, self.drain));
        Server { addr, snapshot, outcomes, reloads, stop, serving }
    }
}

/// A reload that can be made to take long.
#[derive(Default)]
pub struct Reloads {
    pub hold: AtomicBool,
    pub arrived: Notify,
    pub released: Notify,
}

type Outcomes = Arc<Mutex<VecDeque<Result<(), String>>>>;

pub struct Server {
    pub addr: SocketAddr,
    pub snapshot: Arc<ArcSwap<Rendered>>,
    outcomes: Outcomes,
    pub reloads: Arc<Reloads>,
    pub stop: watch::Sender<bool>,
    pub serving: JoinHandle<usize>,
}

impl Server {
    /// What the next reload comes to.
    pub fn next_reload(&self, outcome: Result<(), String>) {
        self.outcomes.lock().unwrap().push_back(outcome);
    }

    /// Sends a request and reads until the server closes.
    pub async fn ask(&self, request: &str) -> Answer {
        let mut stream = TcpStream::connect(self.addr).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut bytes = Vec::new();
        let all = stream.read_to_end(&mut bytes);
        tokio::time::timeout(Duration::from_secs(20), all).await.expect("an answer").unwrap();
        Answer::read(&bytes)
    }
}

/// A GET request that ends its connection.
pub fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
}

/// The same with one more header.
pub fn get_with(path: &str, header: &str) -> String {
    get(path).replacen("\r\n", &format!("\r\n{header}\r\n"), 1)
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Answer {
    fn read(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|w| w == b"\r\n\r\n").expect("a header");
        let head = std::str::from_utf8(&bytes[..end]).unwrap();
        let mut lines = head.split("\r\n");
        let status =
            lines.next().and_then(|l| l.split(' ').nth(1)?.parse().ok()).expect("a status");
        let headers = lines
            .filter_map(|l| l.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        Self { status, headers, body: bytes[end + 4..].to_vec() }
    }

    /// A header, empty if it is not there.
    pub fn header(&self, name: &str) -> String {
        self.headers.get(name).cloned().unwrap_or_default()
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// All markup is ours: the tags of a page are a closed list.
pub fn only_our_tags(page: &str) {
    let known = [
        "!DOCTYPE",
        "html",
        "head",
        "meta",
        "title",
        "link",
        "body",
        "main",
        "header",
        "h1",
        "h2",
        "h3",
        "small",
        "nav",
        "a",
        "p",
        "section",
        "pre",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "b",
        "ul",
        "ol",
        "li",
        "span",
        "div",
        "code",
        "wbr",
        "br",
        "dl",
        "dt",
        "dd",
        "meter",
        "bdi",
        "form",
        "label",
        "input",
        "button",
        "svg",
        "details",
        "summary",
        "desc",
        "g",
        "rect",
        "path",
        "line",
        "circle",
        "text",
        "figure",
        "figcaption",
    ];
    for tag in page.split('<').skip(1) {
        let name = tag.trim_start_matches('/').split([' ', '>']).next().unwrap();
        assert!(known.contains(&name), "<{tag}");
        let attributes = tag.split('>').next().unwrap();
        assert!(!attributes.contains(" on") && !attributes.contains("style="), "<{tag}");
    }
}

/// What the links below `path` go to.
pub fn links<'a>(page: &'a str, path: &str) -> Vec<&'a str> {
    let start = format!("href=\"{path}");
    page.split(start.as_str()).skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

/// A page's text with one line for each cell, item or paragraph.
pub fn words_of(page: &str) -> String {
    let mut out = String::new();
    for part in page.split('<') {
        let (tag, text) = part.split_once('>').unwrap_or(("", part));
        let is_inline = ["wbr", "bdi", "b", "code", "a", "span", "small"]
            .contains(&tag.trim_start_matches('/').split(' ').next().unwrap());
        if !is_inline {
            out.push('\n');
        }
        out.push_str(text);
    }
    out
}

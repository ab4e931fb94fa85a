//! The receiving end of Alertmanager's webhooks: keeps every notification with the time at which it came. It must not
//! judge, and answers 200 always.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use dlock_exporter::clock;
use dlock_exporter::observe::Mono;
use serde_json::Value;

use super::prometheus::{Labels, labels};

/// One alert of a notification.
#[derive(Clone, Debug)]
pub struct NotifiedAlert {
    /// `firing` or `resolved`.
    pub status: String,
    /// All its labels, `alertname` too.
    pub labels: Labels,
    /// Its annotations.
    pub annotations: Labels,
}

impl NotifiedAlert {
    /// A label's value, empty if it has no such label.
    pub fn label(&self, name: &str) -> &str {
        self.labels.get(name).map_or("", String::as_str)
    }

    /// An annotation, empty if it has no such annotation.
    pub fn annotation(&self, name: &str) -> &str {
        self.annotations.get(name).map_or("", String::as_str)
    }

    /// Whether it is that alert in that state.
    pub fn is(&self, name: &str, status: &str) -> bool {
        self.label("alertname") == name && self.status == status
    }
}

/// One notification.
#[derive(Clone, Debug)]
pub struct Notification {
    /// When it came.
    pub at: Mono,
    /// The path that it was sent to.
    pub path: String,
    /// Alertmanager's receiver that sent it.
    pub receiver: String,
    /// `firing` or `resolved`.
    pub status: String,
    /// Its alerts.
    pub alerts: Vec<NotifiedAlert>,
}

/// A running receiver.
pub struct Webhook {
    address: SocketAddr,
    kept: Arc<Mutex<Vec<Notification>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Webhook {
    /// Listens on a free port.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback has a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        listener.set_nonblocking(true).expect("a listener can be non-blocking");
        let (kept, stop) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (shared, told) = (Arc::clone(&kept), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            while !told.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok((stream, _)) => match receive(stream) {
                        Ok(one) => shared.lock().expect("no thread panics with it").push(one),
                        // A connection that is opened and not used.
                        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {}
                        Err(error) => panic!("not a notification: {error}"),
                    },
                    Err(_) => std::thread::sleep(Duration::from_millis(5)),
                }
            }
        });
        Self { address, kept, stop, thread: Some(thread) }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its URL.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// All notifications so far, in the order in which they came.
    pub fn notifications(&self) -> Vec<Notification> {
        self.kept.lock().expect("no thread panics with it").clone()
    }

    /// Waits for the first notification in which an alert fits, and gives it with that alert. Panics after `deadline`
    /// with all that came.
    pub fn wait_for(
        &self,
        what: &str,
        deadline: Duration,
        fits: impl Fn(&NotifiedAlert) -> bool,
    ) -> (Notification, NotifiedAlert) {
        let begun = clock::mono();
        let find = || {
            let mut all = self.notifications().into_iter();
            all.find_map(|n| n.alerts.iter().find(|a| fits(a)).cloned().map(|alert| (n, alert)))
        };
        while clock::mono().since(begun) < deadline {
            if let Some(found) = find() {
                return found;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("not within {deadline:?}: {what}\nwhat came: {:#?}", self.notifications());
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let failed = thread.join().is_err();
            assert!(!failed || std::thread::panicking(), "something else than a notification came");
        }
    }
}

fn receive(stream: TcpStream) -> io::Result<Notification> {
    let at = clock::mono();
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
    let mut reader = BufReader::new(&stream);
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut length = 0;
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    (&stream).write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")?;
    let body: Value = serde_json::from_slice(&body).map_err(io::Error::other)?;
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    let alert = |a: &Value| NotifiedAlert {
        status: text(&a["status"]),
        labels: labels(&a["labels"]),
        annotations: labels(&a["annotations"]),
    };
    let alerts = body["alerts"].as_array().map(|all| all.iter().map(alert).collect());
    Ok(Notification {
        at,
        path,
        receiver: text(&body["receiver"]),
        status: text(&body["status"]),
        alerts: alerts.unwrap_or_default(),
    })
}

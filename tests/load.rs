//! Many clients at once, good ones and bad ones: scrapes without end beside connections that say nothing, that stop in the
//! middle of a request, that do not read, and that send headers without end. Every scrape is answered at once, polls go on,
//! and what the exporter uses stays bounded and is given back. What the limits are, the README says.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dlock_exporter::clock;
use rustix::process::{Resource, getrlimit};

use crate::support::{Exporter, Latencies, Metrics, RedisServer, for_a_while, long, not_tested};

const POLL: Duration = Duration::from_millis(500);
const SOON: Duration = Duration::from_secs(20);
/// Clients that scrape, each so often in a second.
const SCRAPERS: usize = 4;
const EACH: u32 = 50;
/// Connections that the exporter keeps, as the README says, and what else it has open.
const PLACES: f64 = 512.0;
const OTHER_FILES: f64 = 100.0;
/// What it may use: 31 MB as it is built for tests, and the buffers of so many connections.
const MOST_MEMORY: f64 = 150e6;
const LEFT_OVER: f64 = 40e6;

fn connect(to: SocketAddr) -> Option<TcpStream> {
    let stream = TcpStream::connect_timeout(&to, Duration::from_secs(2)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(2))).ok()?;
    Some(stream)
}

/// A scraper with one connection, as Prometheus is. One that was closed while it was idle is made anew, once.
fn scrape(to: SocketAddr, kept: &mut Option<TcpStream>) -> Result<(), String> {
    for attempt in 0..2 {
        let mut stream = match kept.take() {
            Some(stream) => stream,
            None => connect(to).ok_or("no connection")?,
        };
        match ask(&mut stream) {
            Ok(()) => {
                *kept = Some(stream);
                return Ok(());
            }
            Err(why) if attempt == 1 => return Err(why),
            Err(_) => {}
        }
    }
    Ok(())
}

fn ask(stream: &mut TcpStream) -> Result<(), String> {
    let text = |e: std::io::Error| e.to_string();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").map_err(text)?;
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let n = stream.read(&mut buffer).map_err(text)?;
        if n == 0 {
            return Err("closed".into());
        }
        bytes.extend_from_slice(&buffer[..n]);
        let Some(end) = bytes.windows(4).position(|w| w == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        if !head.starts_with("http/1.1 200") {
            return Err(head);
        }
        let length = head.lines().find_map(|l| l.strip_prefix("content-length: "));
        let length: usize = length.and_then(|l| l.trim().parse().ok()).ok_or("no length")?;
        if bytes.len() >= end + 4 + length {
            return Ok(());
        }
    }
}

/// Scrapes until it is told to stop; how often, and what went wrong.
fn scraper(to: SocketAddr, stop: &AtomicBool) -> (usize, Vec<String>, Duration) {
    let (mut kept, mut done, mut wrong, mut worst) = (None, 0, Vec::new(), Duration::ZERO);
    let begun = clock::mono();
    while !stop.load(Ordering::Relaxed) {
        let asked = clock::mono();
        match scrape(to, &mut kept) {
            Ok(()) => done += 1,
            Err(why) => wrong.push(why),
        }
        worst = worst.max(clock::mono().since(asked));
        let due = begun.plus(Duration::from_secs(1) / EACH * (done + wrong.len()) as u32);
        std::thread::sleep(due.since(clock::mono()));
    }
    (done, wrong, worst)
}

/// Connections that come and stay, and do what they should not.
#[derive(Default)]
struct Crowd {
    idle: Vec<TcpStream>,
    half: Vec<TcpStream>,
    deaf: Vec<TcpStream>,
}

impl Crowd {
    /// So many of each.
    fn come(to: SocketAddr, idle: usize) -> Self {
        let mut crowd = Self::default();
        for n in 0..idle {
            crowd.idle.extend(connect(to));
            if n.is_multiple_of(20) {
                let half = connect(to).and_then(|mut stream| {
                    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nX-").ok()?;
                    Some(stream)
                });
                crowd.half.extend(half);
            }
            if n.is_multiple_of(100) {
                let deaf = connect(to).and_then(|mut stream| {
                    stream.set_nonblocking(true).ok()?;
                    let _ = stream.write(&b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n".repeat(500));
                    Some(stream)
                });
                crowd.deaf.extend(deaf);
            }
        }
        crowd
    }
}

/// Headers without end; what the exporter says to it.
fn flood(to: SocketAddr, line: &[u8]) -> String {
    let Some(mut stream) = connect(to) else { return "no connection".into() };
    let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n");
    for _ in 0..20_000 {
        if stream.write_all(line).is_err() {
            break;
        }
    }
    let mut answer = [0; 64];
    // Whoever is still writing when it is closed may lose the answer.
    let n = stream.read(&mut answer).unwrap_or(0);
    String::from_utf8_lossy(&answer[..n]).lines().next().unwrap_or_default().to_owned()
}

fn config(server: &RedisServer) -> String {
    format!(
        "poll_interval: 500ms
stores:
  main:
    url: {}
    username: dlock
    locks: [{{ name: '{{1}}', match: 'lock:*', capture: '^lock:(.+)$', series: full }}]
",
        server.url()
    )
}

fn age(m: &Metrics) -> f64 {
    let now = m.value("dlock_exporter_snapshot_timestamp_seconds", &[]).unwrap_or(f64::NAN);
    let polls = m.all("dlock_exporter_poll_last_success_timestamp_seconds", &[]);
    polls.iter().map(|s| now - s.value).fold(0.0, f64::max)
}

#[test]
fn many_clients_good_and_bad_are_bounded_and_leave_nothing() {
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let wanted = if long() { 10_000 } else { 1500 };
    let idle = wanted.min(usize::try_from(files / 2).unwrap_or(wanted));
    if idle < wanted {
        not_tested(&format!("{wanted} idle connections: {files} files may be open, so {idle}"));
    }
    let server = RedisServer::start();
    for n in 0..100 {
        server.cmd(&["SET", &format!("lock:{n}"), &format!("w-{n}:x"), "PX", "600000"]);
    }
    let mut exporter = Exporter::start(&config(&server));
    exporter
        .wait_for("all locks: dlock_locks", SOON, |m| m.all("dlock_lock_held", &[]).len() == 100);
    let to = exporter.address();
    let before = exporter.metrics();
    let stop = Arc::new(AtomicBool::new(false));
    let scrapers: Vec<_> = (0..SCRAPERS)
        .map(|_| {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || scraper(to, &stop))
        })
        .collect();
    let watch = Latencies::measure_each(to, "/metrics", Duration::from_millis(100));
    let machine = Latencies::measure_each(to, "/-/healthy", Duration::from_millis(100));
    let begun = clock::mono();
    let crowd = Crowd::come(to, idle);
    let length = Duration::from_secs(if long() { 600 } else { 4 });
    let mut said = Vec::new();
    while clock::mono().since(begun) < length {
        said.push(flood(to, b"X-More: 12345678901234567890\r\n"));
        said.push(flood(to, &[b"X-Long: ".as_slice(), &[b'x'; 4096]].concat()));
        let m = exporter.metrics();
        let value = |name| m.value(name, &[]).unwrap_or(f64::NAN);
        assert!(age(&m) < POLL.as_secs_f64() * 3.0 + 0.8, "polls are {:.1} s old", age(&m));
        let (fds, memory) = (value("process_open_fds"), value("process_resident_memory_bytes"));
        assert!(fds <= PLACES + OTHER_FILES, "{fds} files are open");
        assert!(memory < MOST_MEMORY, "it uses {:.0} MB", memory / 1e6);
        for_a_while(Duration::from_millis(200));
    }
    stop.store(true, Ordering::Relaxed);
    let done: Vec<_> = scrapers.into_iter().map(|s| s.join().expect("a scraper")).collect();
    let (seen, idle_machine) = (watch.finish(), machine.finish().quantile(0.95));
    assert!(seen.failed().is_empty(), "{:?}", seen.failed());
    let p95 = seen.quantile(0.95);
    assert!(
        p95 < Duration::from_millis(50) + idle_machine * 5,
        "{p95:?}, the machine {idle_machine:?}"
    );
    let scrapes: usize = done.iter().map(|(n, ..)| n).sum();
    let wrong: Vec<_> = done.iter().flat_map(|(_, wrong, _)| wrong).collect();
    let per_second = scrapes as f64 / clock::mono().since(begun).as_secs_f64();
    assert!(
        wrong.is_empty(),
        "{} of {scrapes} scrapes: {:?}",
        wrong.len(),
        &wrong[..wrong.len().min(5)]
    );
    assert!(per_second > 100.0, "{per_second:.0} scrapes a second");
    // Either the answer, or a connection that ended while it was still writing.
    assert!(
        said.iter().all(|s| s.is_empty() || s.contains(" 431 ") || s.contains(" 400 ")),
        "{said:?}"
    );

    drop(crowd);
    let value = |m: &Metrics, name: &str| m.value(name, &[]).unwrap_or(f64::NAN);
    // Threads that make answers stay for the scrapes of this wait; there are sixteen of them at most.
    let kept = [
        ("process_open_fds", 3.0),
        ("process_threads", 16.0),
        ("process_resident_memory_bytes", LEFT_OVER),
    ];
    exporter.wait_for("given back: process_", SOON * 2, move |m| {
        kept.iter().all(|(name, most)| value(m, name) - value(&before, name) <= *most)
    });
    assert_eq!(exporter.get("/-/healthy").status, 200);
    assert!(exporter.stop().success());
}

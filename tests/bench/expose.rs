//! What showing 100,000 series costs: rendering them beside a loop that writes the same lines straight, answering a scrape
//! beside a server that has the same bytes in memory, and what many scrapers at once share. Prints ratios; fails when one is
//! over its bound.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr
)]

#[path = "expose/direct.rs"]
mod direct;
#[path = "growth.rs"]
mod growth;
#[path = "expose/locks.rs"]
mod locks;

use std::hint::black_box;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use axum::Router;
use axum::routing::get;
use bytes::Bytes;
use dlock_exporter::clock;
use dlock_exporter::evidence::Incidents;
use dlock_exporter::expose::{Rendered, SelfFacts, render};
use dlock_exporter::http::{AppState, Door, TelemetryPath, bind, router, serve};
use growth::Growth;
use rustix::time::{ClockId, clock_gettime};

/// Their core series are 100,000.
const LOCKS: usize = 4_200;
/// Measurements of each kind, in turn; the least counts, as what else runs can only make one worse.
const ROUNDS: usize = 15;
const RENDER_BOUND: f64 = 1.5;
const SCRAPE_BOUND: f64 = 1.2;
/// What a scraper takes.
const PLAIN: &str = "identity";
const GZIP: &str = "gzip";
/// Scrapers at once.
const CROWD: usize = 64;
/// What memory they take for themselves, in bodies; unshared it were one for each.
const CROWD_MEMORY_BOUND: f64 = 2.0;
/// Their processor time with that of the server, in that of rendering and compressing once; if each did both it were 64.
const CROWD_CPU_BOUND: f64 = 8.0;

fn main() -> ExitCode {
    let view = locks::view(LOCKS);
    let own = SelfFacts::new(Duration::from_secs(600), 1_789_999_000.0);
    let text = render(&view, &own).to_vec();
    let families = direct::parse(std::str::from_utf8(&text).unwrap());
    assert!(direct::write(&families) == text, "the same bytes");
    let series = direct::samples(&families);
    println!("{LOCKS} locks: {series} series, {:.1} MB", text.len() as f64 / 1e6);
    assert!(series >= 100_000);

    let protos = direct::protos(&families);
    let mut least = [Duration::MAX; 3];
    for _ in 0..ROUNDS {
        let took = [
            cpu_of(|| drop(black_box(render(&view, &own)))),
            cpu_of(|| drop(black_box(direct::write(&families)))),
            cpu_of(|| drop(black_box(direct::encode(&protos)))),
        ];
        least.iter_mut().zip(took).for_each(|(least, took)| *least = took.min(*least));
    }
    let [ours, straight, theirs] = least;
    let rendering = ratio(ours, straight);
    let view = Arc::new(view);
    let generation = || Arc::new(Rendered::new(view.clone(), own.clone()));
    let rendered = generation();
    // With what it says of its own process by now.
    let text = Bytes::from(rendered.text().to_vec());
    let gzip = cpu_of(|| drop(rendered.gzip()));
    println!(
        "rendering: {ours:.1?}; written straight: {straight:.1?}; by the prometheus crate, its input made: {theirs:.1?}; gzip: {gzip:.1?}"
    );

    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let snapshot = Arc::new(ArcSwap::from(rendered));
    let exporter = runtime.block_on(exporter(snapshot.clone()));
    let size = text.len();
    let memory = runtime.block_on(from_memory(text));
    let (mut served, mut written) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS * 2 {
        served = scrape(exporter, PLAIN).0.min(served);
        written = scrape(memory, PLAIN).0.min(written);
    }
    let answering = ratio(served, written);
    println!("a scrape: {served:.1?}; the same bytes from memory: {written:.1?}");

    high_water();
    let before = high_water();
    crowd(exporter, PLAIN);
    let taken = (high_water() - before) / size as f64;
    let shared = (0..3).map(|_| {
        snapshot.store(generation());
        ratio(process_cpu_of(|| crowd(exporter, GZIP)), ours + gzip)
    });
    let shared = shared.fold(f64::INFINITY, f64::min);

    if std::env::var("DLOCK_TEST_LONG").is_ok_and(|v| v == "1") {
        as_locks_grow(&own);
    }
    let mut code = ExitCode::SUCCESS;
    println!("| what | measured | bound |\n|---|---|---|");
    let told = |what: &str| what.replace("SERIES", &series.to_string());
    for (what, measured, bound) in [
        ("rendering SERIES series / writing them straight", rendering, RENDER_BOUND),
        ("the prometheus crate's encoder / the same", ratio(theirs, straight), f64::INFINITY),
        ("answering a scrape of them / a server that has the bytes", answering, SCRAPE_BOUND),
        ("memory that 64 scrapes at once take / their text", taken, CROWD_MEMORY_BOUND),
        (
            "processor time of 64 compressed ones / rendering and compressing once",
            shared,
            CROWD_CPU_BOUND,
        ),
    ] {
        let mark = if measured > bound { ", exceeded" } else { "" };
        let limit = if bound.is_finite() { bound.to_string() } else { String::new() };
        println!("| {} | {measured:.2} | {limit}{mark} |", told(what));
        if measured > bound {
            code = ExitCode::FAILURE;
        }
    }
    code
}

/// Each with series of its own, and all of them as one group, whose series do not become more.
fn as_locks_grow(own: &SelfFacts) {
    let each = [1_000, 10_000, 100_000];
    let grouped = [1_000, 10_000, 100_000, 1_000_000];
    for (what, sizes, is_group) in [
        ("rendering their core series", &each[..], false),
        ("rendering their group", &grouped, true),
    ] {
        let mut growth = Growth::of(sizes);
        let mut series = Vec::new();
        for count in sizes {
            let view = if is_group { locks::grouped(*count) } else { locks::view(*count) };
            let text = render(&view, own).to_vec();
            series.push(text.split(|b| *b == b'\n').filter(|l| l.starts_with(b"dlock_")).count());
            let least = (0..5).map(|_| cpu_of(|| drop(black_box(render(&view, own))))).min();
            growth.add(what, least.unwrap().as_secs_f64() * 1e3);
        }
        growth.print();
        println!("series: {series:?}");
        assert!(!is_group || series[0].abs_diff(series[3]) == 0, "a group's series are as many");
    }
}

fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64()
}

/// CPU time of this thread.
fn cpu_of(work: impl FnOnce()) -> Duration {
    cpu_by(ClockId::ThreadCPUTime, work)
}

/// CPU time of all threads.
fn process_cpu_of(work: impl FnOnce()) -> Duration {
    cpu_by(ClockId::ProcessCPUTime, work)
}

fn cpu_by(clock: ClockId, work: impl FnOnce()) -> Duration {
    let now = || {
        let time = clock_gettime(clock);
        Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap())
    };
    let begun = now();
    work();
    now() - begun
}

/// The exporter's own routes with this snapshot.
async fn exporter(snapshot: Arc<ArcSwap<Rendered>>) -> SocketAddr {
    let listeners = bind(Some("127.0.0.1"), 0).await.unwrap();
    let address = listeners[0].local_addr().unwrap();
    let (reload, _) = tokio::sync::mpsc::channel(1);
    let state = AppState {
        snapshot,
        asks: Arc::default(),
        show: tokio::sync::mpsc::channel(1).0,
        incidents: Incidents::default(),
        ready: Arc::new(|| Ok(())),
        reload,
        telemetry_path: TelemetryPath::default(),
    };
    let (stop, stopping) = tokio::sync::watch::channel(false);
    std::mem::forget(stop);
    tokio::spawn(serve(listeners, router(state), Door::open(), stopping, Duration::ZERO));
    address
}

/// A server of the same kind, on the same runtime, that has nothing but these bytes.
async fn from_memory(text: Bytes) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let routes = Router::new().route("/metrics", get(move || std::future::ready(text.clone())));
    tokio::spawn(async move { axum::serve(listener, routes).await });
    address
}

/// From the request to the last byte, and how many came.
fn scrape(address: SocketAddr, encoding: &str) -> (Duration, usize) {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!(
        "GET /metrics HTTP/1.1\r\nHost: a\r\nAccept-Encoding: {encoding}\r\nConnection: close\r\n\r\n"
    );
    let mut buffer = vec![0; 1 << 16];
    let begun = clock::mono();
    stream.write_all(request.as_bytes()).unwrap();
    let mut read = stream.read(&mut buffer).unwrap();
    assert!(buffer.starts_with(b"HTTP/1.1 200 OK"), "{}", String::from_utf8_lossy(&buffer[..99]));
    loop {
        match stream.read(&mut buffer).unwrap() {
            0 => return (clock::mono().since(begun), read),
            n => read += n,
        }
    }
}

/// Until all of many that ask at once have their answer.
fn crowd(address: SocketAddr, encoding: &str) {
    std::thread::scope(|scope| {
        let all: Vec<_> =
            (0..CROWD).map(|_| scope.spawn(move || scrape(address, encoding).1)).collect();
        let read: Vec<usize> = all.into_iter().map(|one| one.join().unwrap()).collect();
        assert!(read.iter().all(|n| n.abs_diff(read[0]) < 100), "all alike: {read:?}");
    });
}

/// Most memory that this process had at a time, in bytes, from now on no more than it has now.
fn high_water() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap();
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() * 1024.0
}

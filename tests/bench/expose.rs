//! What showing 100,000 series costs: rendering them beside a loop that writes the same lines straight, and answering a
//! scrape beside a thread that writes the same bytes from memory. Prints ratios; fails when one is over its bound.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr
)]

#[path = "expose/direct.rs"]
mod direct;
#[path = "expose/locks.rs"]
mod locks;

use std::hint::black_box;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use dlock_exporter::clock;
use dlock_exporter::evidence::Incidents;
use dlock_exporter::expose::{Rendered, SelfFacts, render};
use dlock_exporter::http::{AppState, Door, TelemetryPath, bind, router, serve};
use rustix::time::{ClockId, clock_gettime};

/// Their core series are 100,000.
const LOCKS: usize = 4_200;
/// Measurements of each kind, in turn; the least counts, as what else runs can only make one worse.
const ROUNDS: usize = 15;
const RENDER_BOUND: f64 = 1.5;
const SCRAPE_BOUND: f64 = 1.2;
/// Scrapers at once.
const CROWD: usize = 64;

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
    let rendered = Arc::new(Rendered::new(Arc::new(view), own));
    // With what it says of its own process by now.
    let text = rendered.text().to_vec();
    let gzip = cpu_of(|| drop(rendered.gzip()));
    println!(
        "rendering: {ours:.1?}; written straight: {straight:.1?}; by the prometheus crate, its input made: {theirs:.1?}; gzip: {gzip:.1?}"
    );

    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let exporter = runtime.block_on(exporter(rendered));
    let memory = from_memory(text.clone());
    let size = text.len();
    let (mut served, mut written) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS * 2 {
        served = scrape(exporter, size).min(served);
        written = scrape(memory, size).min(written);
    }
    let answering = ratio(served, written);
    let crowd = crowd(exporter, size);
    println!(
        "a scrape: {served:.1?}; the same bytes from memory: {written:.1?}; {CROWD} scrapes at once: {crowd:.1?}"
    );

    println!("| what | ratio | bound |\n|---|---|---|");
    println!(
        "| rendering {series} series / writing them straight | {rendering:.2} | {RENDER_BOUND} |"
    );
    println!("| the prometheus crate's encoder / the same | {:.2} | |", ratio(theirs, straight));
    println!(
        "| answering a scrape of them / writing the bytes from memory | {answering:.2} | {SCRAPE_BOUND} |"
    );
    if rendering > RENDER_BOUND || answering > SCRAPE_BOUND {
        println!("over its bound");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64()
}

/// CPU time of this thread.
fn cpu_of(work: impl FnOnce()) -> Duration {
    let now = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap())
    };
    let begun = now();
    work();
    now() - begun
}

/// The exporter's own routes with this snapshot.
async fn exporter(rendered: Arc<Rendered>) -> SocketAddr {
    let listeners = bind(Some("127.0.0.1"), 0).await.unwrap();
    let address = listeners[0].local_addr().unwrap();
    let (reload, _) = tokio::sync::mpsc::channel(1);
    let state = AppState {
        snapshot: Arc::new(ArcSwap::from(rendered)),
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

/// A thread that answers each connection with these bytes.
fn from_memory(text: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            stream.set_nodelay(true).unwrap();
            let mut request = [0; 1024];
            assert!(stream.read(&mut request).unwrap() > 0);
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", text.len());
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(&text).unwrap();
        }
    });
    address
}

/// From the request to the last byte.
fn scrape(address: SocketAddr, size: usize) -> Duration {
    let mut stream = TcpStream::connect(address).unwrap();
    let begun = clock::mono();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    let mut buffer = vec![0; 1 << 18];
    let mut read = 0;
    loop {
        match stream.read(&mut buffer).unwrap() {
            0 => break,
            n => read += n,
        }
    }
    assert!(read > size && read < size + 500, "{read} bytes of {size}");
    clock::mono().since(begun)
}

/// Until all of many that ask at once have their answer.
fn crowd(address: SocketAddr, size: usize) -> Duration {
    let begun = clock::mono();
    std::thread::scope(|scope| {
        for _ in 0..CROWD {
            scope.spawn(move || scrape(address, size));
        }
    });
    clock::mono().since(begun)
}

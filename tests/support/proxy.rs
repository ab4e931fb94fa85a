//! A TCP proxy on the loopback that can hold back what the server sends: a slow network for one connection. It must not
//! look into what passes.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use dlock_exporter::clock;

/// A running proxy; its threads end with the connections.
pub struct Proxy {
    address: SocketAddr,
    delay: Arc<AtomicU64>,
}

impl Proxy {
    /// Passes connections on to `server`, without delay at first.
    pub fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback has a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let delay = Arc::new(AtomicU64::new(0));
        let shared = Arc::clone(&delay);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(upstream) = TcpStream::connect(server) else { continue };
                // What is small goes on its way at once.
                let _ = (client.set_nodelay(true), upstream.set_nodelay(true));
                let (Ok(c), Ok(u)) = (client.try_clone(), upstream.try_clone()) else { continue };
                pass(c, u, Arc::new(AtomicU64::new(0)));
                pass(upstream, client, Arc::clone(&shared));
            }
        });
        Self { address, delay }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on what the server sends arrives that much later.
    pub fn delay(&self, length: Duration) {
        let micros = u64::try_from(length.as_micros()).expect("delays are short");
        self.delay.store(micros, Ordering::Relaxed);
    }
}

/// Two threads: one reads and notes when each piece is due, one writes it then, so that order is kept and nothing is lost.
fn pass(mut from: TcpStream, mut to: TcpStream, delay: Arc<AtomicU64>) {
    let (pieces, due) = mpsc::channel::<(dlock_exporter::observe::Mono, Vec<u8>)>();
    std::thread::spawn(move || {
        let mut buffer = [0; 16384];
        while let Ok(n @ 1..) = from.read(&mut buffer) {
            let at = clock::mono().plus(Duration::from_micros(delay.load(Ordering::Relaxed)));
            if pieces.send((at, buffer[..n].to_vec())).is_err() {
                break;
            }
        }
    });
    std::thread::spawn(move || {
        for (at, bytes) in due {
            std::thread::sleep(at.since(clock::mono()));
            if to.write_all(&bytes).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    });
}

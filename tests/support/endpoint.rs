//! A small HTTP server of the test, whose answers the test changes while it runs. One answer per connection.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// What happens to a connection.
#[derive(Clone, Debug)]
pub enum Reply {
    /// An answer with this status and body.
    Answer(u16, String),
    /// It stays open and nothing is said.
    Silence,
    /// It is closed.
    Close,
    /// These bytes, whatever they are.
    Bytes(&'static str),
}

/// The server; its port refuses connections when it is dropped.
pub struct Endpoint {
    address: SocketAddr,
    reply: Arc<Mutex<Reply>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Endpoint {
    /// Serves on a free port.
    pub fn start(reply: Reply) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback has a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        listener.set_nonblocking(true).expect("a listener can be non-blocking");
        let (reply, stop) = (Arc::new(Mutex::new(reply)), Arc::new(AtomicBool::new(false)));
        let (shared, told) = (Arc::clone(&reply), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            let mut silent = Vec::new();
            while !told.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok((stream, _)) => {
                        let reply = shared.lock().expect("no thread panics with it").clone();
                        silent.extend(serve(stream, &reply));
                    }
                    Err(_) => std::thread::sleep(Duration::from_millis(5)),
                }
            }
        });
        Self { address, reply, stop, thread: Some(thread) }
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its URL.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// What it does from now on.
    pub fn set(&self, reply: Reply) {
        *self.reply.lock().expect("no thread panics with it") = reply;
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Gives the stream back if it must stay open.
fn serve(mut stream: TcpStream, reply: &Reply) -> Option<TcpStream> {
    let _ = stream.set_nonblocking(false);
    let _ = stream.set_read_timeout(Some(Duration::from_millis(500)));
    let _ = stream.read(&mut [0; 4096]);
    match reply {
        Reply::Answer(status, body) => {
            let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n", body.len());
            let _ = stream.write_all((head + body).as_bytes());
            None
        }
        Reply::Bytes(bytes) => {
            let _ = stream.write_all(bytes.as_bytes());
            None
        }
        Reply::Silence => Some(stream),
        Reply::Close => None,
    }
}

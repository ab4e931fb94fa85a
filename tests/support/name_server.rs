//! A name server of the test, which knows one address for every name, and can be told to refuse, to be silent or slow, or to
//! answer nonsense. It listens on an address of the loopback that nothing else uses, as a resolver asks port 53 only.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::not_tested;

/// What it does with a question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Says {
    /// The loopback's address.
    Address,
    /// An error by this code: 2 it failed, 3 there is no such name, 5 it is not for us.
    Error(u8),
    /// Nothing.
    Nothing,
    /// The address, that much later.
    Late(Duration),
    /// Bytes that are no answer.
    Garbage,
    /// An answer with as many addresses as fit, none of which anybody has.
    Many,
    /// Its port is closed.
    Closed,
}

/// A running one.
pub struct NameServer {
    address: Ipv4Addr,
    says: Arc<Mutex<Says>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl NameServer {
    /// Starts it; `None`, and told, where port 53 is not for us.
    pub fn start() -> Option<Self> {
        let id = std::process::id().to_be_bytes();
        let address = Ipv4Addr::new(127, 53, id[2], id[3].clamp(1, 254));
        let socket = bind(address).inspect_err(|e| not_tested(&format!("no name server: {e}")));
        let mut socket = Some(socket.ok()?);
        let (says, stop) = (Arc::new(Mutex::new(Says::Address)), Arc::new(AtomicBool::new(false)));
        let (told, stopped) = (Arc::clone(&says), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                let now = *told.lock().unwrap_or_else(PoisonError::into_inner);
                if now == Says::Closed {
                    socket = None;
                    std::thread::sleep(Duration::from_millis(10));
                    continue;
                }
                let bound = socket.get_or_insert_with(|| bind(address).expect("it was ours"));
                let mut bytes = [0; 1500];
                let Ok((n, from)) = bound.recv_from(&mut bytes) else { continue };
                let now = *told.lock().unwrap_or_else(PoisonError::into_inner);
                if let Says::Late(length) = now {
                    std::thread::sleep(length);
                }
                if let Some(answer) = answer(&bytes[..n], now) {
                    let _ = bound.send_to(&answer, from);
                }
            }
        });
        Some(Self { address, says, stop, thread: Some(thread) })
    }

    /// What a resolver needs to ask it.
    pub fn resolv_conf(&self) -> String {
        format!("nameserver {}\noptions timeout:1 attempts:2\n", self.address)
    }

    /// What it does from now on.
    pub fn set(&self, says: Says) {
        *self.says.lock().unwrap_or_else(PoisonError::into_inner) = says;
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn bind(address: Ipv4Addr) -> std::io::Result<UdpSocket> {
    let socket = UdpSocket::bind(SocketAddr::from((address, 53)))?;
    socket.set_read_timeout(Some(Duration::from_millis(100)))?;
    Ok(socket)
}

/// The answer to a question (RFC 1035, 4.1); only the type A has one.
fn answer(asked: &[u8], says: Says) -> Option<Vec<u8>> {
    let question = asked.get(12..)?;
    let name = question.iter().position(|b| *b == 0)?;
    let question = question.get(..name + 5)?;
    let is_a = question[name + 1..name + 3] == [0, 1];
    let (code, count) = match says {
        Says::Nothing | Says::Closed => return None,
        Says::Garbage => return Some(asked[..2].iter().copied().chain([0xff; 30]).collect()),
        Says::Error(code) => (code, 0),
        Says::Many => (0, if is_a { 28 } else { 0 }),
        Says::Address | Says::Late(_) => (0, u8::from(is_a)),
    };
    let mut out = asked[..2].to_vec();
    out.extend([0x81, 0x80 | code, 0, 1, 0, count, 0, 0, 0, 0]);
    out.extend(question);
    for n in 0..count {
        // The name of the question, type A, class IN, no time to live, four bytes.
        out.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
        out.extend(if says == Says::Many { [127, 54, 0, n + 1] } else { [127, 0, 0, 1] });
    }
    Some(out)
}

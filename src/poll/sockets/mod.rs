//! Looks every now and then whose the connected sockets of this host are. A thread of its own: a walk over all processes
//! may take long or hang in the kernel, which costs nobody else anything. Sends facts only.

pub(super) mod diag;
pub(super) mod tables;
mod walk;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use super::Out;
use crate::clock;
use crate::observe::socket::SocketsRead;
use crate::observe::{Mono, Observation, Span};
use walk::Limits;

/// The running walker; it ends when this is dropped, and nobody waits for that.
#[derive(Debug)]
pub struct SocketsHandle {
    _stop: Option<Sender<()>>,
}

/// Starts it. `procfs` is where it looks, `every` the time between two looks.
pub fn spawn(procfs: PathBuf, every: Duration, out: Out) -> SocketsHandle {
    let (stop, stopped) = mpsc::channel();
    let thread = std::thread::Builder::new().name("sockets".to_owned());
    match thread.spawn(move || run(&procfs, every, &out, &stopped)) {
        Ok(_) => SocketsHandle { _stop: Some(stop) },
        Err(e) => {
            tracing::error!(error = %e, "no thread for looking at sockets: nothing will be known of processes behind connections");
            SocketsHandle { _stop: None }
        }
    }
}

fn run(procfs: &Path, every: Duration, out: &Out, stopped: &Receiver<()>) {
    let mut failing = false;
    let mut unix_fails = false;
    loop {
        let sent = clock::mono();
        let unix = diag::ends();
        if let Err(why) = &unix
            && !unix_fails
        {
            tracing::info!(
                why,
                "cannot tell which processes are behind connections through Unix sockets"
            );
        }
        unix_fails = unix.is_err();
        let seen = walk::walk(procfs, Limits::default(), unix.ok());
        if let Err(why) = &seen
            && !failing
        {
            tracing::warn!(why, "cannot tell which processes are behind connections");
        }
        failing = seen.is_err();
        let span = Span { sent, done: clock::mono() };
        let read = SocketsRead { span, seen: seen.map(Arc::new) };
        if out.blocking_send(Observation::Sockets(read)).is_err() {
            return;
        }
        // A walk that took long is not followed by another at once.
        let next: Mono = span.sent.plus(every).max(span.done.plus(every / 2));
        match stopped.recv_timeout(next.since(clock::mono())) {
            Err(RecvTimeoutError::Timeout) => {}
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests;

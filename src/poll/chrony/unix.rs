//! Asks a chronyd of this host over its Unix socket, for hosts whose chronyd has no UDP port. Never reads what anybody
//! else sent: the socket is connected before the request leaves.

use std::path::PathBuf;
use std::time::Duration;

use tokio::net::UnixDatagram;

use super::blocking::{Blocking, Unfinished};
use super::exchange::{self, Socket};
use super::failure::{failed, unix, unix_error};
use super::leftovers;
use super::own_socket::{self, OwnSocket};
use crate::clock;
use crate::observe::Span;
use crate::observe::clock::{ClockFailed, Tracking};
use crate::observe::node::FailReason;

/// A chronyd by the path of its socket.
#[derive(Debug)]
pub struct Unix {
    path: PathBuf,
    /// What an exporter before this one may have left was looked for.
    is_cleared: bool,
    opening: Blocking<Result<OwnSocket, ClockFailed>>,
}

impl Unix {
    /// Nothing is made yet.
    pub fn new(path: PathBuf) -> Self {
        Self { path, is_cleared: false, opening: Blocking::default() }
    }

    /// Asks once within `limit`.
    pub async fn ask(&mut self, limit: Duration) -> Result<(Span, Tracking), ClockFailed> {
        let begun = clock::mono();
        let at = self.path.display().to_string();
        let path = self.path.clone();
        let is_cleared = self.is_cleared;
        let call = move || {
            let opened = own_socket::open(&path, runtime_directory().as_deref())?;
            if let Some(dir) = opened.made.base().filter(|_| !is_cleared) {
                leftovers::remove(dir);
            }
            Ok(opened)
        };
        let OwnSocket { socket, made } = match self.opening.run(limit, call).await {
            Ok(opened) => opened?,
            Err(Unfinished::Slow) => {
                let detail = format!("{at}: the file system does not answer");
                return Err(failed(FailReason::Timeout, detail));
            }
            Err(Unfinished::Broken) => {
                return Err(failed(FailReason::Other, format!("{at}: opening it broke off")));
            }
        };
        self.is_cleared = true;
        let socket = UnixDatagram::from_std(socket).map_err(|error| unix_error(&at, &error))?;
        let left = limit.saturating_sub(clock::mono().since(begun));
        let answer = exchange::ask(Socket::Unix(&socket), left).await;
        answer.map_err(|why| unix(&at, &made.place(), why))
    }
}

/// The first of the directories that the service manager made for us.
fn runtime_directory() -> Option<PathBuf> {
    let listed = std::env::var_os("RUNTIME_DIRECTORY")?;
    let first = std::env::split_paths(&listed).next()?;
    first.is_absolute().then_some(first)
}

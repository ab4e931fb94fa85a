//! Starts and stops the look at this host's sockets as the config asks for it.

use std::path::Path;
use std::time::Duration;

use crate::config::{Clients, Config};
use crate::observe::client::cadence;
use crate::poll::Out;
use crate::poll::sockets::{self, SocketsHandle};

/// The look, while somebody needs it.
#[derive(Default)]
pub struct Walker(Option<(Duration, SocketsHandle)>);

impl Walker {
    /// Whose connections are is looked up where some worker is looked for among processes, or where that is asked for. Nobody
    /// waits for the end of one, as it may hang in the kernel.
    pub fn apply(&mut self, config: &Config, procfs: &Path, out: &Out) {
        let has_processes = config.workers.iter().any(|g| g.process.is_some());
        let is_wanted = config.stores.values().any(|s| match s.clients {
            Clients::Auto => has_processes,
            Clients::On => true,
            Clients::Off => false,
        });
        if !is_wanted {
            self.0 = None;
            return;
        }
        let every = cadence(config.poll_interval);
        if self.0.as_ref().is_none_or(|(before, _)| *before != every) {
            self.0 = Some((every, sockets::spawn(procfs.to_owned(), every, out.clone())));
        }
    }
}

//! A sample worker: takes a lock, renews it, beats, works on a protected resource, releases. It does what a careful service
//! does, or one of the things that a careless one does, so that a rehearsal, the demo and the tests watch something real. It
//! must not grow into a lock library; use a kept one in a service of your own.
//!
//! * take: `SET key token NX PX lease`, and `INCR` of a counter for the fencing token
//! * renew: compare the token and `PEXPIRE`, in one script; by the thread that works, or by a separate process that goes on
//!   when the worker stands still
//! * beat: `SET heartbeat counter`, by the loop that works, so that the beat stops when the work does
//! * work: `POST` to the resource with the fencing token, which refuses it if it has seen a larger one
//! * release: compare the token and `DEL`, in one script
//!
//! SIGTERM and SIGINT release the lock and end it. The token is a credential: it is never printed.

mod effects;
mod lock;
mod options;
mod pid_file;
mod renewer;
mod run;

use crate::failure::Failure;

pub use options::{Options, Renewer, Requests, Restore};
pub use renewer::run as run_renewer;
pub use run::say;

/// Runs until it is done or told to stop.
pub async fn run(options: Options) -> Result<(), Failure> {
    options.check()?;
    if options.with_parent {
        // Signals that stop a process keep SIGTERM waiting, so it is SIGKILL.
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
            .map_err(|e| Failure::new(format!("--with-parent cannot be had: {e}")))?;
    }
    let _pid_file = options.pid_file.as_deref().map(pid_file::PidFile::write).transpose()?;
    run::Worker::new(options)?.run().await
}

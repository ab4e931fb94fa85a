//! `dlock_drill`: rehearses what can go wrong with a lock, on workers and keys of its own, and holds what a running
//! `dlock_exporter` says of it against what it must say. It is the only program of the package that writes to Redis: under
//! its own key prefix, and only when told to (`--write`). Nothing in production needs it. Exit status: 0 all as expected,
//! 1 something was not, 2 wrong flags, a world in which nothing can be rehearsed, or a proof that could not be judged.

mod bound;
mod children;
mod claim;
mod cli;
mod exporter;
mod failure;
mod files;
mod film;
mod fragment;
mod http;
mod keys;
mod lockserver;
mod observed;
mod outcome;
mod private;
mod prove;
mod proxy;
mod rehearse;
mod report;
mod resource;
mod scenario;
mod servers;
mod stage;
mod stop;
mod textfile;
mod worker;
mod world;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command};
use failure::Failure;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    match run(cli.command) {
        Ok(status) => ExitCode::from(status),
        Err(failure) => {
            let _ = writeln!(std::io::stderr(), "dlock_drill: {failure}");
            ExitCode::from(2)
        }
    }
}

/// Does it; the exit status.
fn run(command: Command) -> Result<u8, Failure> {
    let mut builder = match command {
        // A worker has one thread, so that nothing of it goes on when its work stands still.
        Command::Worker(_) | Command::Renewer | Command::Bound { .. } => {
            tokio::runtime::Builder::new_current_thread()
        }
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = builder
        .enable_all()
        .build()
        .map_err(|e| Failure::new(format!("the async runtime does not start: {e}")))?;
    runtime.block_on(async {
        match command {
            Command::Rehearse(options) => rehearse::run(options).await,
            Command::Prove(options) => prove::run(options).await,
            Command::Config(options) => fragment::print(&options).map(|()| 0),
            Command::Worker(options) => worker::run(options).await.map(|()| 0),
            Command::Bound { words } => Err(bound::run(&words)),
            Command::Renewer => worker::run_renewer().await.map(|()| 0),
            Command::Resource(options) => resource::run(options).await.map(|()| 0),
            Command::Proxy(options) => proxy::run(options).await.map(|()| 0),
        }
    })
}

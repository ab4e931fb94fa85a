//! The part of an exporter's config by which it watches what the drill does. It is made of the same names as the drill's keys;
//! nothing is read or written.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::failure::Failure;
use crate::scenario;
use crate::world::Run;

/// How a token names its worker.
const HOLDER: &str = r"^(?P<worker>[^:]+):(?P<host>[^:]+):(?P<pid>\d+):";

/// `dlock_drill config`, and what a rehearsal must agree with it in.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// The exporter's name of the store
    #[arg(long, default_value = "main", value_name = "NAME")]
    pub store: String,
    /// Where workers write their process ids; the exporter must be able to read it
    #[arg(long, default_value = "/run/dlock_drill", value_name = "DIR")]
    pub dir: PathBuf,
    /// Where the protected resource listens; the exporter must be able to reach it
    #[arg(long, default_value = "127.0.0.1:10129", value_name = "ADDRESS")]
    pub resource: SocketAddr,
    /// How often each scenario is run, one round after another and each with locks of its own
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeat: u32,
}

/// `dlock_drill config`.
pub fn print(options: &Options) -> Result<(), Failure> {
    let all = scenario::all();
    let runs: Vec<Run> = (1..=options.repeat).flat_map(|n| scenario::round(&all, n)).collect();
    let text = format!(
        "# For dlock_drill rehearse: add this to the exporter's config, let its user read dlock_drill:* (%R~dlock_drill:*, for\n\
         # `overwrite` +psubscribe &__keyspace@0__:dlock_drill:*), and take it out again after the rehearsal. `{store}` is the store of the server that is rehearsed on.\n{stores}{workers}",
        store = options.store,
        stores = format_args!(
            "stores:\n  {}:\n    locks:\n{}",
            options.store,
            locks(&runs, options.resource)
        ),
        workers = workers(&options.store, &options.dir),
    );
    let written = std::io::stdout().write_all(text.as_bytes());
    written.map_err(|e| Failure::new(format!("standard output: {e}")))
}

/// The elements of `stores.NAME.locks`.
pub fn locks(runs: &[Run], resource: SocketAddr) -> String {
    let mut text = String::new();
    for run in runs.iter().filter(|r| r.scenario.is_shared()) {
        let lock = run.lock();
        let key = crate::keys::lock_key(&lock);
        let source = |pointer: &str| {
            format!("http: {{ url: 'http://{resource}/locks/{lock}', json: /{pointer} }}")
        };
        let (token, rejected) = (source("last_token"), source("rejected"));
        let (total, distinct) = (source("effects"), source("requests"));
        let _ = write!(
            text,
            "      - name: {lock}
        key: '{key}'
        token: per_acquire
        renewed: true
        holder: '{HOLDER}'
        fencing:
          accepted: [{{ name: drill, {token} }}]
          rejected: [{{ name: drill, {rejected} }}]
        effects: [{{ name: drill, total: {{ {total} }}, distinct: {{ {distinct} }} }}]
"
        );
    }
    text
}

/// The table `workers`.
pub fn workers(store: &str, dir: &Path) -> String {
    format!(
        "workers:
  dlock_drill:
    match: 'drill-[a-z-]+-\\d+-w\\d+'
    process: {{ pid_file: '{}/{{worker}}.pid' }}
    heartbeat: {{ redis: {{ store: {store}, key: 'dlock_drill:hb:{{worker}}' }} }}
",
        dir.display()
    )
}

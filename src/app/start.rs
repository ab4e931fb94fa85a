//! From flags to a running exporter and back to an exit status.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use thiserror::Error;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot, watch};

use super::ahead;
use super::conductor::{Conductor, Errand, Paths};
use super::reload::{Reloader, rules};
use super::snapshots::{Published, Snapshots};
use crate::cli::{Cli, ListenAddress};
use crate::clock;
use crate::config::{self, Config, Input, Mistakes};
use crate::evidence::{Incidents, Recorder};
use crate::expose::SelfFacts;
use crate::http::{self, AppState, Door, ReloadRequest, ShowRequest, TelemetryPath};
use crate::poll;

/// Facts that may wait for the state; a poller that finds no place waits, and its poll is late.
const FACTS: usize = 4096;
/// Wanted reads that may wait for the conductor.
const ERRANDS: usize = 4096;
/// How far the thread of the state stands back.
const NICE: i32 = 5;
/// How long answers under way may take after the signal to stop.
const DRAIN: Duration = Duration::from_secs(5);
/// How much longer documents of evidence may take to be written. A disk that hangs must not keep the exporter from ending.
const WRITTEN: Duration = Duration::from_millis(500);
/// Threads for what may hang and cannot be told to stop: files, names, and as many again for everything else, so that it
/// never waits for those.
const BLOCKING: usize = 2 * (poll::source::file::HUNG + poll::names::LOOKUPS);
/// How long pollers may take to stop.
const STOP: Duration = Duration::from_secs(2);

/// Why the exporter does not start, or had to stop.
#[derive(Debug, Error)]
pub enum Failure {
    /// The configuration has mistakes.
    #[error("{0}")]
    Config(Mistakes),
    /// An address cannot be listened on.
    #[error(
        "--web.listen-address {address}: {error}; is another exporter running, or is the port taken?"
    )]
    Listen {
        /// The address as given.
        address: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// The telemetry path cannot be used.
    #[error("--web.telemetry-path: {0}")]
    TelemetryPath(String),
    /// There is no procfs where it should be.
    #[error(
        "--path.procfs {0}: no such directory; name the place where the host's /proc is mounted"
    )]
    Procfs(String),
    /// Threads or signal handlers cannot be had.
    #[error("the system refuses {what}: {error}")]
    System {
        /// What was asked for.
        what: &'static str,
        /// What it said.
        error: std::io::Error,
    },
}

fn system(what: &'static str) -> impl Fn(std::io::Error) -> Failure {
    move |error| Failure::System { what, error }
}

/// Runs the exporter until it is told to stop. `environment` is asked again at each reload.
pub fn run(cli: &Cli, environment: fn() -> Vec<(String, String)>) -> Result<(), Failure> {
    let both = Mistakes::of_both(config::load(&cli.input(environment())), door(cli));
    let (config, door) = both.map_err(Failure::Config)?;
    if cli.config_check {
        return Ok(());
    }
    if !cli.procfs.is_dir() {
        return Err(Failure::Procfs(cli.procfs.display().to_string()));
    }
    let path = TelemetryPath::parse(&cli.telemetry_path).map_err(Failure::TelemetryPath)?;
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        stores = config.stores.len(),
        "dlock_exporter starts"
    );
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(20)
        .thread_name("http")
        .enable_all()
        .build()
        .map_err(system("threads for HTTP"))?;
    let listeners = runtime.block_on(listen(&cli.listen, &door))?;

    let own = SelfFacts {
        shard: config.shard,
        ..SelfFacts::new(config.poll_interval, clock::wall_secs())
    };
    let published = Published::new(own.clone());
    let (facts_out, facts) = mpsc::channel(FACTS);
    let (errands_out, errands) = mpsc::channel(ERRANDS);
    let (words_out, words) = mpsc::channel(16);
    let (show, wishes) = mpsc::channel(16);
    let (recorder, incidents, recorded) =
        Recorder::start().map_err(system("threads for evidence"))?;
    let snapshots = Snapshots::new(
        rules(&config),
        own.clone(),
        published.clone(),
        errands_out.clone(),
        recorder,
    );
    spawn("state", |rt| {
        // It can wait for a moment, and a lock server on the same host cannot. If the system refuses, nothing is lost.
        let _ = rustix::process::setpriority_process(None, NICE);
        rt.block_on(snapshots.run(facts, words, wishes));
    })?;
    let paths = Paths { procfs: cli.procfs.clone(), cgroupfs: cgroupfs(cli) };
    let conductor = Conductor::new(facts_out, paths);
    let pollers = spawn("poll", |rt| rt.block_on(conductor.run(errands)))?;

    let flags = cli.clone();
    let input = Box::new(move || -> Input { flags.input(environment()) });
    let reloader = Reloader::new(input, door.clone(), own, words_out, errands_out.clone());
    let at = (listeners, path, door);
    runtime.block_on(serve(config, reloader, at, (published, show), incidents))?;

    let (done, stopped) = oneshot::channel();
    if errands_out.blocking_send(Errand::Stop(done)).is_ok() {
        let waited = runtime.block_on(async { tokio::time::timeout(STOP, stopped).await });
        if waited.is_ok() {
            let _ = pollers.join();
        }
    }
    // The state's thread ends with the one that reloads, and nothing more is recorded then.
    if !recorded.wait(WRITTEN) {
        tracing::warn!("evidence is still being written; what is not finished is lost");
    }
    tracing::info!("stopped");
    runtime.shutdown_timeout(Duration::from_millis(500));
    Ok(())
}

/// The flag's default is where the files usually are; only another value overrules what mountinfo says.
fn cgroupfs(cli: &Cli) -> Option<std::path::PathBuf> {
    let given = &cli.cgroupfs;
    (given.as_os_str() != "/sys/fs/cgroup").then(|| given.clone())
}

/// A thread with a current-thread runtime of its own.
fn spawn(
    name: &'static str,
    work: impl FnOnce(Runtime) + Send + 'static,
) -> Result<thread::JoinHandle<()>, Failure> {
    let runtime = Builder::new_current_thread()
        .max_blocking_threads(BLOCKING)
        .enable_all()
        .build()
        .map_err(system("a runtime"))?;
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || work(runtime))
        .map_err(system("a thread"))
}

/// How the port is guarded, or every mistake in the file that says so.
fn door(cli: &Cli) -> Result<Arc<Door>, Mistakes> {
    cli.web_config_file.clone().map_or_else(|| Ok(Door::open()), Door::guarded)
}

async fn listen(addresses: &[ListenAddress], door: &Door) -> Result<Vec<TcpListener>, Failure> {
    let mut listeners = Vec::new();
    for a in addresses {
        let bound = http::bind(a.host.as_deref(), a.port).await;
        listeners.extend(bound.map_err(|error| Failure::Listen { address: a.to_string(), error })?);
    }
    for l in &listeners {
        if let Ok(address) = l.local_addr() {
            tracing::info!(%address, tls = door.speaks_tls(), "listening");
        }
    }
    Ok(listeners)
}

/// Signals that the exporter answers to.
struct Signals {
    term: Signal,
    int: Signal,
    hup: Signal,
}

impl Signals {
    fn new() -> Result<Self, Failure> {
        let on = |kind| signal(kind).map_err(system("a signal handler"));
        Ok(Self {
            term: on(SignalKind::terminate())?,
            int: on(SignalKind::interrupt())?,
            hup: on(SignalKind::hangup())?,
        })
    }
}

async fn serve(
    config: Config,
    mut reloader: Reloader,
    (listeners, telemetry_path, door): (Vec<TcpListener>, TelemetryPath, Arc<Door>),
    (published, show): (Published, mpsc::Sender<ShowRequest>),
    incidents: Incidents,
) -> Result<(), Failure> {
    let mut signals = Signals::new()?;
    let (reload, mut requests) = mpsc::channel::<ReloadRequest>(4);
    let is_ready = published.is_ready.clone();
    let ready = move || match is_ready.load(Ordering::Relaxed) {
        true => Ok(()),
        false => Err("the first poll of some store is not over".to_owned()),
    };
    let state = AppState {
        snapshot: published.snapshot.clone(),
        asks: published.asks.clone(),
        show,
        incidents,
        ready: Arc::new(ready),
        reload,
        telemetry_path,
    };
    let ahead = tokio::spawn(ahead::run(published));
    let (stop, stopping) = watch::channel(false);
    let mut trouble = door.trouble();
    let server = tokio::spawn(http::serve(listeners, http::router(state), door, stopping, DRAIN));
    reloader.put_in_force(config).await;
    loop {
        tokio::select! {
            _ = signals.term.recv() => break,
            _ = signals.int.recv() => break,
            _ = signals.hup.recv() => { let _ = reloader.reload().await; }
            Ok(()) = trouble.changed() => {
                let now = trouble.borrow_and_update().clone();
                reloader.tell(now).await;
            }
            Some(answer) = requests.recv() => { let _ = answer.send(reloader.reload().await); }
        }
    }
    tracing::info!("stopping: answers under way may finish");
    ahead.abort();
    let _ = stop.send(true);
    tokio::select! {
        _ = server => {}
        // A second signal means now.
        _ = signals.term.recv() => {}
        _ = signals.int.recv() => {}
    }
    Ok(())
}

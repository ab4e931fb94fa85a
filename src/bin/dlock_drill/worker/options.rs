//! The flags of a worker. Parsed and checked here; nothing is opened.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::failure::Failure;
use crate::lockserver::Address;

/// Who renews.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Renewer {
    /// The thread that works.
    #[value(name = "self")]
    Own,
    /// A process that only renews, and does not notice when the worker stands still.
    Separate,
}

/// What is done about a lock that is somebody else's by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Restore {
    /// It is given up.
    Never,
    /// The old token is written over whatever is there: what a careless worker does when it is back.
    Late,
}

/// How the requests that the effects are for are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Requests {
    /// Each is a new one.
    Fresh,
    /// Every tenure begins with the first again, as one that repeats what its predecessor may have done.
    Repeated,
}

/// What a worker does.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// The lock server: HOST:PORT, a URL, or the path of its socket
    #[arg(long, default_value = "127.0.0.1:6379", value_name = "ADDRESS")]
    pub redis: Address,
    /// The worker's name
    #[arg(long)]
    pub name: String,
    /// The lock's key
    #[arg(long, value_name = "KEY")]
    pub lock: String,
    /// Length of the lease
    #[arg(long, default_value_t = 6.0, value_name = "SECONDS")]
    pub lease: f64,
    /// Time between two renewals; 0: never
    #[arg(long, default_value_t = 2.0, value_name = "SECONDS")]
    pub renew_every: f64,
    /// Who renews
    #[arg(long, value_enum, default_value = "self")]
    pub renewer: Renewer,
    /// Length of the work of a tenure; 0: until told to stop
    #[arg(long, default_value_t = 0.0, value_name = "SECONDS")]
    pub work: f64,
    /// Time between two tenures
    #[arg(long, default_value_t = 1.0, value_name = "SECONDS")]
    pub pause: f64,
    /// Tenures before it ends by itself; 0: no limit
    #[arg(long, default_value_t = 0)]
    pub cycles: u32,
    /// Where it beats; default hb:NAME
    #[arg(long, value_name = "KEY")]
    pub heartbeat: Option<String>,
    /// Time between two beats; 0: never
    #[arg(long, default_value_t = 1.0, value_name = "SECONDS")]
    pub beat_every: f64,
    /// The owner token, made of {name} {host} {pid} {uuid}
    #[arg(long, default_value = "{name}:{host}:{pid}:{uuid}")]
    pub token: String,
    /// Written at the start, removed at the end; a separate renewer's id is in the same path with .renewer
    #[arg(long, value_name = "FILE")]
    pub pid_file: Option<PathBuf>,
    /// The counter that its fencing tokens come from; without it it has none
    #[arg(long, value_name = "KEY")]
    pub fence: Option<String>,
    /// Where its effects go: the URL of a lock at a `dlock_drill resource`
    #[arg(long, value_name = "URL")]
    pub resource: Option<String>,
    /// Time between two effects
    #[arg(long, default_value_t = 1.0, value_name = "SECONDS")]
    pub effect_every: f64,
    /// How the requests that its effects are for are called
    #[arg(long, value_enum, default_value = "fresh")]
    pub requests: Requests,
    /// What it does about a lock that is somebody else's by now
    #[arg(long, value_enum, default_value = "never")]
    pub restore: Restore,
    /// End after this time, whatever it holds; 0: no limit
    #[arg(long, default_value_t = 0.0, value_name = "SECONDS")]
    pub at_most: f64,
    /// End, however, when the thread that started it ends
    #[arg(long, hide = true)]
    pub with_parent: bool,
}

/// A duration of a flag that was checked.
pub fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value).unwrap_or_default()
}

impl Options {
    /// What is wrong with them together.
    pub fn check(&self) -> Result<(), Failure> {
        let lengths = [
            ("--lease", self.lease, 0.01),
            ("--renew-every", self.renew_every, 0.0),
            ("--work", self.work, 0.0),
            ("--pause", self.pause, 0.0),
            ("--beat-every", self.beat_every, 0.0),
            ("--effect-every", self.effect_every, 0.01),
            ("--at-most", self.at_most, 0.0),
        ];
        for (flag, value, least) in lengths {
            if !(least..=31_536_000.0).contains(&value) {
                return Err(Failure::new(format!("{flag} {value}: it is {least} s to a year")));
            }
        }
        if self.renewer == Renewer::Separate && self.renew_every == 0.0 {
            return Err(Failure::new("--renewer separate needs --renew-every above 0"));
        }
        Ok(())
    }

    /// Where it beats.
    pub fn heartbeat_key(&self) -> String {
        self.heartbeat.clone().unwrap_or_else(|| format!("hb:{}", self.name))
    }
}

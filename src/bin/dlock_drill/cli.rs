//! The command line. Parses flags; opens nothing.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::exporter::Flags;
use crate::lockserver::Address;
use crate::{fragment, prove, proxy, resource, worker};

const ABOUT: &str = "Rehearses what can go wrong with a lock, on workers and keys of its own, and holds what dlock_exporter says \
                     of it against what it must say; or proves of a system of yours, while you break it, that a fix holds. Nothing \
                     in production needs it.";

const AFTER: &str = "Examples:\n  dlock_drill rehearse --list\n  \
                     dlock_drill rehearse --start-redis --start-exporter /usr/bin/dlock_exporter\n  \
                     dlock_drill config --dir /run/dlock_drill\n  \
                     dlock_drill rehearse kill pause --redis 10.0.0.1:6379 --exporter http://127.0.0.1:10121 --write\n  \
                     dlock_drill prove pause --lock orders --exporter http://127.0.0.1:10121";

/// The flags.
#[derive(Clone, Debug, Parser)]
#[command(name = "dlock_drill", version, about = ABOUT, after_help = AFTER, max_term_width = 100)]
pub struct Cli {
    /// What is to be done.
    #[command(subcommand)]
    pub command: Command,
}

/// What is to be done.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Inject faults, and hold what the exporter says against what it must say
    Rehearse(Rehearse),
    /// Watch the exporter while you break your own system, and prove or refute what should hold
    Prove(prove::Options),
    /// Print what the exporter's config needs for it
    Config(fragment::Options),
    /// A sample worker by itself
    Worker(worker::Options),
    /// A protected resource by itself
    Resource(resource::Options),
    /// A TCP proxy by itself, cut by SIGUSR1 and healed by SIGUSR2
    Proxy(proxy::Options),
    /// What a worker starts to renew for it
    #[command(hide = true)]
    Renewer,
    /// What another program is started by, to end with the drill
    #[command(hide = true)]
    Bound {
        /// The program and its arguments
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<std::ffi::OsString>,
    },
}

/// `dlock_drill rehearse`.
#[derive(Clone, Debug, Args)]
pub struct Rehearse {
    /// Which scenarios; all if none is named
    #[arg(value_name = "SCENARIO")]
    pub scenarios: Vec<String>,
    /// Tell which scenarios there are
    #[arg(long)]
    pub list: bool,
    /// The lock server: HOST:PORT, a URL, or the path of its socket
    #[arg(long, value_name = "ADDRESS", conflicts_with = "start_redis")]
    pub redis: Option<Address>,
    /// The exporter that watches it, such as http://127.0.0.1:10121
    #[arg(long, value_name = "URL", conflicts_with = "start_exporter")]
    pub exporter: Option<String>,
    /// How it is asked.
    #[command(flatten)]
    pub access: Flags,
    /// Agree to write to that server, under dlock_drill: only
    #[arg(long)]
    pub write: bool,
    /// Start a lock server for it, this program
    #[arg(long, value_name = "PATH", num_args = 0..=1, default_missing_value = "redis-server")]
    pub start_redis: Option<PathBuf>,
    /// The program of servers that some scenarios start for themselves; that of --start-redis if that is given
    #[arg(long, value_name = "PATH", default_value = "redis-server")]
    pub redis_server: PathBuf,
    /// Start an exporter for it, this program
    #[arg(long, value_name = "PATH", num_args = 0..=1, default_missing_value = "dlock_exporter")]
    pub start_exporter: Option<PathBuf>,
    /// Poll interval of the exporter that is started
    #[arg(long, default_value_t = 500, value_name = "MILLISECONDS", value_parser = clap::value_parser!(u64).range(50..=60_000))]
    pub poll: u64,
    /// Scenarios that run at a time
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub jobs: u16,
    /// Where random timing comes from; chosen and told if absent
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// What a busy machine is given beyond the worst delays
    #[arg(long, default_value_t = 3.0, value_name = "SECONDS", value_parser = slack)]
    pub slack: f64,
    /// Write what was found as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Draw each run; with several FILE-SCENARIO-N.svg
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write dlock_drill_last_pass_timestamp_seconds for node_exporter's textfile collector
    #[arg(long, value_name = "FILE")]
    pub textfile: Option<PathBuf>,
    /// What the exporter's config agrees with.
    #[command(flatten)]
    pub with: fragment::Options,
}

/// At most an hour.
fn slack(text: &str) -> Result<f64, String> {
    let slack = text.parse::<f64>().ok().filter(|s| (0.0..=3600.0).contains(s));
    slack.ok_or_else(|| "it is a number of seconds from 0 to 3600".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slack_is_a_time() {
        let told =
            |text: &str| Cli::try_parse_from(["dlock_drill", "rehearse", "--slack", text]).is_ok();
        assert!(told("0") && told("2.5") && told("3600"));
        assert!(!told("nan") && !told("inf") && !told("1e19") && !told("x"));
    }
}

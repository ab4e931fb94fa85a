//! The flags of `prove`. Parsed here; nothing is opened.

use std::path::PathBuf;

use clap::Args;

use crate::exporter::Flags;

/// `dlock_drill prove`.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// What is to be proven: pause, kill, partition, effects, renewal
    #[arg(value_name = "CRITERION")]
    pub criterion: Option<String>,
    /// Explain each criterion: what to do, what is watched, what has to be configured
    #[arg(long)]
    pub list: bool,
    /// The lock, as the exporter calls it
    #[arg(long, value_name = "NAME")]
    pub lock: Option<String>,
    /// Its store, as the exporter calls it
    #[arg(long, default_value = "main", value_name = "NAME")]
    pub store: String,
    /// The exporter that watches it, such as http://127.0.0.1:10121
    #[arg(long, value_name = "URL")]
    pub exporter: Option<String>,
    /// How it is asked.
    #[command(flatten)]
    pub access: Flags,
    /// Write what was found as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write what was seen as a picture
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Give up after this time
    #[arg(long, default_value_t = 600.0, value_name = "SECONDS")]
    pub timeout: f64,
}

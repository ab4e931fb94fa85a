//! How an exporter is asked, as flags say it; the same for whatever asks one. Nothing is opened.

use std::path::PathBuf;

use clap::Args;

use super::Access;

/// Credentials, trust and paths.
#[derive(Clone, Debug, Default, Args)]
pub struct Flags {
    /// User for the exporter's basic auth
    #[arg(long, value_name = "NAME", requires = "exporter_password_file")]
    pub exporter_user: Option<String>,
    /// File with that user's password
    #[arg(long, value_name = "FILE", requires = "exporter_user")]
    pub exporter_password_file: Option<PathBuf>,
    /// PEM file of the authority that the exporter's certificate is from
    #[arg(long, value_name = "FILE")]
    pub exporter_ca_file: Option<PathBuf>,
    /// Where its metrics are, if its --web.telemetry-path is another
    #[arg(long, value_name = "PATH")]
    pub exporter_telemetry_path: Option<String>,
}

impl Flags {
    /// What they say.
    pub fn access(&self) -> Access {
        Access {
            basic: self.exporter_user.clone().zip(self.exporter_password_file.clone()),
            ca_file: self.exporter_ca_file.clone(),
            telemetry_path: self.exporter_telemetry_path.clone(),
        }
    }
}

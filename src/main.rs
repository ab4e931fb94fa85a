//! The exporter's binary: reads flags, starts the log, runs, and turns the outcome into an exit status. 0 is a clean
//! stop, 1 a failure at run time, 2 wrong flags or a configuration with mistakes.

use std::io::Write;
use std::process::ExitCode;

use dlock_exporter::app::{self, Failure};
use dlock_exporter::cli::Cli;
use dlock_exporter::logging;

fn main() -> ExitCode {
    let cli = match Cli::parse_args(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version come this way too; a closed pipe is nobody's business.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    if let Err(error) = logging::init(cli.log_level.as_str(), cli.log_format) {
        return complain(&error, 2);
    }
    match app::run(&cli, environment) {
        Ok(()) if cli.config_check => {
            let _ = writeln!(std::io::stdout(), "the configuration has no mistakes");
            ExitCode::SUCCESS
        }
        Ok(()) => ExitCode::SUCCESS,
        Err(error @ (Failure::Config(_) | Failure::TelemetryPath(_))) => {
            complain(&error.to_string(), 2)
        }
        Err(error) => complain(&error.to_string(), 1),
    }
}

/// Everything is told in plain lines on standard error: who starts it by hand reads them there.
fn complain(text: &str, status: u8) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "{text}");
    ExitCode::from(status)
}

/// The environment as text; a variable that is none cannot be one of ours.
fn environment() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)))
        .collect()
}

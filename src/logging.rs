//! Sets up the log: one line per event to standard error, in logfmt or JSON, timestamps in UTC. Libraries are heard
//! from `warn` on only, so that the first lines are our own. Whatever a line says, a secret that was sent is taken out of it.

use std::io::{self, Write};

use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use crate::secret;

/// Levels that can be asked for, as users of Prometheus' exporters expect them, and `trace`.
pub const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];

/// How a line is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// `ts=... level=info msg="..." key=value`.
    #[default]
    Logfmt,
    /// One JSON object.
    Json,
}

/// Starts the log. Fails on an unknown level, or when called twice.
pub fn init(level: &str, format: LogFormat) -> Result<(), String> {
    subscriber(level, format, io::stderr)?
        .try_init()
        .map_err(|e| format!("the log cannot be started: {e}"))
}

/// The subscriber, writing to `writer`.
fn subscriber<W, O>(
    level: &str,
    format: LogFormat,
    writer: W,
) -> Result<impl SubscriberInitExt + tracing::Subscriber + Send + Sync + 'static, String>
where
    W: Fn() -> O + Send + Sync + 'static,
    O: Write + 'static,
{
    let filter = filter(level)?;
    let writer = move || Blotted(writer());
    let lines = match format {
        LogFormat::Logfmt => tracing_logfmt::builder().layer().with_writer(writer).boxed(),
        LogFormat::Json => fmt::layer().json().flatten_event(true).with_writer(writer).boxed(),
    };
    Ok(tracing_subscriber::registry().with(lines.with_filter(filter)))
}

/// Takes secrets out of what is written. Each line comes in one piece.
struct Blotted<W>(W);

impl<W: Write> Write for Blotted<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.write_all(&secret::blot(line))?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn filter(level: &str) -> Result<EnvFilter, String> {
    if !LEVELS.contains(&level) {
        return Err(format!("unknown log level {level:?}: use one of {}", LEVELS.join(", ")));
    }
    // Where the user asks for less than `warn`, libraries are held to the same.
    let others = if level == "error" { "error" } else { "warn" };
    EnvFilter::try_new(format!("{others},dlock_exporter={level}"))
        .map_err(|e| format!("log level {level:?} cannot be used: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(level: &str, format: LogFormat, work: impl FnOnce()) -> Vec<String> {
        let kept = Kept::default();
        let writer = kept.clone();
        let subscriber = subscriber(level, format, move || writer.clone()).unwrap();
        tracing::subscriber::with_default(subscriber, work);
        let bytes = kept.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn logfmt_keeps_an_event_on_one_line_whatever_is_in_it() {
        let hostile = "a\nlevel=error msg=\"b\"\u{1b}[31m";
        let lines = logged("info", LogFormat::Logfmt, || {
            tracing::info!(lock = hostile, display = %hostile, "seen");
            tracing::debug!("not asked for");
        });
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains("level=info") && lines[0].contains("seen"), "{lines:?}");
        assert!(!lines[0].contains('\u{1b}'), "{lines:?}");
        let stamp = lines[0].strip_prefix("ts=").and_then(|l| l.split(' ').next()).unwrap();
        assert!(stamp.starts_with("20") && stamp.ends_with('Z'), "{stamp}");
    }

    #[test]
    fn json_lines_parse() {
        let lines = logged("debug", LogFormat::Json, || tracing::debug!(lock = "a\nb", "seen"));
        let line: serde_json::Value = serde_json::from_str(&lines[0]).unwrap();
        assert_eq!(line["lock"], "a\nb");
        assert_eq!(line["level"], "DEBUG");
        assert!(line["timestamp"].as_str().unwrap().ends_with('Z'));
    }

    #[test]
    fn libraries_are_heard_from_warn_on() {
        let lines = logged("debug", LogFormat::Logfmt, || {
            tracing::info!(target: "hyper", "chatter");
            tracing::warn!(target: "hyper", "trouble");
        });
        assert_eq!(lines.len(), 1, "{lines:?}");
    }

    #[test]
    fn a_secret_that_was_sent_is_in_no_line() {
        let log = || {
            let password = secret::Secret::new("logged-by-mistake");
            tracing::error!(target: "hyper", sent = password.reveal(), "it is {}", password.reveal());
        };
        for format in [LogFormat::Logfmt, LogFormat::Json] {
            let lines = logged("info", format, log);
            assert_eq!(lines.len(), 1, "{lines:?}");
            assert!(lines[0].contains("it is <secret>"), "{lines:?}");
            assert!(!lines[0].contains("logged-by-mistake"), "{lines:?}");
        }
    }

    #[test]
    fn unknown_words_are_refused_with_the_known_ones() {
        assert!(init("verbose", LogFormat::Json).unwrap_err().contains("debug"));
    }
}

//! Lays the environment over the file (or over what the flags say), through the `config` crate. Reports what cannot be
//! read or found; judges no values.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use config::builder::DefaultState;
use config::{ConfigBuilder, ConfigError, FileFormat, Value, ValueKind};
use rustix::fs::OFlags;

use super::input::Input;
use super::mistake::Report;
use super::schema::{Section, TOP};
use super::{overrides, unknown};

/// Largest configuration file that is read.
const MAX_BYTES: u64 = 1 << 20;
/// Most list and key indicators in a row on one line; the parser recurses on each.
const MAX_NESTING: usize = 32;

/// How often, and how long each time, a FIFO is waited for.
const WAITS: u32 = 150;
const WAIT: Duration = Duration::from_millis(20);

type Builder = ConfigBuilder<DefaultState>;

/// The merged values, or `None` if there is nothing to go on with; the report then says why.
pub(super) fn merge(input: &Input, report: &Report) -> Option<Value> {
    let builder = match &input.file {
        Some(path) => from_text(&read(path, report)?, report)?,
        None => from_flags(input, report)?,
    };
    laid_over(builder, input, report)
}

/// What a file of this text and the environment say.
#[cfg(any(test, feature = "fuzzing"))]
pub(super) fn of_text(text: &str, input: &Input, report: &Report) -> Option<Value> {
    laid_over(from_text(text, report)?, input, report)
}

fn laid_over(builder: Builder, input: &Input, report: &Report) -> Option<Value> {
    let base = build(&builder, report)?;
    if let ValueKind::Table(table) = &base.kind {
        unknown::check(table, &TOP, "", report);
    }
    let over = overrides::all(&input.env, &base, report);
    let builder = over.iter().fold(builder, |b, o| set(b, &o.path, o.name, o.value, report));
    build(&builder, report)
}

/// What one file says, without anything on top of it.
pub(super) fn alone(text: &str, section: &Section, report: &Report) -> Option<Value> {
    let value = build(&from_text(text, report)?, report)?;
    if let ValueKind::Table(table) = &value.kind {
        unknown::check(table, section, "", report);
    }
    Some(value)
}

fn build(builder: &Builder, report: &Report) -> Option<Value> {
    match builder.build_cloned() {
        Ok(config) => Some(config.cache),
        Err(error) => {
            let (reason, fix) = syntax(&error);
            report.add(None, "", reason, Some(fix));
            None
        }
    }
}

/// Reads the file, bounded, so that a wrong path such as a device cannot fill the memory.
fn read(path: &Path, report: &Report) -> Option<String> {
    let fail = |reason: String, fix: &str| {
        report.add(None, "", reason, Some(fix.to_owned()));
        None
    };
    match bytes_of(path) {
        Ok(bytes) if bytes.len() as u64 > MAX_BYTES => {
            fail("larger than 1 MiB".into(), "is this the configuration file?")
        }
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Some(text),
            Err(_) => fail("not UTF-8 text".into(), "save it as UTF-8"),
        },
        Err(error) => {
            fail(format!("cannot be read: {error}"), "check --config.file and its permissions")
        }
    }
}

/// What is in the file, and no more than one byte beyond what is read. A FIFO (`--config.file <(...)`) is waited for, but
/// not for ever: nobody may write to it.
fn bytes_of(path: &Path) -> io::Result<Vec<u8>> {
    let no_wait = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = File::options().read(true).custom_flags(no_wait).open(path)?;
    let is_fifo = file.metadata()?.file_type().is_fifo();
    let mut file = file.take(MAX_BYTES + 1);
    let mut bytes = Vec::new();
    for _ in 0..WAITS {
        match file.read_to_end(&mut bytes) {
            Ok(_) if bytes.is_empty() && is_fifo => {}
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            done => return done.map(|_| bytes),
        }
        std::thread::sleep(WAIT);
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, "nobody writes to this FIFO"))
}

fn from_text(text: &str, report: &Report) -> Option<Builder> {
    if let Some(line) = text.lines().position(nests_deeply) {
        let reason = format!("nested too deeply at line {}", line + 1);
        report.add(None, "", reason, Some("at most 32 lists in one another".into()));
        return None;
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // An empty document reads as null, which the parser does not take for an empty table.
    if text.lines().all(|l| l.trim().is_empty() || l.trim_start().starts_with('#') || l == "---") {
        return Some(Builder::default());
    }
    Some(Builder::default().add_source(config::File::from_str(text, FileFormat::Yaml)))
}

fn nests_deeply(line: &str) -> bool {
    let indicators = line.split_ascii_whitespace().take_while(|w| matches!(*w, "-" | "?"));
    indicators.count() > MAX_NESTING
}

/// The parser's message. Only those of its scanner are passed on, for they hold a line and no value of the file.
fn syntax(error: &ConfigError) -> (String, String) {
    let text = match error {
        ConfigError::FileParse { cause, .. } => cause.to_string(),
        _ => String::new(),
    };
    if let Some((what, place)) = text.rsplit_once(" at byte ")
        && let Some((_, place)) = place.split_once(' ')
    {
        let fix = if what.contains("duplicated key") {
            "keep one of the two"
        } else {
            "correct the YAML there, or just before"
        };
        return (format!("not valid YAML at {place}: {}", duplicate(what)), fix.into());
    }
    let (reason, fix) = if text.contains("YAML documents") {
        ("more than one YAML document", "keep one, and remove the line `---` before the other")
    } else if text.contains("expected a map") {
        ("the top level is not a table of keys", "write `key: value`")
    } else if text.contains("floating point") {
        ("a number that cannot be used, such as `.inf`", "write it out, or put text in quotes")
    } else if text.contains("hash key") {
        ("a key that is not plain text", "put values that begin with `{` or `[` in quotes")
    } else {
        ("not usable as YAML", "write `key: value`, and put special characters in quotes")
    };
    (reason.into(), fix.into())
}

/// The scanner prints a duplicated key as its type shows itself.
fn duplicate(what: &str) -> String {
    match what.strip_prefix("String(\"").and_then(|w| w.split_once("\"): duplicated")) {
        Some((key, _)) => format!("the key `{key}` is there twice in one table"),
        None if what.contains("duplicated key") => "a key is there twice in one table".into(),
        None => what.to_owned(),
    }
}

fn from_flags(input: &Input, report: &Report) -> Option<Builder> {
    let mut values = Vec::new();
    if let Some(url) = &input.redis_url {
        values.push(("stores.main.url".to_owned(), "--redis.url", url));
    }
    for (i, pattern) in input.lock_patterns.iter().enumerate() {
        values.push((format!("stores.main.locks[{i}].match"), "--lock.pattern", pattern));
    }
    let mut builder = Builder::default();
    for (path, flag, value) in values {
        builder = set(builder, &path, flag, value, report);
    }
    Some(builder)
}

fn set(builder: Builder, path: &str, origin: &str, value: &str, report: &Report) -> Builder {
    let owned = Value::new(Some(&origin.to_owned()), value);
    // The path is parsed; only a name that is no good anyway fails there, and its reader reports it as well.
    match builder.clone().set_override(path, owned) {
        Ok(builder) => builder,
        Err(_) => {
            let fix = "names are made of A-Z, a-z, 0-9, _ and -".to_owned();
            report.add(Some(origin), path, "cannot be overridden".into(), Some(fix));
            builder
        }
    }
}

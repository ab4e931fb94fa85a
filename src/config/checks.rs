//! Checks of single values that several sections share: names, patterns, files, JSON pointers, addresses. Each answers
//! with a reason and a fix; none knows where its value came from.

use std::path::{Path, PathBuf};

use regex::bytes::{Regex, RegexBuilder};

use super::mistake::quoted;
use super::model::Pattern;

/// A reason and a fix.
pub(super) type Wrong = (String, String);

/// Longest pattern, and the most memory its program may take.
const MAX_PATTERN: usize = 1_000;
const MAX_PROGRAM: usize = 1 << 20;
/// Longest lock or worker name; names are labels.
const MAX_NAME: usize = 256;

fn wrong<T>(reason: impl Into<String>, fix: impl Into<String>) -> Result<T, Wrong> {
    Err((reason.into(), fix.into()))
}

/// A store's or group's name: it must be possible to name it in an environment variable.
pub(super) fn section_name(name: &str) -> Result<(), Wrong> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
        return wrong(
            format!("{} is no name for an entry", quoted(name)),
            "use 1 to 64 of A-Z, a-z, 0-9, _ and -",
        );
    }
    Ok(())
}

/// A lock's or worker's name.
pub(super) fn label_name(name: &str) -> Result<(), Wrong> {
    if name.chars().count() > MAX_NAME {
        return wrong(format!("longer than {MAX_NAME} characters"), "shorten it");
    }
    if name.chars().any(char::is_control) {
        return wrong("contains a control character", "use printable characters only");
    }
    Ok(())
}

/// A regular expression over bytes.
pub(super) fn pattern(text: &str) -> Result<Pattern, Wrong> {
    compile(text).map(Pattern)
}

/// A regular expression that must match the whole of a name.
pub(super) fn whole_pattern(text: &str) -> Result<Pattern, Wrong> {
    // Compiled on its own first, so that the error speaks of what was written.
    compile(text)?;
    compile(&format!(r"\A(?:{text})\z")).map(Pattern)
}

fn compile(text: &str) -> Result<Regex, Wrong> {
    if text.len() > MAX_PATTERN {
        return wrong(
            format!("longer than {MAX_PATTERN} bytes"),
            "use a shorter regular expression",
        );
    }
    let built = RegexBuilder::new(text).size_limit(MAX_PROGRAM).dfa_size_limit(MAX_PROGRAM).build();
    built.or_else(|error| match error {
        regex::Error::CompiledTooBig(_) => wrong(
            "takes too much memory as a regular expression",
            "use smaller counts in {n,m}, or [0-9] for \\d",
        ),
        other => {
            let text = other.to_string();
            // The last line says why; those before it draw the expression.
            let why = text.lines().last().unwrap_or_default();
            let why = why.strip_prefix("error: ").unwrap_or(why);
            wrong(
                format!("not a regular expression: {why}"),
                "the syntax is that of the Rust regex crate (no look-around or back-references)",
            )
        }
    })
}

/// A file that exists and can be read now.
pub(super) fn file(path: &str) -> Result<PathBuf, Wrong> {
    let path = PathBuf::from(path);
    // Looked at before it is opened: opening a pipe would wait for whoever writes it.
    let found = std::fs::metadata(&path);
    if found.as_ref().is_ok_and(|m| !m.is_file()) {
        return wrong(
            format!("{} is not a regular file", shown(&path)),
            "name a file with the content",
        );
    }
    match found.and_then(|_| std::fs::File::open(&path)) {
        Ok(_) => Ok(path),
        Err(error) => {
            let reason = format!("{} cannot be read: {error}", shown(&path));
            wrong(reason, "create it, or let this program's user read it")
        }
    }
}

/// A directory that exists and that files can be made in now.
pub(super) fn directory(path: &str) -> Result<PathBuf, Wrong> {
    use rustix::fs::{Access, access};
    let path = PathBuf::from(path);
    if !path.is_absolute() {
        let fix = "write the whole path, beginning with `/`";
        return wrong(format!("{} is not an absolute path", shown(&path)), fix);
    }
    match std::fs::metadata(&path) {
        Ok(found) if !found.is_dir() => {
            return wrong(format!("{} is not a directory", shown(&path)), "name a directory");
        }
        Ok(_) => {}
        Err(error) => {
            let reason = format!("{} cannot be used: {error}", shown(&path));
            return wrong(reason, "create it, and give it to this program's user");
        }
    }
    // Asked, not tried: checking a configuration leaves nothing behind.
    match access(&path, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK) {
        Ok(()) => Ok(path),
        Err(error) => {
            let error = std::io::Error::from(error);
            let reason = format!("{} cannot be written to: {error}", shown(&path));
            wrong(reason, "give it to this program's user, on a file system that is writable")
        }
    }
}

fn shown(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}

/// A JSON pointer (RFC 6901) to something inside a document.
pub(super) fn json_pointer(text: &str) -> Result<(), Wrong> {
    if !text.starts_with('/') {
        let fix = format!("write `/{}`", text.trim_start_matches(['$', '.']).replace('.', "/"));
        return wrong(format!("{} is not a JSON pointer", quoted(text)), fix);
    }
    let after_tilde = text.split('~').skip(1);
    if after_tilde.into_iter().any(|rest| !rest.starts_with(['0', '1'])) {
        return wrong("a `~` that escapes nothing", "write `~0` for ~ and `~1` for /");
    }
    Ok(())
}

/// `host:port` or `[address]:port`.
pub(super) fn host_port(text: &str) -> Result<(), Wrong> {
    if text.contains("://") || text.contains('@') {
        return wrong("a URL where an address is wanted", "write `host:port`");
    }
    match split_host_port(text) {
        Some((host, Some(_))) if !host.is_empty() => Ok(()),
        Some((host, None)) if !host.is_empty() && !text.ends_with(':') => {
            wrong(format!("{} has no port", quoted(text)), format!("write `{text}:6379`"))
        }
        _ => wrong(format!("{} is not an address", quoted(text)), "write `host:port`"),
    }
}

/// Host without brackets and port, where the text is made of these.
pub(super) fn split_host_port(text: &str) -> Option<(&str, Option<u16>)> {
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest.split_once(']')?;
        let bare = host.split('%').next().unwrap_or(host);
        bare.parse::<std::net::Ipv6Addr>().ok()?;
        (host, if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) })
    } else {
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        };
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        if !host.chars().all(fits) {
            return None;
        }
        (host, port)
    };
    match port {
        None => Some((host, None)),
        Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => {
            digits.parse().ok().filter(|p| *p > 0).map(|p| (host, Some(p)))
        }
        Some(_) => None,
    }
}

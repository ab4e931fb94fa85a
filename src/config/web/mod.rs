//! The web configuration, in the format of Prometheus' exporter-toolkit: who is let in, and over what. Reads the file and
//! those that it names; tells every mistake at once, as the configuration proper does. What this program's TLS cannot do
//! is a mistake with its name, and never passed over: a door that is believed to be shut must be.

mod files;
mod headers;
mod model;
mod rate_limit;
mod tls;
mod tls_words;
mod users;

#[cfg(test)]
mod tests;

use std::path::Path;

use super::cursor::Cursor;
use super::layers;
use super::mistake::{Mistakes, Report};
use super::schema::WEB;
use files::Files;
pub use model::{ClientAuth, Draft, Pem, RateLimit, ServerTls, TlsDraft, TlsSettings, User, Web};

/// What was read.
pub struct Loaded {
    /// A digest of all bytes that were read: the same files give the same one.
    pub digest: [u8; 32],
    /// What they come to.
    pub web: Result<Web, Mistakes>,
}

/// Reads the file and the certificates that it names. Blocks on their file system.
pub fn load(path: &Path) -> Loaded {
    let report = Report::new(path.to_string_lossy());
    let mut files = Files::new(path);
    let made = made(path, &mut files, &report);
    let web = match (made, report.finish()) {
        (Some(web), None) => Ok(web),
        (_, Some(mistakes)) => Err(mistakes),
        // A reader that gives up without a word is a fault of this program, and must not pass for success.
        (None, None) => Err(Mistakes::fault()),
    };
    Loaded { digest: files.digest(), web }
}

/// The text of a file, without a look at the files that it names: pure, for tests and fuzzing.
pub fn parse(text: &str) -> Result<Draft, Mistakes> {
    let report = Report::new("web configuration");
    match (draft(text, &report), report.finish()) {
        (Some(draft), None) => Ok(draft),
        (_, Some(mistakes)) => Err(mistakes),
        (None, None) => Err(Mistakes::fault()),
    }
}

fn made(path: &Path, files: &mut Files, report: &Report) -> Option<Web> {
    let text = match files.text(path) {
        Ok(text) => text,
        Err((reason, _)) => {
            let fix = "check --web.config.file and its permissions".to_owned();
            report.add(None, "", reason, Some(fix));
            return None;
        }
    };
    let draft = draft(&text, report)?;
    let Some(tls) = draft.tls else { return Some(draft.web) };
    let tls = tls::with_files(tls, files, report)?;
    Some(Web { tls: Some(tls), ..draft.web })
}

/// Blank lines, comments and borders of documents only.
fn is_blank(text: &str) -> bool {
    let mut lines = text.lines().map(|line| line.trim_start_matches('\u{feff}').trim());
    lines.all(|line| line.is_empty() || line.starts_with('#') || matches!(line, "---" | "..."))
}

fn draft(text: &str, report: &Report) -> Option<Draft> {
    let values = layers::alone(text, &WEB, report)?;
    let top = Cursor::top(&values, &WEB, report)?;
    let http = top.table("http_server_config");
    let web = Web {
        tls: None,
        http2: http.as_ref().and_then(|http| http.switch("http2")).unwrap_or(true),
        headers: http.and_then(|http| http.table("headers")).map_or_else(Vec::new, headers::read),
        users: users::read(&top),
        rate_limit: rate_limit::read(&top),
        is_blank: is_blank(text),
    };
    let tls = match top.has("tls_server_config") {
        true => Some(tls::read(&top.table("tls_server_config")?)),
        false => None,
    };
    Some(Draft { web, tls })
}

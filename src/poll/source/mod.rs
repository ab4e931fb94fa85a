//! A *source*: something outside that has a value (a Redis part, a file, an HTTP answer), filled for one worker and read
//! into a [`Beat`]. Tells "no beat" from "could not be read"; whether the worker lives is decided elsewhere.

pub mod exposition;
pub mod file;
pub mod http;
pub mod json;
pub mod tls;
pub mod value;

use std::path::PathBuf;
use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::part::PartRequest;
use crate::config::{RedisPart, Source, fill_worker};
use crate::observe::node::FailReason;
use crate::observe::worker::Beat;

/// What stays as it is in a URL (RFC 3986, unreserved).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A source with its templates filled for one worker.
#[derive(Clone, Debug)]
pub enum Filled {
    /// A part of a key, read in a batch with others of its store.
    Redis {
        /// The store's name.
        store: Arc<str>,
        /// What to ask for.
        request: PartRequest,
        /// JSON pointer into the value.
        json: Option<String>,
    },
    /// A file.
    File {
        /// Its path.
        path: PathBuf,
        /// Its text counts instead of its modification time.
        content: bool,
    },
    /// An HTTP endpoint.
    Http(Arc<http::Endpoint>),
    /// This worker's name does not fit the template; says why.
    Refused(String),
}

impl Filled {
    /// Fills a source for a worker. Names come from tokens and so from anywhere: one that could lead a path or URL
    /// elsewhere is refused.
    pub fn of(source: &Source, worker: &str, tls: &Arc<tls::Client>) -> Self {
        match source {
            Source::Redis { store, key, part, json } => {
                let part = match part {
                    RedisPart::Field(f) => RedisPart::Field(fill_worker(f, worker)),
                    RedisPart::Member(m) => RedisPart::Member(fill_worker(m, worker)),
                    other => other.clone(),
                };
                let key = fill_worker(key, worker).into_bytes();
                let request = PartRequest { key, part };
                Self::Redis { store: Arc::clone(store), request, json: json.clone() }
            }
            Source::File { path, content } => match fill_path(path, worker) {
                Ok(path) => Self::File { path, content: *content },
                Err(why) => Self::Refused(why),
            },
            Source::Http { url, part, basic_auth, bearer_token_file, .. } => {
                if is_step(worker) && url.contains("{worker}") {
                    return Self::Refused(
                        "a worker called . or .. cannot be put into a URL".to_owned(),
                    );
                }
                let encoded = utf8_percent_encode(worker, ENCODED).to_string();
                let credentials = http::Credentials {
                    basic: basic_auth.clone(),
                    bearer: bearer_token_file.clone(),
                };
                let url = fill_worker(url, &encoded);
                match http::Endpoint::new(&url, part, credentials, Arc::clone(tls)) {
                    Ok(endpoint) => Self::Http(Arc::new(endpoint)),
                    Err(why) => Self::Refused(why),
                }
            }
        }
    }
}

/// Fills a path template; a name that is no plain file name is refused.
pub fn fill_path(template: &str, worker: &str) -> Result<PathBuf, String> {
    if template.contains("{worker}") && (is_step(worker) || worker.contains(['/', '\0'])) {
        return Err(format!("a worker called {worker:?} cannot be put into a path"));
    }
    Ok(PathBuf::from(fill_worker(template, worker)))
}

/// Names that are a step in a path and no name.
fn is_step(worker: &str) -> bool {
    matches!(worker, "" | "." | "..")
}

/// A failed read.
pub fn failed(reason: FailReason, detail: impl Into<String>) -> Beat {
    Beat::Failed { reason, detail: detail.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::HttpPart;

    #[test]
    fn names_cannot_lead_elsewhere() {
        assert_eq!(fill_path("/run/{worker}.beat", "a b").unwrap(), PathBuf::from("/run/a b.beat"));
        for name in ["../x", "..", "a/b", "", "a\0b"] {
            assert!(fill_path("/run/{worker}", name).is_err(), "{name:?}");
        }
        assert!(fill_path("/run/all", "../x").is_ok());
    }

    #[test]
    fn urls_are_encoded() {
        let source = Source::Http {
            url: "http://h:1/w/{worker}?q=1".to_owned(),
            part: HttpPart::Success,
            tls: Default::default(),
            basic_auth: None,
            bearer_token_file: None,
        };
        let tls = Arc::new(tls::Client::new(Default::default()));
        let Filled::Http(endpoint) = Filled::of(&source, "a/../b?c", &tls) else { panic!() };
        assert_eq!(endpoint.request_target(), "/w/a%2F..%2Fb%3Fc?q=1");
        assert!(matches!(Filled::of(&source, "..", &tls), Filled::Refused(_)));
    }

    #[test]
    fn redis_parts_are_filled() {
        let source = Source::Redis {
            store: "main".into(),
            key: "hb:{worker}".to_owned(),
            part: RedisPart::Field("{worker}:beat".to_owned()),
            json: None,
        };
        let tls = Arc::new(tls::Client::new(Default::default()));
        let Filled::Redis { request, .. } = Filled::of(&source, "w", &tls) else { panic!() };
        let part = RedisPart::Field("w:beat".to_owned());
        assert_eq!(request, PartRequest { key: b"hb:w".to_vec(), part });
    }
}

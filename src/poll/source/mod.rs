//! A *source*: something outside that has a value (a Redis part, a file, an HTTP answer), filled for one worker or lock and
//! read into a [`Beat`] or a value. Tells "nothing there" from "could not be read"; what follows is decided elsewhere.

pub mod claims;
pub mod exposition;
pub mod file;
pub mod http;
pub mod json;
pub mod number;
pub mod raw;
pub mod tls;
pub mod value;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::part::PartRequest;
use crate::config::{Place, RedisPart, Source};
use crate::observe::node::FailReason;
use crate::observe::worker::Beat;

/// From when a read of a file counts as hung.
const FILE_PATIENCE: Duration = Duration::from_millis(1500);
/// The same for an HTTP exchange with all its steps.
const HTTP_PATIENCE: Duration = Duration::from_secs(8);

/// What stays as it is in a URL (RFC 3986, unreserved).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A source with its templates filled for one name.
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
    /// This name does not fit the template; says why.
    Refused(String),
}

impl Filled {
    /// Fills a source for a name. Names come from tokens and keys and so from anywhere: one that could lead a path or URL
    /// elsewhere is refused.
    pub fn of(source: &Source, place: Place, name: &str, tls: &Arc<tls::Client>) -> Self {
        match source {
            Source::Redis { store, key, part, json } => {
                let part = match part {
                    RedisPart::Field(f) => RedisPart::Field(place.fill(f, name)),
                    RedisPart::Member(m) => RedisPart::Member(place.fill(m, name)),
                    other => other.clone(),
                };
                let key = place.fill(key, name).into_bytes();
                let request = PartRequest { key, part };
                Self::Redis { store: Arc::clone(store), request, json: json.clone() }
            }
            Source::File { path, content } => match fill_path(path, place, name) {
                Ok(path) => Self::File { path, content: *content },
                Err(why) => Self::Refused(why),
            },
            Source::Http { url, part, basic_auth, bearer_token_file, .. } => {
                if is_step(name) && url.contains(place.as_str()) {
                    return Self::Refused(
                        "a name like . or .. cannot be put into a URL".to_owned(),
                    );
                }
                let encoded = utf8_percent_encode(name, ENCODED).to_string();
                let credentials = http::Credentials {
                    basic: basic_auth.clone(),
                    bearer: bearer_token_file.clone(),
                };
                let url = place.fill(url, &encoded);
                match http::Endpoint::new(&url, part, credentials, Arc::clone(tls)) {
                    Ok(endpoint) => Self::Http(Arc::new(endpoint)),
                    Err(why) => Self::Refused(why),
                }
            }
        }
    }
}

impl Filled {
    /// From when a read of it counts as hung.
    pub fn patience(&self) -> Duration {
        match self {
            Self::File { .. } => FILE_PATIENCE,
            _ => HTTP_PATIENCE,
        }
    }
}

/// Fills a path template; a name that is no plain file name is refused.
pub fn fill_path(template: &str, place: Place, name: &str) -> Result<PathBuf, String> {
    if template.contains(place.as_str()) && (is_step(name) || name.contains(['/', '\0'])) {
        return Err(format!("the name {name:?} cannot be put into a path"));
    }
    Ok(PathBuf::from(place.fill(template, name)))
}

/// Names that are a step in a path and no name.
fn is_step(name: &str) -> bool {
    matches!(name, "" | "." | "..")
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
        assert_eq!(
            fill_path("/run/{worker}.beat", Place::Worker, "a b").unwrap(),
            PathBuf::from("/run/a b.beat")
        );
        for name in ["../x", "..", "a/b", "", "a\0b"] {
            assert!(fill_path("/run/{worker}", Place::Worker, name).is_err(), "{name:?}");
        }
        assert!(fill_path("/run/all", Place::Worker, "../x").is_ok());
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
        let Filled::Http(endpoint) = Filled::of(&source, Place::Worker, "a/../b?c", &tls) else {
            panic!()
        };
        assert_eq!(endpoint.request_target(), "/w/a%2F..%2Fb%3Fc?q=1");
        assert!(matches!(Filled::of(&source, Place::Worker, "..", &tls), Filled::Refused(_)));
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
        let Filled::Redis { request, .. } = Filled::of(&source, Place::Worker, "w", &tls) else {
            panic!()
        };
        let part = RedisPart::Field("w:beat".to_owned());
        assert_eq!(request, PartRequest { key: b"hb:w".to_vec(), part });
    }
}

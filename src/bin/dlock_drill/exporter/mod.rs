//! A client of a running exporter: its metrics, the document of one lock, its incidents. It only asks, shows no credentials,
//! and says of each failure what to do about it. What follows from an answer is decided elsewhere.

pub mod document;
mod flags;
pub mod http;
pub mod metrics;
pub mod trouble;
pub mod watch;

use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::de::DeserializeOwned;

pub use self::document::{Incidents, LockDocument};
pub use self::flags::Flags;
pub use self::http::{Access, Http};
pub use self::metrics::Metrics;
pub use self::trouble::Trouble;

/// Largest exposition that is read: a million series of some hundred bytes would be beyond it, and beyond what a drill needs.
const MOST_METRICS: usize = 64 << 20;
/// Largest document of one lock, or listing of incidents.
const MOST_DOCUMENT: usize = 8 << 20;
/// Names of locks that an error tells of.
const MOST_NAMES: usize = 20;
/// What stays as it is in a path (RFC 3986, unreserved).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// An exporter that is asked.
#[derive(Debug)]
pub struct Exporter {
    http: Http,
    metrics: String,
}

impl Exporter {
    /// At a URL such as `http://locks-host:10121`. Asks nothing yet.
    pub fn new(url: &str, access: Access) -> Result<Self, Trouble> {
        let metrics = access.telemetry_path.clone().unwrap_or_else(|| "/metrics".to_owned());
        Ok(Self { http: Http::new(url, access)?, metrics })
    }

    /// Where it is, as it is told to people.
    pub fn url(&self) -> &str {
        self.http.url()
    }

    /// Whether every poller had its first try.
    pub async fn ready(&self) -> Result<(), Trouble> {
        let answer = self.http.get("/-/ready", MOST_DOCUMENT).await?;
        match answer.status {
            200 => Ok(()),
            503 => Err(Trouble::NotReady { url: self.url().to_owned(), why: answer.line() }),
            _ => Err(self.unexpected("/-/ready", &answer)),
        }
    }

    /// All samples of now.
    pub async fn metrics(&self) -> Result<Metrics, Trouble> {
        let answer = self.http.get(&self.metrics, MOST_METRICS).await?;
        match answer.status {
            200 => Ok(Metrics::parse(&answer.body)),
            503 => Err(Trouble::NotReady { url: self.url().to_owned(), why: answer.line() }),
            404 => Err(Trouble::Unexpected {
                url: self.url().to_owned(),
                path: self.metrics.clone(),
                what: "status 404; if its --web.telemetry-path is another, give --exporter-telemetry-path"
                    .to_owned(),
            }),
            _ => Err(self.unexpected(&self.metrics, &answer)),
        }
    }

    /// The document of one lock. Of a lock that is not watched, the error names some that are.
    pub async fn lock(&self, store: &str, lock: &str) -> Result<LockDocument, Trouble> {
        let path = format!("/api/v1/locks/{}/{}", segment(store), segment(lock));
        let answer = self.http.get(&path, MOST_DOCUMENT).await?;
        match answer.status {
            200 => self.read(&path, &answer.body),
            404 => Err(Trouble::NotWatched {
                url: self.url().to_owned(),
                store: store.to_owned(),
                lock: lock.to_owned(),
                watched: self.names().await.unwrap_or_default(),
            }),
            _ => Err(self.unexpected(&path, &answer)),
        }
    }

    /// What was recorded when signals of a lock rose, the newest first.
    pub async fn incidents(&self, store: &str, lock: &str) -> Result<Incidents, Trouble> {
        let (store, lock) = (segment(store), segment(lock));
        let path = format!("/api/v1/incidents?store={store}&lock={lock}");
        let answer = self.http.get(&path, MOST_DOCUMENT).await?;
        match answer.status {
            200 => self.read(&path, &answer.body),
            _ => Err(self.unexpected(&path, &answer)),
        }
    }

    /// The interval at which it polls stores, by its own word.
    pub async fn poll_interval(&self) -> Result<Duration, Trouble> {
        let metrics = self.metrics().await?;
        metrics.poll_interval().ok_or_else(|| Trouble::Unexpected {
            url: self.url().to_owned(),
            path: self.metrics.clone(),
            what: "it has no dlock_exporter_poll_interval_seconds; is it a dlock_exporter?"
                .to_owned(),
        })
    }

    /// Some locks that it watches, as `store/lock`.
    async fn names(&self) -> Result<Vec<String>, Trouble> {
        let path = format!("/api/v1/locks?limit={MOST_NAMES}");
        let answer = self.http.get(&path, MOST_DOCUMENT).await?;
        let listing: document::Listing = self.read(&path, &answer.body)?;
        Ok(listing.locks.iter().map(|l| format!("{}/{}", l.store, l.lock)).collect())
    }

    fn read<T: DeserializeOwned>(&self, path: &str, body: &[u8]) -> Result<T, Trouble> {
        serde_json::from_slice(body).map_err(|e| Trouble::Unexpected {
            url: self.url().to_owned(),
            path: path.to_owned(),
            what: format!("its answer cannot be read: {e}; are both of one release?"),
        })
    }

    fn unexpected(&self, path: &str, answer: &http::Answer) -> Trouble {
        Trouble::Unexpected {
            url: self.url().to_owned(),
            path: path.to_owned(),
            what: format!("status {}: {}", answer.status, answer.line()),
        }
    }
}

fn segment(name: &str) -> String {
    utf8_percent_encode(name, ENCODED).to_string()
}

#[cfg(test)]
mod tests;

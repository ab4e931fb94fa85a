//! Why an exporter's answer could not be had, and what to do about it.

/// Why there is no answer, or none that can be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// The URL is no URL of an exporter.
    #[error("--exporter {url:?}: {why}")]
    Url {
        /// As it was given, without what may be a secret.
        url: String,
        /// What is wrong.
        why: String,
    },
    /// Nobody answers there.
    #[error(
        "the exporter at {url} cannot be reached: {why}; is it running, and is this the address of its --web.listen-address?"
    )]
    NotReachable {
        /// Where.
        url: String,
        /// How that showed.
        why: String,
    },
    /// It answers, and has no data yet or only old data.
    #[error("the exporter at {url} is not ready: {why}; wait, or look at its log")]
    NotReady {
        /// Where.
        url: String,
        /// In its own words.
        why: String,
    },
    /// It wants other credentials, or some.
    #[error(
        "the exporter at {url} refuses these credentials (status {status}); give --exporter-user and --exporter-password-file as its web config has them"
    )]
    Refused {
        /// Where.
        url: String,
        /// 401 or 403.
        status: u16,
    },
    /// The lock is not among those that it watches.
    #[error("the exporter at {url} does not watch the lock {lock:?} of the store {store:?}{}", advice(.store, .lock, .watched))]
    NotWatched {
        /// Where.
        url: String,
        /// The store that was asked for.
        store: String,
        /// The lock that was asked for.
        lock: String,
        /// Some that are watched, as `store/lock`.
        watched: Vec<String>,
    },
    /// It answers in another way than an exporter of this release does.
    #[error("the exporter at {url} answers {path} unexpectedly: {what}")]
    Unexpected {
        /// Where.
        url: String,
        /// What was asked for.
        path: String,
        /// What came.
        what: String,
    },
}

impl Trouble {
    /// Whether asking again later may go better.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::NotReachable { .. } | Self::NotReady { .. })
    }
}

/// What to add to its config, and what could have been meant.
fn advice(store: &str, lock: &str, watched: &[String]) -> String {
    let mut text = format!(
        "; add it to stores.{store}.locks of its config, such as `- {{ name: {lock}, key: 'lock:{lock}', lease: 30s }}`, \
         and reload it"
    );
    if watched.is_empty() {
        text.push_str(". It watches no lock yet");
    } else {
        text.push_str(&format!(". It watches {}", watched.join(", ")));
    }
    text
}

//! A *source*: something outside that has a value. Says where it is; opens nothing.

use std::path::PathBuf;
use std::sync::Arc;

use super::TlsFiles;

/// Something outside that has a value. Keys, fields, members, paths and URLs may have a [`Place`] for a name.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// In a configured store.
    Redis {
        /// The store's name.
        store: Arc<str>,
        /// The key.
        key: String,
        /// What of it.
        part: RedisPart,
        /// JSON pointer into the value.
        json: Option<String>,
    },
    /// A file: its modification time, or its content.
    File {
        /// Path.
        path: String,
        /// Its text counts instead of its modification time.
        content: bool,
    },
    /// An HTTP endpoint.
    Http {
        /// URL, `http` or `https`.
        url: String,
        /// What of the answer.
        part: HttpPart,
        /// TLS files for `https`.
        tls: TlsFiles,
        /// User and the file with the password.
        basic_auth: Option<(String, PathBuf)>,
        /// File with a bearer token.
        bearer_token_file: Option<PathBuf>,
    },
}

/// What of a Redis key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RedisPart {
    /// The string.
    Text,
    /// A hash field.
    Field(String),
    /// The score of a sorted set's member.
    Member(String),
    /// That the key exists.
    Exists,
}

/// What of an HTTP answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HttpPart {
    /// That it is 2xx.
    Success,
    /// A JSON pointer into the body.
    Json(String),
    /// A sample of a Prometheus exposition: `name` or `name{label="x"}`.
    Metric(String),
}

/// What the place for a name in a template stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// A worker.
    Worker,
    /// A lock.
    Lock,
    /// A member of a list of live workers.
    Member,
}

impl Place {
    /// As it is written in a template.
    pub fn as_str(self) -> &'static str {
        match self {
            Place::Worker => "{worker}",
            Place::Lock => "{lock}",
            Place::Member => "{member}",
        }
    }

    /// A template with this name in its places.
    pub fn fill(self, template: &str, name: &str) -> String {
        template.replace(self.as_str(), name)
    }
}

/// A template with its `{worker}` places filled.
pub fn fill_worker(template: &str, worker: &str) -> String {
    Place::Worker.fill(template, worker)
}

//! One web configuration in force.

use std::sync::Arc;

use axum::http::header::{HeaderName, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use axum::response::Response;
use rustls::ServerConfig;

use super::asks::Asks;
use super::bucket::Bucket;
use super::passwords::Users;
use super::tls;
use crate::config::web::Web;

/// What the door does.
#[derive(Default)]
pub struct State {
    /// TLS, if it is spoken.
    pub tls: Option<Arc<ServerConfig>>,
    /// Who is let in; everybody if absent.
    pub(super) users: Option<Arc<Users>>,
    /// How many requests are taken; all if absent.
    pub(super) bucket: Option<Bucket>,
    headers: Vec<(HeaderName, HeaderValue)>,
    /// All that is asked of whoever comes.
    pub(super) asks: Asks,
}

impl State {
    /// Nothing is asked of anybody.
    pub(super) fn open() -> Self {
        Self::default()
    }

    /// As this says, or why TLS cannot be spoken so.
    pub(super) fn of(web: &Web) -> Result<Self, String> {
        let header = |(name, value): &(&str, String)| {
            let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
            Some((name, HeaderValue::from_str(value).ok()?))
        };
        Ok(Self {
            tls: web.tls.as_ref().map(|tls| tls::server_config(tls, web.http2)).transpose()?,
            users: (!web.users.is_empty()).then(|| Arc::new(Users::new(web.users.clone()))),
            bucket: web.rate_limit.map(Bucket::new),
            headers: web.headers.iter().filter_map(header).collect(),
            asks: Asks::of(web),
        })
    }

    /// Says what is dangerous about it.
    pub(super) fn warn(&self) {
        if self.users.is_some() && self.tls.is_none() {
            tracing::warn!(
                "basic_auth_users without tls_server_config: whoever sees the traffic reads the passwords"
            );
        }
    }

    /// Whether a connection that came in by the other one may be asked for nothing more than its requests show.
    pub fn serves_those_of(&self, other: &Self) -> bool {
        self.asks.is_met_by(&other.asks)
    }

    /// Puts the configured headers on an answer, over those that it has.
    pub fn dress(&self, response: &mut Response) {
        let headers = response.headers_mut();
        headers.entry(X_CONTENT_TYPE_OPTIONS).or_insert(HeaderValue::from_static("nosniff"));
        for (name, value) in &self.headers {
            headers.insert(name, value.clone());
        }
    }
}

//! The door: TLS, passwords, headers and the rate of requests as the web configuration says, before any route is looked
//! at. Nothing passes it by, health included. It is read anew when one of its files changes; one with mistakes is told
//! once, and the door stays as it was.

mod asks;
mod basic;
mod bucket;
mod client_certs;
mod kept;
mod network;
mod passwords;
mod queue;
mod reread;
mod sans;
mod state;
mod take;
mod tls;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use axum::http::header::{RETRY_AFTER, TRANSFER_ENCODING, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use tokio::sync::watch;

use super::shared::busy;
use crate::clock;
use crate::config::Mistakes;
use crate::config::web::{self, Loaded};
use crate::observe::Mono;
pub(super) use network::Network;
use passwords::{Passwords, Verdict};
use reread::Looks;
pub(super) use state::State;

/// How the port is guarded.
pub struct Door {
    /// The web configuration, if there is one.
    path: Option<PathBuf>,
    state: ArcSwap<State>,
    /// Digest of the files that the state was made of.
    in_force: Mutex<[u8; 32]>,
    passwords: Arc<Passwords>,
    looks: Arc<Looks>,
    /// Why the files as they are now are not in force, if they are not.
    trouble: watch::Sender<Option<String>>,
    /// Told when another state comes into force.
    changed: watch::Sender<()>,
    /// Files that ask for less than is in force, and when they were seen first.
    less: Mutex<Option<([u8; 32], Mono)>>,
}

impl Door {
    /// Everybody is let in, over plain HTTP.
    pub fn open() -> Arc<Self> {
        Self::with(None, State::open(), [0; 32])
    }

    /// As the web configuration at this path says, or every mistake in it. Blocks on its file system.
    pub fn guarded(path: PathBuf) -> Result<Arc<Self>, Mistakes> {
        let Loaded { digest, web } = web::load(&path);
        let state = State::of(&web?).map_err(|reason| Mistakes::one(&path, reason))?;
        Ok(Self::with(Some(path), state, digest))
    }

    fn with(path: Option<PathBuf>, state: State, digest: [u8; 32]) -> Arc<Self> {
        state.warn();
        Arc::new(Self {
            path,
            state: ArcSwap::from_pointee(state),
            in_force: Mutex::new(digest),
            passwords: Arc::default(),
            looks: Arc::default(),
            trouble: watch::Sender::new(None),
            changed: watch::Sender::new(()),
            less: Mutex::default(),
        })
    }

    /// Whether TLS is spoken now.
    pub fn speaks_tls(&self) -> bool {
        self.state.load().tls.is_some()
    }

    /// Told of files that cannot be put in force, and of their end.
    pub fn trouble(&self) -> watch::Receiver<Option<String>> {
        self.trouble.subscribe()
    }

    /// Until the door is another one than that.
    pub(super) async fn is_another(&self, one: &Arc<State>) {
        let mut changed = self.changed.subscribe();
        // Subscribed before the look, so that no change is missed. The sender lives as long as this.
        while Arc::ptr_eq(&self.state.load(), one) {
            let _ = changed.changed().await;
        }
    }

    /// Whether this request is let in; the answer to it otherwise. The rate comes first, so that guesses count too.
    pub(super) async fn admit(
        &self,
        state: &State,
        from: Network,
        asked: &HeaderMap,
    ) -> Result<(), Response> {
        // No route takes a body. Where one in chunks ends is what request smuggling is about.
        if asked.contains_key(TRANSFER_ENCODING) {
            let why = "No body is taken here, least of all in chunks.\n";
            return Err((StatusCode::BAD_REQUEST, [("connection", "close")], why).into_response());
        }
        if let Some(wait) = state.bucket.as_ref().and_then(|bucket| bucket.take(clock::mono())) {
            let retry = [(RETRY_AFTER, wait.as_secs().saturating_add(1).to_string())];
            let why = "Too many requests: see rate_limit of the web configuration.\n";
            return Err((StatusCode::TOO_MANY_REQUESTS, retry, why).into_response());
        }
        let Some(users) = &state.users else { return Ok(()) };
        let Some(shown) = basic::credentials(asked) else { return Err(unauthorized()) };
        match self.passwords.check(users, from, shown).await {
            Verdict::Right => Ok(()),
            Verdict::Wrong => Err(unauthorized()),
            Verdict::Busy => Err(busy("Too many passwords to check at a time.\n")),
        }
    }
}

fn unauthorized() -> Response {
    let challenge = HeaderValue::from_static("Basic realm=\"dlock_exporter\", charset=\"UTF-8\"");
    let why = "Name and password are asked for here.\n";
    (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, challenge)], why).into_response()
}

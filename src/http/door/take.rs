//! What becomes of files that were read: in force, or told and not in force. One that asks for less than what is in force may
//! be one that somebody is writing, so it has to stay as it is for a while; whoever asks for a reload does not wait.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::{Door, State};
use crate::config::web::{Loaded, Web};
use crate::observe::Mono;

/// Files that ask for less than what is in force must have stayed the same for this long, unless a reload was asked for:
/// whoever writes a file in two steps must not open the door in between.
const STAYED: Duration = Duration::from_secs(5);

/// Why files were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Somebody came.
    Look,
    /// Somebody asked for it.
    Reload,
}

impl Door {
    /// Takes what was read: puts it in force if it is another one and right.
    pub(super) fn take(&self, loaded: Loaded, why: Why, now: Mono) -> Result<(), String> {
        let digest = loaded.digest;
        let state = match loaded.web {
            Ok(web) => self.made(&web).map_err(|reason| vec![reason]),
            Err(mistakes) => Err(mistakes.iter().map(ToString::to_string).collect()),
        };
        match state {
            Ok(state) => {
                if !self.has_come_to_stay(&state, digest, why, now) {
                    return Ok(());
                }
                let mut in_force = self.in_force.lock().unwrap_or_else(PoisonError::into_inner);
                if *in_force != digest {
                    *in_force = digest;
                    tracing::info!(tls = state.tls.is_some(), "web configuration read anew");
                    let gone = self.state.load().asks.gone_in(&state.asks);
                    if !gone.is_empty() {
                        let gone = gone.join(", ");
                        tracing::warn!(%gone, "the web configuration asks for less from now on");
                    }
                    state.warn();
                    self.state.store(Arc::new(state));
                    self.changed.send_replace(());
                }
                if self.trouble.send_if_modified(|trouble| trouble.take().is_some()) {
                    tracing::info!("web configuration has no mistakes any more");
                }
                Ok(())
            }
            Err(mistakes) => {
                *self.less.lock().unwrap_or_else(PoisonError::into_inner) = None;
                let text = mistakes.join("\n");
                let is_new = self.trouble.borrow().as_ref() != Some(&text);
                // Whoever asks is told, though it was told before.
                if is_new || why == Why::Reload {
                    for mistake in &mistakes {
                        tracing::error!(%mistake, "web configuration not read anew, the old one stays in force");
                    }
                }
                if is_new {
                    self.trouble.send_replace(Some(text.clone()));
                }
                Err(text)
            }
        }
    }

    fn made(&self, web: &Web) -> Result<State, String> {
        if web.is_blank && self.state.load().asks.anything() {
            let path = self.path.as_ref().map(|p| p.display().to_string()).unwrap_or_default();
            return Err(format!(
                "{path}: is empty, and what is in force is not: write it anew, or `{{}}` if nothing is to be asked of anybody"
            ));
        }
        State::of(web)
    }

    /// Whether it asks for no less than what is in force, or has been there for long enough.
    fn has_come_to_stay(&self, state: &State, digest: [u8; 32], why: Why, now: Mono) -> bool {
        let mut less = self.less.lock().unwrap_or_else(PoisonError::into_inner);
        let gone = self.state.load().asks.gone_in(&state.asks);
        if gone.is_empty() || why == Why::Reload {
            *less = None;
            return true;
        }
        match *less {
            Some((same, since)) if same == digest => {
                let stayed = now.since(since) >= STAYED;
                if stayed {
                    *less = None;
                }
                stayed
            }
            _ => {
                let (gone, seconds) = (gone.join(", "), STAYED.as_secs());
                tracing::warn!(
                    %gone,
                    "the web configuration asks for less than before: not in force until it has stayed so for {seconds} s, or a reload"
                );
                *less = Some((digest, now));
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use crate::config::web;

    #[test]
    fn a_file_cut_short_does_not_open_the_door_and_one_that_stays_or_is_asked_for_does() {
        let dir = tempfile::TempDir::new().unwrap();
        let path = dir.path().join("web.yml");
        let guarded = &*format!("basic_auth_users: {{ a: '{}' }}\n", bcrypt::hash("a", 4).unwrap());
        std::fs::write(&path, guarded).unwrap();
        let door = Door::guarded(path.clone()).unwrap();
        let start = clock::mono();
        let is_guarded = || door.state.load().users.is_some();
        let take = |text: &str, why, secs| {
            std::fs::write(&path, text).unwrap();
            door.take(web::load(&path), why, start.plus(Duration::from_secs(secs)))
        };
        for blank in ["", "# nothing\n", "---\n\n"] {
            for why in [Why::Look, Why::Reload] {
                assert!(take(blank, why, 0).is_err() && is_guarded(), "{blank:?} {why:?}");
            }
        }
        assert!(door.trouble.borrow().is_some());
        assert!(take("{}", Why::Look, 1).is_ok() && is_guarded());
        assert!(take("{}", Why::Look, 5).is_ok() && is_guarded());
        // Something else in between: it begins anew.
        assert!(take(guarded, Why::Look, 5).is_ok() && door.trouble.borrow().is_none());
        assert!(take("{}", Why::Look, 6).is_ok() && is_guarded());
        assert!(take("{}", Why::Look, 10).is_ok() && is_guarded());
        assert!(take("{}", Why::Look, 11).is_ok() && !is_guarded());
        assert!(take(guarded, Why::Look, 12).is_ok() && is_guarded());
        assert!(take("{}", Why::Reload, 12).is_ok() && !is_guarded());
        assert!(take("", Why::Look, 13).is_ok(), "nothing was asked before");
    }
}

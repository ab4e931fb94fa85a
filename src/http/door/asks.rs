//! What a door asks of whoever comes, to tell a change that asks for less from one that asks for more. A file that is cut
//! short, or seen while it is written, looks like one that asks for less.

use std::sync::Arc;

use rustls::RootCertStore;

use crate::config::web::{ClientAuth, Web};

/// What is asked.
#[derive(Clone, Debug, Default)]
pub struct Asks {
    handshake: Option<Handshake>,
    passwords: bool,
    rate: bool,
}

/// What is asked before any request, and by no request after it.
#[derive(Clone, Debug)]
struct Handshake {
    client_auth: ClientAuth,
    allowed_sans: Vec<String>,
    client_ca: Option<Arc<RootCertStore>>,
}

impl Asks {
    /// As this says.
    pub fn of(web: &Web) -> Self {
        let handshake = web.tls.as_ref().map(|tls| Handshake {
            client_auth: tls.settings.client_auth,
            allowed_sans: tls.settings.allowed_sans.clone(),
            client_ca: tls.client_ca.clone(),
        });
        Self { handshake, passwords: !web.users.is_empty(), rate: web.rate_limit.is_some() }
    }

    /// Whether anything is asked.
    pub fn anything(&self) -> bool {
        self.handshake.is_some() || self.passwords || self.rate
    }

    /// What this asks that the next one does not ask any more.
    pub fn gone_in(&self, next: &Self) -> Vec<&'static str> {
        let mut gone = Vec::new();
        let mut unless = |kept: bool, what| {
            if !kept {
                gone.push(what);
            }
        };
        unless(self.handshake.is_none() || next.handshake.is_some(), "TLS");
        unless(!self.passwords || next.passwords, "passwords");
        unless(!self.rate || next.rate, "the limit of requests");
        if let Some(old) = &self.handshake {
            let new = next.handshake.as_ref();
            let (was, is) = (old.client_auth, new.map_or(ClientAuth::None, |new| new.client_auth));
            let less = was.requires() && !is.requires() || was.verifies() && !is.verifies();
            unless(!less, "certificates of clients");
            let sans = new.is_some_and(|new| !new.allowed_sans.is_empty());
            unless(old.allowed_sans.is_empty() || sans, "names in the certificates of clients");
        }
        gone
    }

    /// Whether a connection that came in by the other one has shown in its handshake what this asks.
    pub fn is_met_by(&self, other: &Self) -> bool {
        let Some(now) = &self.handshake else { return true };
        let Some(then) = &other.handshake else { return false };
        let roots = |h: &Handshake| h.client_ca.as_ref().map(|ca| ca.roots.clone());
        !now.client_auth.requires() && !now.client_auth.verifies()
            || now.client_auth == then.client_auth
                && now.allowed_sans == then.allowed_sans
                && roots(now) == roots(then)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tls(client_auth: ClientAuth, sans: &[&str]) -> Asks {
        let allowed_sans = sans.iter().map(|s| (*s).to_owned()).collect();
        let handshake = Some(Handshake { client_auth, allowed_sans, client_ca: None });
        Asks { handshake, ..Asks::default() }
    }

    #[test]
    fn what_is_gone_is_named_and_what_is_more_is_not() {
        let nothing = Asks::default();
        let all = Asks { passwords: true, rate: true, ..tls(ClientAuth::RequireAndVerify, &["a"]) };
        assert_eq!(all.gone_in(&nothing).len(), 5);
        assert!(all.gone_in(&all).is_empty() && nothing.gone_in(&all).is_empty());
        assert_eq!(all.gone_in(&Asks { passwords: false, ..all.clone() }), ["passwords"]);
        let by_name = tls(ClientAuth::RequireAndVerify, &["a"]);
        assert!(by_name.gone_in(&tls(ClientAuth::RequireAndVerify, &["b"])).is_empty());
        assert_eq!(by_name.gone_in(&tls(ClientAuth::RequireAny, &[])).len(), 2);
        assert!(!nothing.anything() && by_name.anything());
    }

    #[test]
    fn a_handshake_meets_what_it_was_asked_and_nothing_more() {
        let (plain, secret) = (Asks::default(), tls(ClientAuth::None, &[]));
        let known = tls(ClientAuth::RequireAndVerify, &[]);
        assert!(!secret.is_met_by(&plain) && plain.is_met_by(&secret));
        assert!(!known.is_met_by(&secret) && known.is_met_by(&known));
        assert!(secret.is_met_by(&known));
        assert!(!tls(ClientAuth::RequireAndVerify, &["a"]).is_met_by(&known));
    }
}

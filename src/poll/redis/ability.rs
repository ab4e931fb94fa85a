//! What a server can do and lets us do, remembered for as long as the same process serves there. Each optional command is
//! tried at most once in that time, so that watching a server does not raise its error counters poll after poll.

use std::time::Duration;

use super::failure::is_noperm;
use crate::clock;
use crate::observe::Mono;

/// How long a refused command or key is left alone: rights may be granted while the server runs.
pub const RETRY_REFUSED: Duration = Duration::from_secs(300);

/// What is known of one optional command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ability {
    /// Not tried yet.
    #[default]
    Untried,
    /// Works.
    Works,
    /// This server has no such command.
    Missing,
    /// The ACL refuses it, or the provider took it away; since when.
    Refused(Mono),
}

impl Ability {
    /// Whether to send it: it works, was not tried yet, or was refused long ago.
    pub fn worth_trying(self) -> bool {
        match self {
            Ability::Untried | Ability::Works => true,
            Ability::Missing => false,
            Ability::Refused(since) => clock::mono().since(since) >= RETRY_REFUSED,
        }
    }

    /// Whether it is refused, for the permission series; `None` if that is not known or makes no sense.
    pub fn refused(self) -> Option<bool> {
        match self {
            Ability::Works => Some(false),
            Ability::Refused(_) => Some(true),
            Ability::Untried | Ability::Missing => None,
        }
    }

    /// What an error reply says of the command.
    pub fn from_error(error: &[u8]) -> Self {
        if is_noperm(error) { Ability::Refused(clock::mono()) } else { Ability::Missing }
    }
}

/// What is known of one server process.
#[derive(Clone, Debug, Default)]
pub struct Abilities {
    /// The process that this is about.
    pub run_id: Option<String>,
    /// `HELLO`; without it we speak RESP2.
    pub hello: Ability,
    /// `INFO`.
    pub info: Ability,
    /// `ROLE`.
    pub role: Ability,
    /// `SCAN`.
    pub scan: Ability,
    /// `PEXPIRETIME`; without it expiries come from `PTTL`.
    pub pexpiretime: Ability,
    /// `CLIENT NO-TOUCH`; without it our reads protect lock keys from LRU eviction.
    pub no_touch: Ability,
    /// `CONFIG GET min-replicas-to-write`.
    pub config_get: Ability,
    /// `MGET`, without which no string can be watched.
    pub mget: Ability,
    /// `HGETALL`, without which no hash can be watched.
    pub hgetall: Ability,
}

impl Abilities {
    /// Forgets everything when another process answers than before.
    pub fn serve(&mut self, run_id: Option<&str>) {
        if self.run_id.is_some() && self.run_id.as_deref() != run_id {
            // What this connection has just found stays true of the process that answered.
            let (info, role) = (self.info, self.role);
            *self = Self { info, role, ..Self::default() };
        }
        self.run_id = run_id.map(str::to_owned);
    }

    /// `(command, refused)` of every optional command in use.
    pub fn permissions(&self) -> Vec<(&'static str, bool)> {
        let all = [
            ("client|no-touch", self.no_touch),
            ("config|get", self.config_get),
            ("hgetall", self.hgetall),
            ("info", self.info),
            ("mget", self.mget),
            ("pexpiretime", self.pexpiretime),
            ("role", self.role),
            ("scan", self.scan),
        ];
        all.into_iter().filter_map(|(name, a)| a.refused().map(|r| (name, r))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_remembered_until_another_process_answers() {
        let mut a = Abilities::default();
        a.serve(Some("r1"));
        a.config_get =
            Ability::from_error(b"NOPERM User x has no permissions to run the 'config|get'");
        a.no_touch = Ability::from_error(b"ERR unknown subcommand");
        a.info = Ability::Works;
        assert!(!a.config_get.worth_trying());
        a.serve(Some("r1"));
        assert_eq!(a.permissions(), [("config|get", true), ("info", false)]);
        a.serve(Some("r2"));
        assert_eq!(a.permissions(), [("info", false)]);
        assert!(a.config_get.worth_trying() && a.no_touch.worth_trying());
    }
}

//! What a server can do and lets us do, remembered for as long as the same process serves there. Each optional command is
//! tried at most once in that time, so that watching a server does not raise its error counters poll after poll.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::failure::is_noperm;
use crate::clock;
use crate::observe::Mono;

/// How long a refused command or key is left alone: rights may be granted while the server runs.
pub const RETRY_REFUSED: Duration = Duration::from_secs(300);

/// Commands that are sent when a connection begins, and never after.
const AT_CONNECT: [&str; 2] = ["client|setname", "hello"];

/// What is known of one optional command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ability {
    /// Not tried yet.
    #[default]
    Untried,
    /// Works.
    Works,
    /// This server has no such command, as older ones do.
    Missing,
    /// The ACL refuses it, or the provider took it away; since when.
    Refused(Mono),
    /// It was refused, and may have been granted since.
    Doubted,
}

impl Ability {
    /// Whether to send it: it works, was not tried yet, or was refused long ago.
    pub fn worth_trying(self) -> bool {
        match self {
            Ability::Untried | Ability::Works | Ability::Doubted => true,
            Ability::Missing => false,
            Ability::Refused(since) => clock::mono().since(since) >= RETRY_REFUSED,
        }
    }

    /// Whether it is refused, for the permission series; `None` if that is not known or makes no sense.
    pub fn refused(self) -> Option<bool> {
        match self {
            Ability::Works => Some(false),
            Ability::Refused(_) | Ability::Doubted => Some(true),
            Ability::Untried | Ability::Missing => None,
        }
    }

    /// What an error reply says of the command.
    pub fn from_error(error: &[u8]) -> Self {
        if is_noperm(error) { Ability::Refused(clock::mono()) } else { Ability::Missing }
    }
}

/// What is known of one server process, by command as ACLs write it.
#[derive(Clone, Debug, Default)]
pub struct Abilities {
    run_id: Option<String>,
    known: BTreeMap<&'static str, Ability>,
    /// What the present connection found out.
    fresh: BTreeSet<&'static str>,
}

impl Abilities {
    /// What is known of a command.
    pub fn of(&self, command: &'static str) -> Ability {
        self.known.get(command).copied().unwrap_or_default()
    }

    /// Whether to send it.
    pub fn worth_trying(&self, command: &'static str) -> bool {
        self.of(command).worth_trying()
    }

    /// Notes what was found out.
    pub fn set(&mut self, command: &'static str, ability: Ability) {
        self.known.insert(command, ability);
        self.fresh.insert(command);
    }

    /// Notes that the ACL refused it.
    pub fn refuse(&mut self, command: &'static str) {
        self.set(command, Ability::Refused(clock::mono()));
    }

    /// Notes that it works, whatever was known of it.
    pub fn serves(&mut self, command: &'static str) {
        if self.of(command) != Ability::Works {
            self.set(command, Ability::Works);
        }
    }

    /// A connection begins.
    pub fn connecting(&mut self) {
        self.fresh.clear();
    }

    /// Forgets everything when another process answers than before, but for what this connection has just found out.
    pub fn serve(&mut self, run_id: Option<&str>) {
        if self.run_id.is_some() && self.run_id.as_deref() != run_id {
            let fresh = &self.fresh;
            self.known.retain(|command, _| fresh.contains(command));
        }
        self.run_id = run_id.map(str::to_owned);
    }

    /// The process that serves, as `INFO` names it.
    pub fn process(&self) -> Option<&str> {
        self.run_id.as_deref()
    }

    /// Notes that it works, if it was refused before.
    pub fn granted(&mut self, command: &'static str) {
        if self.of(command).refused() == Some(true) {
            self.set(command, Ability::Works);
        }
    }

    /// Forgets refusals: somebody may have granted what was refused. What is sent at a connect only is still refused until
    /// there is one.
    pub fn retry_refused(&mut self) {
        self.known.retain(|c, a| AT_CONNECT.contains(c) || !matches!(a, Ability::Refused(_)));
        for (_, ability) in self.known.iter_mut().filter(|(_, a)| matches!(a, Ability::Refused(_)))
        {
            *ability = Ability::Doubted;
        }
    }

    /// `(command, refused)` of every command in use, in the order of their names.
    pub fn permissions(&self) -> Vec<(&'static str, bool)> {
        self.known.iter().filter_map(|(name, a)| a.refused().map(|r| (*name, r))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_remembered_until_another_process_answers() {
        let mut a = Abilities::default();
        a.serve(Some("r1"));
        a.set(
            "config|get",
            Ability::from_error(b"NOPERM User x has no permissions to run the 'config|get'"),
        );
        a.set("client|no-touch", Ability::from_error(b"ERR unknown subcommand"));
        assert!(!a.worth_trying("config|get"));
        a.connecting();
        a.set("info", Ability::Works);
        a.serve(Some("r1"));
        assert_eq!(a.permissions(), [("config|get", true), ("info", false)]);
        a.serve(Some("r2"));
        assert_eq!(a.permissions(), [("info", false)]);
        assert!(a.worth_trying("config|get") && a.worth_trying("client|no-touch"));
        ["hello", "scan"].iter().for_each(|c| a.refuse(c));
        a.retry_refused();
        assert_eq!(a.permissions(), [("hello", true), ("info", false)]);
        assert!(a.worth_trying("hello") && a.worth_trying("scan"));
        ["hello", "scan"].iter().for_each(|c| a.granted(c));
        assert_eq!(a.permissions(), [("hello", false), ("info", false)], "scan was not asked for");
    }
}

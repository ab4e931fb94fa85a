//! Extra looks that wait for their instant. Pure: is told what time it is. Bounded, because what asks for looks follows what
//! is found outside.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::observe::Mono;
use crate::poll::Look;

/// Instants this close become one look at the later of them, which is after both.
const CLOSE: Duration = Duration::from_millis(5);
const MAX_INSTANTS: usize = 8;
const MAX_KEYS: usize = 4096;

/// One look asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookAt {
    /// At whom.
    pub worker: Arc<str>,
    /// At what.
    pub what: Look,
    /// Not before.
    pub at: Mono,
}

/// All that wait.
#[derive(Debug, Default)]
pub struct Looks(HashMap<(Arc<str>, Look), Vec<Mono>>);

impl Looks {
    /// Adds one; false if there are too many already.
    pub fn add(&mut self, look: LookAt) -> bool {
        let key = (look.worker, look.what);
        if self.0.len() >= MAX_KEYS && !self.0.contains_key(&key) {
            return false;
        }
        let instants = self.0.entry(key).or_default();
        let at = look.at;
        if let Some(near) = instants.iter_mut().find(|i| at.since(**i).max(i.since(at)) <= CLOSE) {
            *near = at.max(*near);
            return true;
        }
        let room = instants.len() < MAX_INSTANTS;
        if room {
            instants.push(at);
        }
        room
    }

    /// The earliest instant.
    pub fn next(&self) -> Option<Mono> {
        self.0.values().flatten().min().copied()
    }

    /// Takes out what is due; a worker with several due instants gets one look.
    pub fn due(&mut self, now: Mono) -> Vec<(Arc<str>, Look)> {
        let mut due = Vec::new();
        self.0.retain(|key, instants| {
            let before = instants.len();
            instants.retain(|at| *at > now);
            if instants.len() < before {
                due.push(key.clone());
            }
            !instants.is_empty()
        });
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(worker: &str, at: f64) -> LookAt {
        LookAt { worker: worker.into(), what: Look::Process, at: Mono::from_secs_f64(at) }
    }

    #[test]
    fn due_once_and_in_time() {
        let mut looks = Looks::default();
        assert_eq!(looks.next(), None);
        for at in [2.0, 2.003, 3.0] {
            assert!(looks.add(look("a", at)));
        }
        looks.add(LookAt { what: Look::Heartbeat, ..look("a", 2.5) });
        assert_eq!(looks.next(), Some(Mono::from_secs_f64(2.003)));
        assert_eq!(looks.due(Mono::from_secs_f64(2.002)), []);
        assert_eq!(looks.due(Mono::from_secs_f64(2.2)), [("a".into(), Look::Process)]);
        assert_eq!(looks.due(Mono::from_secs_f64(9.0)).len(), 2);
        assert_eq!(looks.next(), None);
    }

    #[test]
    fn bounded() {
        let mut looks = Looks::default();
        assert_eq!((0..100).filter(|i| looks.add(look("a", f64::from(*i)))).count(), MAX_INSTANTS);
        for i in 0..2 * MAX_KEYS {
            looks.add(look(&i.to_string(), 1.0));
        }
        assert_eq!(looks.due(Mono::from_secs_f64(1.0)).len(), MAX_KEYS);
    }
}

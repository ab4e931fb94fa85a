//! Checks passwords with bcrypt: one at a time, with a short queue that no single network can fill. Scrapes whose result
//! is kept wait for none of it. How long a refusal takes must not tell whether there is such a user.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;

use super::Network;
use super::basic::Shown;
use super::kept::{Kept, Of};
use crate::config::web::User;

/// Most that wait or are at work, and most of them from one network.
const WAITING: u32 = 16;
const WAITING_FROM_ONE: u32 = 4;

/// What came of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Let in.
    Right,
    /// There is no such user, or it is not his password.
    Wrong,
    /// Too many wait.
    Busy,
}

/// The users of one web configuration, with the results of their passwords.
pub struct Users {
    by_name: BTreeMap<String, User>,
    /// The highest cost of all: what every refusal costs.
    most: u32,
    salt: [u8; 16],
    kept: Mutex<Kept>,
}

impl Users {
    /// No result is known yet.
    pub fn new(by_name: BTreeMap<String, User>) -> Self {
        let most = by_name.values().map(|user| user.cost).max().unwrap_or_default();
        // It keeps digests of this process from being looked up in a table; nobody is shown one.
        let salt = fastrand::u128(..).to_le_bytes();
        Self { by_name, most, salt, kept: Mutex::default() }
    }

    fn kept(&self, of: &Of) -> Option<bool> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).get(of)
    }

    fn of(&self, shown: &Shown) -> Of {
        let mut sum = Sha256::new();
        sum.update(self.salt);
        sum.update((shown.name.len() as u64).to_le_bytes());
        sum.update(&shown.name);
        sum.update(&shown.password);
        sum.finalize().into()
    }

    /// Whether that is this user's password. Takes as many rounds if there is no such user, and if his own hash has
    /// fewer than another's: 2^c and then 2^c, 2^(c+1), .. 2^(most-1) are 2^most.
    fn verify(&self, shown: &Shown) -> bool {
        let Some(user) = self.by_name.get(&shown.name) else {
            round(self.most, &shown.password);
            return false;
        };
        let is_right = bcrypt::verify(&shown.password, user.hash.reveal()).unwrap_or(false);
        if !is_right {
            (user.cost..self.most).for_each(|cost| round(cost, &shown.password));
        }
        is_right
    }
}

/// One computation for its time alone.
fn round(cost: u32, password: &[u8]) {
    let _ = std::hint::black_box(bcrypt::hash_with_salt(password, cost, [0; 16]).is_ok());
}

/// The queue, which outlives a change of the users.
pub struct Passwords {
    turn: Arc<Semaphore>,
    waiting: Mutex<HashMap<Network, u32>>,
}

impl Default for Passwords {
    fn default() -> Self {
        Self { turn: Arc::new(Semaphore::new(1)), waiting: Mutex::default() }
    }
}

impl Passwords {
    /// Checks what is shown, or finds the result that is kept.
    pub async fn check(
        self: &Arc<Self>,
        users: &Arc<Users>,
        from: Network,
        shown: Shown,
    ) -> Verdict {
        let verdict = |is_right| if is_right { Verdict::Right } else { Verdict::Wrong };
        let of = users.of(&shown);
        if let Some(known) = users.kept(&of) {
            return verdict(known);
        }
        let Some(place) = self.enter(from) else { return Verdict::Busy };
        // The semaphore is never closed.
        let Ok(turn) = self.turn.clone().acquire_owned().await else { return Verdict::Busy };
        // Somebody before may have shown the same.
        if let Some(known) = users.kept(&of) {
            return verdict(known);
        }
        let users = users.clone();
        let work = move || {
            // Held until it is done, though the client may have gone.
            let _held = (place, turn);
            let is_right = users.verify(&shown);
            users.kept.lock().unwrap_or_else(PoisonError::into_inner).put(of, is_right);
            is_right
        };
        tokio::task::spawn_blocking(work).await.map_or(Verdict::Busy, verdict)
    }

    fn enter(self: &Arc<Self>, from: Network) -> Option<Place> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let all: u32 = waiting.values().sum();
        let own = waiting.get(&from).copied().unwrap_or_default();
        if all >= WAITING || own >= WAITING_FROM_ONE {
            return None;
        }
        waiting.insert(from, own + 1);
        Some(Place { passwords: self.clone(), from })
    }
}

/// A place in the queue.
struct Place {
    passwords: Arc<Passwords>,
    from: Network,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut waiting = self.passwords.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = waiting.get_mut(&self.from) {
            *own = own.saturating_sub(1);
            if *own == 0 {
                waiting.remove(&self.from);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::time::{ClockId, clock_gettime};

    use super::*;
    use crate::secret::Secret;

    fn users(costs: &[(&str, u32)]) -> Arc<Users> {
        let user = |(name, cost): &(&str, u32)| {
            let hash = Secret::new(bcrypt::hash(format!("{name}'s"), *cost).unwrap());
            ((*name).to_owned(), User { hash, cost: *cost })
        };
        Arc::new(Users::new(costs.iter().map(user).collect()))
    }

    fn shown(name: &str, password: &str) -> Shown {
        Shown { name: name.to_owned(), password: password.as_bytes().to_vec() }
    }

    /// Processor time of this thread for a refusal: what else the machine does counts for nothing.
    fn spent(users: &Users, name: &str) -> f64 {
        let now = || {
            let time = clock_gettime(ClockId::ThreadCPUTime);
            time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
        };
        let mut all: Vec<f64> = (0..7)
            .map(|n| {
                let begun = now();
                assert!(!users.verify(&shown(name, &format!("guess {n}"))));
                now() - begun
            })
            .collect();
        all.sort_by(f64::total_cmp);
        all[3]
    }

    #[test]
    fn a_refusal_takes_as_long_for_whoever_there_is_and_whoever_there_is_not() {
        let users = users(&[("cheap", 5), ("dear", 9)]);
        let nobody = spent(&users, "nobody");
        for name in ["cheap", "dear"] {
            let ratio = spent(&users, name) / nobody;
            assert!((0.7..1.4).contains(&ratio), "{name}: {ratio} of what nobody takes");
        }
    }

    #[tokio::test]
    async fn results_are_kept_and_of_no_use_to_anybody_else() {
        let (passwords, users) = (Arc::new(Passwords::default()), users(&[("a", 4), ("b", 4)]));
        let from = Network::from(std::net::IpAddr::from([10, 0, 0, 1]));
        for _ in 0..2 {
            for (name, password, verdict) in [
                ("a", "a's", Verdict::Right),
                ("b", "b's", Verdict::Right),
                ("a", "b's", Verdict::Wrong),
                ("c", "a's", Verdict::Wrong),
                // The same bytes with the border elsewhere.
                ("a'", "s", Verdict::Wrong),
            ] {
                let came = passwords.check(&users, from, shown(name, password)).await;
                assert_eq!(came, verdict, "{name} {password}");
            }
        }
        assert_eq!(users.kept(&users.of(&shown("a", "a's"))), Some(true));
        assert!(passwords.waiting.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn the_queue_is_short_and_no_network_fills_it() {
        let (passwords, users) = (Arc::new(Passwords::default()), users(&[("a", 4)]));
        let network = |n| Network::from(std::net::IpAddr::from([10, 0, 0, n]));
        assert_eq!(passwords.check(&users, network(1), shown("a", "a's")).await, Verdict::Right);
        let turn = passwords.turn.clone().acquire_owned().await.unwrap();
        let mut waiting = tokio::task::JoinSet::new();
        let check = |n: u8, password: String| {
            let (passwords, users) = (passwords.clone(), users.clone());
            async move { passwords.check(&users, network(n), shown("a", &password)).await }
        };
        for n in 1..=4 {
            for guess in 0..4 {
                waiting.spawn(check(n, format!("{n} {guess}")));
            }
            // Polled once each, until they wait.
            while passwords.waiting.lock().unwrap().get(&network(n)) != Some(&4) {
                tokio::task::yield_now().await;
            }
            assert_eq!(check(n, "one more".into()).await, Verdict::Busy);
        }
        assert_eq!(check(9, "another network's".into()).await, Verdict::Busy);
        // What was right before needs no place.
        assert_eq!(check(9, "a's".into()).await, Verdict::Right);
        drop(turn);
        assert!(waiting.join_all().await.iter().all(|v| *v == Verdict::Wrong));
        assert_eq!(check(9, "another network's".into()).await, Verdict::Wrong);
        assert!(passwords.waiting.lock().unwrap().is_empty());
    }
}

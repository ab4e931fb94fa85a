//! Checks passwords with bcrypt: one at a time, with a short queue that no single network can fill. Scrapes whose result
//! is kept wait for none of it. How long a refusal takes must not tell whether there is such a user.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;

use super::Network;
use super::basic::Shown;
use super::kept::{Kept, Of};
use super::queue::Queue;
use crate::config::web::User;

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

/// The users of one web configuration.
pub struct Users {
    by_name: BTreeMap<String, User>,
    /// The highest cost of all: what every refusal costs.
    most: u32,
}

impl Users {
    /// As they are configured.
    pub fn new(by_name: BTreeMap<String, User>) -> Self {
        let most = by_name.values().map(|user| user.cost).max().unwrap_or_default();
        Self { by_name, most }
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

/// The queue and the results, which outlive a change of the users.
pub struct Passwords {
    turn: Arc<Semaphore>,
    queue: Arc<Queue>,
    salt: [u8; 16],
    kept: Mutex<Kept>,
}

impl Default for Passwords {
    fn default() -> Self {
        // It keeps digests of this process from being looked up in a table; nobody is shown one.
        let salt = fastrand::u128(..).to_le_bytes();
        let turn = Arc::new(Semaphore::new(1));
        Self { turn, queue: Arc::default(), salt, kept: Mutex::default() }
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
        let of = self.of(users, &shown);
        if let Some(known) = self.kept(&of) {
            return verdict(known);
        }
        let Some((place, mut displaced)) = self.queue.enter(from) else { return Verdict::Busy };
        let turn = tokio::select! {
            turn = self.turn.clone().acquire_owned() => turn,
            _ = &mut displaced => return Verdict::Busy,
        };
        // The semaphore is never closed.
        let Ok(turn) = turn else { return Verdict::Busy };
        if !place.is_at_work() {
            return Verdict::Busy;
        }
        // Somebody before may have shown the same.
        if let Some(known) = self.kept(&of) {
            return verdict(known);
        }
        let (users, all) = (users.clone(), self.clone());
        let work = move || {
            // Held until it is done, though the client may have gone.
            let _held = (place, turn);
            let is_right = users.verify(&shown);
            all.kept.lock().unwrap_or_else(PoisonError::into_inner).put(of, is_right);
            is_right
        };
        tokio::task::spawn_blocking(work).await.map_or(Verdict::Busy, verdict)
    }

    fn kept(&self, of: &Of) -> Option<bool> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).get(of)
    }

    /// The hash is part of it: a result is of use for as long as the user has the same one, whatever else changes.
    fn of(&self, users: &Users, shown: &Shown) -> Of {
        let hash = users.by_name.get(&shown.name).map_or("", |user| user.hash.reveal());
        let mut sum = Sha256::new();
        sum.update(self.salt);
        for part in [shown.name.as_bytes(), hash.as_bytes(), &shown.password] {
            sum.update((part.len() as u64).to_le_bytes());
            sum.update(part);
        }
        sum.finalize().into()
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
        assert_eq!(passwords.kept(&passwords.of(&users, &shown("a", "a's"))), Some(true));
        assert_eq!(passwords.queue.of(from), 0);
        // Other users: who has the same hash has the same result, though nobody's turn comes.
        let _turn = passwords.turn.clone().acquire_owned().await.unwrap();
        let hash = |name: &str| users.by_name[name].clone();
        let next = [("a", hash("a")), ("b", hash("a"))].map(|(n, user)| (n.to_owned(), user));
        let next = Arc::new(Users::new(next.into()));
        assert_eq!(passwords.check(&next, from, shown("a", "a's")).await, Verdict::Right);
        assert_eq!(passwords.kept(&passwords.of(&next, &shown("b", "b's"))), None);
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
            while passwords.queue.of(network(n)) != 4 {
                tokio::task::yield_now().await;
            }
            assert_eq!(check(n, "one more".into()).await, Verdict::Busy);
        }
        // Whoever comes from elsewhere takes a place of one that has many, and keeps it.
        waiting.spawn(check(9, "another network's".into()));
        while passwords.queue.of(network(9)) != 1 {
            tokio::task::yield_now().await;
        }
        waiting.spawn(check(10, "another's".into()));
        // What was right before needs no place.
        assert_eq!(check(9, "a's".into()).await, Verdict::Right);
        drop(turn);
        let came = waiting.join_all().await;
        assert_eq!(came.iter().filter(|v| **v == Verdict::Busy).count(), 2);
        assert_eq!(came.iter().filter(|v| **v == Verdict::Wrong).count(), 16);
        assert_eq!(
            passwords.kept(&passwords.of(&users, &shown("a", "another network's"))),
            Some(false)
        );
        assert!((1..=10).all(|n| passwords.queue.of(network(n)) == 0));
    }
}

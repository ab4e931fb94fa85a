//! Names of hosts to addresses, by the system's resolver. It holds a thread for half a minute where no name server answers,
//! and cannot be told to stop: each name is asked for once at a time, and all who want it wait for that one answer as long
//! as they like. Keeps no answer: a name may lead elsewhere with each connection.

use std::collections::HashMap;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// Addresses of one name that are tried.
const MAX_ADDRESSES: usize = 8;
/// Names that are asked for at a time, and threads that may hang for it.
pub const LOOKUPS: usize = 32;

/// What became of a lookup; the error is for people.
pub type Answer = Result<Vec<IpAddr>, String>;

/// Lookups under way, and where each will tell its answer.
type UnderWay = HashMap<Arc<str>, watch::Receiver<Option<Answer>>>;

static UNDER_WAY: LazyLock<Mutex<UnderWay>> = LazyLock::new(Mutex::default);

fn under_way() -> MutexGuard<'static, UnderWay> {
    UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends a lookup, however it ends.
struct Ends(Arc<str>);

impl Drop for Ends {
    fn drop(&mut self) {
        under_way().remove(&self.0);
    }
}

/// The addresses of a host; one that is an address already is its own. The caller bounds the time.
pub async fn resolve(host: &str) -> Answer {
    match host.parse::<IpAddr>() {
        Ok(ip) => Ok(vec![ip]),
        Err(_) => look_up(host, ask).await,
    }
}

/// Whether somebody waits for this name now.
pub fn is_asked_for(host: &str) -> bool {
    under_way().contains_key(host)
}

fn ask(host: &str) -> Answer {
    let found = (host, 0).to_socket_addrs().map_err(|e| e.to_string())?;
    let mut addresses: Vec<IpAddr> = Vec::new();
    for ip in found.map(|address| address.ip()) {
        if addresses.len() < MAX_ADDRESSES && !addresses.contains(&ip) {
            addresses.push(ip);
        }
    }
    if addresses.is_empty() { Err("it has no address".to_owned()) } else { Ok(addresses) }
}

async fn look_up(host: &str, ask: impl FnOnce(&str) -> Answer + Send + 'static) -> Answer {
    let mut answer = {
        let mut all = under_way();
        match all.get(host) {
            Some(answer) => answer.clone(),
            None if all.len() >= LOOKUPS => {
                return Err(
                    "too many names are being looked up; do the name servers answer?".into()
                );
            }
            None => {
                let name: Arc<str> = host.into();
                let (told, answer) = watch::channel(None);
                all.insert(name.clone(), answer.clone());
                let ends = Ends(name);
                tokio::task::spawn_blocking(move || {
                    let found = ask(&ends.0);
                    // Whoever comes from here on asks anew.
                    drop(ends);
                    told.send_replace(Some(found));
                });
                answer
            }
        }
    };
    let told = answer.wait_for(Option::is_some).await;
    let told = told.ok().and_then(|told| told.clone());
    told.unwrap_or_else(|| Err("the lookup broke off".to_owned()))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_name_is_asked_for_once_however_many_want_it() {
        let (go, wait) = mpsc::channel::<()>();
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let hangs = move |_: &str| {
            count.fetch_add(1, Ordering::SeqCst);
            let _ = wait.recv();
            Ok(vec![IpAddr::from([127, 0, 0, 9])])
        };
        let never = |_: &str| -> Answer { panic!("it is being asked for") };
        let first = tokio::spawn(look_up("once.example", hangs));
        while asked.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // Who stops waiting leaves it to the others.
        let short = Duration::from_millis(5);
        assert!(tokio::time::timeout(short, look_up("once.example", never)).await.is_err());
        let second = tokio::spawn(look_up("once.example", never));
        tokio::task::yield_now().await;
        go.send(()).unwrap();
        let nine = Ok(vec![IpAddr::from([127, 0, 0, 9])]);
        assert_eq!(first.await.unwrap(), nine);
        assert_eq!(second.await.unwrap(), nine);
        let other = |_: &str| Err("gone".to_owned());
        assert_eq!(look_up("once.example", other).await, Err("gone".to_owned()), "nothing is kept");
    }

    #[tokio::test]
    async fn a_lookup_that_breaks_off_ends() {
        let broken = |_: &str| -> Answer { panic!("on purpose") };
        assert!(look_up("broken.example", broken).await.is_err());
        assert!(look_up("broken.example", |_: &str| Ok(Vec::new())).await.is_ok());
    }

    #[tokio::test]
    async fn addresses_are_not_asked_for() {
        assert_eq!(resolve("::1").await, Ok(vec![IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1])]));
        assert!(
            resolve("localhost").await.is_ok_and(|found| found.iter().all(IpAddr::is_loopback))
        );
    }
}

//! One rehearsal at a time on a server: two would use the same keys, and the one that ends first would remove the other's. It is a
//! lock as any, whose lease is renewed until the end. It must not look at the locks that are rehearsed on.

use std::time::Duration;

use tokio::task::AbortHandle;

use crate::failure::Failure;
use crate::keys::CLAIM;
use crate::lockserver::{Address, Asked};

/// The lease, in milliseconds; a drill that was killed is in the way for so long.
const LEASE: &str = "15000";
const RENEW: Duration = Duration::from_secs(3);
const RENEWAL: &str = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0";
const RELEASE: &str =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

/// The server is this rehearsal's until it leaves. Dropped without that, the lease runs out.
pub struct Claim {
    server: Address,
    token: String,
    renewer: AbortHandle,
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.renewer.abort();
    }
}

impl Claim {
    /// If no other has it.
    pub async fn take(server: &Address) -> Result<Self, Failure> {
        let token = format!("{}:{:032x}", std::process::id(), fastrand::u128(..));
        let mut asked = Asked::new(server);
        let taken: Option<String> = asked.call(&["SET", CLAIM, &token, "NX", "PX", LEASE]).await?;
        if taken.is_none() {
            return Err(Failure::new(format!(
                "the key {CLAIM} is there: another rehearsal runs on this server, or one was killed; then its lease is over in 15 s"
            )));
        }
        let own = token.clone();
        let renewing = tokio::spawn(async move {
            loop {
                tokio::time::sleep(RENEW).await;
                // The next one may go better.
                let _ = asked.call::<i64>(&["EVAL", RENEWAL, "1", CLAIM, &own, LEASE]).await;
            }
        });
        Ok(Self { server: server.clone(), token, renewer: renewing.abort_handle() })
    }

    /// Others may rehearse here now.
    pub async fn leave(self) -> Result<(), Failure> {
        self.renewer.abort();
        let words = ["EVAL", RELEASE, "1", CLAIM, &self.token];
        Asked::new(&self.server).call::<i64>(&words).await.map(|_| ())
    }
}

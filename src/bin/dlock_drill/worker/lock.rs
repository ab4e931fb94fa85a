//! What is said to the lock server about one lock. The scripts compare the token first, so that nobody's lock but the
//! worker's own is touched; only `overwrite` does not, which is the fault that it is there for.

use crate::failure::Failure;
use crate::lockserver::Kept;

const RENEW: &str = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) else return 0 end";
const RELEASE: &str = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end";

/// A lock and the length of its leases.
#[derive(Clone, Debug)]
pub struct Lock {
    /// Its key.
    pub key: String,
    /// Length of a lease in milliseconds.
    pub lease_ms: String,
}

impl Lock {
    /// With leases of so many seconds.
    pub fn new(key: &str, lease: f64) -> Self {
        Self { key: key.into(), lease_ms: format!("{}", (lease * 1000.0) as u64) }
    }

    /// Whether it could be had.
    pub fn take(&self, server: &mut Kept, token: &str) -> Result<bool, Failure> {
        let answer: Option<String> =
            server.call(&["SET", &self.key, token, "NX", "PX", &self.lease_ms])?;
        Ok(answer.is_some())
    }

    /// Whether it is still ours, and renewed.
    pub fn renew(&self, server: &mut Kept, token: &str) -> Result<bool, Failure> {
        server.call(&["EVAL", RENEW, "1", &self.key, token, &self.lease_ms])
    }

    /// Whether it was still ours, and is released.
    pub fn release(&self, server: &mut Kept, token: &str) -> Result<bool, Failure> {
        server.call(&["EVAL", RELEASE, "1", &self.key, token])
    }

    /// Writes the token over whatever is there.
    pub fn overwrite(&self, server: &mut Kept, token: &str) -> Result<(), Failure> {
        server.call(&["SET", &self.key, token, "PX", &self.lease_ms])
    }
}

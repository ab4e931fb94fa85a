//! Waiting with a condition and a deadline, and what every private process needs: a directory that nobody else can
//! read, and a password. It must not wait without a deadline.

use std::fmt::Display;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use dlock_exporter::clock;
use dlock_exporter::observe::Mono;
use tempfile::TempDir;

use crate::failure::Failure;

/// Waiting for something, with a deadline.
pub struct Waiting {
    what: &'static str,
    begun: Mono,
    most: Duration,
}

impl Waiting {
    /// From now on, for no longer than this.
    pub fn new(what: &'static str, most: Duration) -> Self {
        Self { what, begun: clock::mono(), most }
    }

    /// Lets a moment pass before the next look; an error once there was time enough.
    pub async fn on(&self) -> Result<(), Failure> {
        if clock::mono().since(self.begun) > self.most {
            let text = format!("not within {} s: {}", self.most.as_secs(), self.what);
            return Err(Failure::new(text));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        Ok(())
    }
}

/// A directory for this user alone, which goes with its owner.
pub fn private_dir() -> Result<TempDir, Failure> {
    let made = tempfile::Builder::new().prefix("dlock_drill-").tempdir();
    made.map_err(|e| at(&std::env::temp_dir(), e))
}

/// A new password.
pub fn password() -> Result<String, Failure> {
    let mut bytes = [0; 16];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut f| f.read_exact(&mut bytes));
    read.map_err(|e| at(Path::new("/dev/urandom"), e))?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}

/// What went wrong with a file.
pub fn at(path: &Path, error: impl Display) -> Failure {
    Failure::new(format!("{}: {error}", path.display()))
}

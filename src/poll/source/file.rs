//! Heartbeats and pid files from files. A file system can hang, a FIFO can wait for ever and a thread in such a read cannot
//! be stopped: each read runs on a blocking thread that keeps its lane closed, the number of such threads is bounded, and
//! who waits for one stops waiting after a second.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use rustix::fs::OFlags;
use tokio::sync::Semaphore;

use super::{failed, value};
use crate::observe::node::FailReason;
use crate::observe::worker::Beat;
use crate::poll::lane::Inside;

/// How long anybody waits for a file.
pub const DEADLINE: Duration = Duration::from_secs(1);
/// Bytes of a heartbeat or pid file that count.
pub const MAX_BYTES: u64 = 512;
/// Longest password or token.
pub const MAX_SECRET: u64 = 16 << 10;
/// Threads that may hang in file systems.
pub const HUNG: usize = 64;
static THREADS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(HUNG)));

/// A file that gave nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileFailed {
    /// It is not there.
    Absent(String),
    /// It could not be read.
    Unreadable {
        /// Why.
        reason: FailReason,
        /// What exactly.
        detail: String,
    },
}

/// The heartbeat that a file gives.
pub async fn beat(path: PathBuf, content: bool, inside: Inside) -> Beat {
    let read = bounded(
        path,
        inside,
        move |path| {
            if content { head(path, MAX_BYTES) } else { modified(path) }
        },
    );
    match read.await {
        Ok(bytes) => value::plain(&bytes),
        Err(FileFailed::Absent(_)) => Beat::None,
        Err(FileFailed::Unreadable { reason, detail }) => failed(reason, detail),
    }
}

/// The first `cap` bytes of a regular file.
pub async fn content(path: PathBuf, cap: u64, inside: Inside) -> Result<Vec<u8>, FileFailed> {
    bounded(path, inside, move |path| head(path, cap)).await
}

/// The same, and when the file was last written: seconds since the epoch on the clock of its file system.
pub async fn dated(path: PathBuf, cap: u64, inside: Inside) -> Result<(Vec<u8>, f64), FileFailed> {
    let read = move |path: &Path| {
        let meta = fs::metadata(path)?;
        Ok((head(path, cap)?, meta.mtime() as f64 + meta.mtime_nsec() as f64 / 1e9))
    };
    bounded(path, inside, read).await
}

async fn bounded<F, T>(path: PathBuf, inside: Inside, read: F) -> Result<T, FileFailed>
where
    F: FnOnce(&Path) -> io::Result<T> + Send + 'static,
    T: Send + 'static,
{
    let shown = path.display().to_string();
    let work = async {
        let permit = Arc::clone(&THREADS).acquire_owned().await;
        let done = tokio::task::spawn_blocking(move || {
            let result = read(&path);
            drop((permit, inside));
            result
        });
        done.await.unwrap_or_else(|e| Err(io::Error::other(e)))
    };
    match tokio::time::timeout(DEADLINE, work).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(e)) => Err(classify(&shown, &e)),
        Err(_) => Err(FileFailed::Unreadable {
            reason: FailReason::Timeout,
            detail: format!("{shown}: no answer in 1 s; is its file system hung?"),
        }),
    }
}

fn classify(shown: &str, e: &io::Error) -> FileFailed {
    let detail = format!("{shown}: {e}");
    let reason = match e.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            return FileFailed::Absent(detail);
        }
        io::ErrorKind::PermissionDenied => FailReason::Permission,
        io::ErrorKind::TimedOut => FailReason::Timeout,
        _ => FailReason::Other,
    };
    FileFailed::Unreadable { reason, detail }
}

fn modified(path: &Path) -> io::Result<Vec<u8>> {
    let meta = fs::metadata(path)?;
    let nanos = i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec());
    Ok(nanos.to_be_bytes().to_vec())
}

fn head(path: &Path, cap: u64) -> io::Result<Vec<u8>> {
    // Non-blocking, so that a FIFO without a writer is opened, seen and refused instead of waited for.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file: File = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(cap).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The first number in a pid file that can be a pid.
pub fn first_number(bytes: &[u8]) -> Option<i32> {
    let digits = bytes.split(|b| !b.is_ascii_digit()).find(|d| !d.is_empty())?;
    std::str::from_utf8(digits).ok()?.parse().ok().filter(|pid| *pid > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use crate::poll::lane::{Entry, Lane};
    use std::os::unix::fs::PermissionsExt;

    fn inside(lane: &Lane) -> Inside {
        match lane.enter(clock::mono(), DEADLINE) {
            Entry::Free(inside) => inside,
            other => panic!("{other:?}"),
        }
    }

    async fn look(path: &Path, content: bool) -> Beat {
        beat(path.to_owned(), content, inside(&Lane::default())).await
    }

    #[tokio::test]
    async fn changes_advance_and_absence_is_no_beat() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("beat");
        assert_eq!(look(&path, false).await, Beat::None);
        assert_eq!(look(&path.join("below"), true).await, Beat::None);
        fs::write(&path, "1").unwrap();
        let (time, text) = (look(&path, false).await, look(&path, true).await);
        assert!(matches!(time, Beat::Value { expires: false, .. }));
        assert_eq!(text, value::plain(b"1"));
        let file = File::options().write(true).open(&path).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + Duration::from_nanos(5)).unwrap();
        assert_ne!(look(&path, false).await, time);
        assert_eq!(look(&path, true).await, text);
        fs::write(&path, "2").unwrap();
        assert_ne!(look(&path, true).await, text);
    }

    #[tokio::test]
    async fn what_is_no_regular_file_has_no_content() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        for path in [fifo.as_path(), dir.path()] {
            let Beat::Failed { reason, detail } = look(path, true).await else { panic!() };
            assert_eq!(reason, FailReason::Other);
            assert!(detail.contains(&path.display().to_string()) && detail.contains("regular"));
        }
    }

    #[test]
    fn errors_keep_their_meaning() {
        let denied = classify("/x", &io::Error::from(io::ErrorKind::PermissionDenied));
        assert!(matches!(denied, FileFailed::Unreadable { reason: FailReason::Permission, .. }));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        fs::write(&path, "1").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
        // Root may read it all the same.
        if let Err(e) = head(&path, 9) {
            assert_eq!(e.kind(), io::ErrorKind::PermissionDenied);
        }
    }

    #[tokio::test]
    async fn a_read_that_hangs_is_not_waited_for_and_keeps_its_lane() {
        let lane = Lane::default();
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let read = move |_: &Path| {
            let _ = wait.recv();
            Ok(vec![])
        };
        let out: Result<Vec<u8>, _> = bounded(PathBuf::from("/hung"), inside(&lane), read).await;
        assert!(matches!(out, Err(FileFailed::Unreadable { reason: FailReason::Timeout, .. })));
        assert!(!matches!(lane.enter(clock::mono(), DEADLINE), Entry::Free(_)));
        go.send(()).unwrap();
        let until = clock::mono().plus(Duration::from_secs(5));
        while !matches!(lane.enter(clock::mono(), DEADLINE), Entry::Free(_)) {
            assert!(clock::mono() < until);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    #[test]
    fn pids_are_first_numbers() {
        assert_eq!(first_number(b"4711\n"), Some(4711));
        assert_eq!(first_number(b"pid: 17 18"), Some(17));
        for text in [&b""[..], b"none", b"0", b"99999999999999", b"\xff"] {
            assert_eq!(first_number(text), None, "{text:?}");
        }
    }
}

//! Why numbers of a cgroup are absent, in words: gathered over one cgroup, each reason once with all that it costs,
//! bounded. The words are the same as long as the reasons are.

use super::file::{self, Fault};
use super::locate::{Levels, Place};
use crate::observe::cgroup::Reading;
use crate::observe::label;
use crate::observe::stall::HostUnknown;

/// Longest text, in bytes.
const MAX_BYTES: usize = 2048;

/// What could not be read, by reason.
#[derive(Debug, Default)]
pub struct Notes(Vec<(String, Vec<&'static str>)>);

impl Notes {
    /// Takes the reason out of a failed reading, and keeps its words.
    pub fn keep<T>(&mut self, name: &'static str, result: Result<T, Fault>) -> Reading<T> {
        result.map_err(|fault| {
            self.add(name, fault.what);
            fault.why
        })
    }

    /// Words without a failed reading.
    pub fn add(&mut self, name: &'static str, what: String) {
        match self.0.iter_mut().find(|(known, _)| *known == what) {
            Some((_, names)) => names.push(name),
            None => self.0.push((what, vec![name])),
        }
    }

    /// All of it.
    pub fn text(&self) -> String {
        let parts = self.0.iter().map(|(what, names)| format!("{}: {what}", names.join(", ")));
        bounded(parts.collect::<Vec<_>>().join("; "))
    }
}

/// Cut where it is too long.
pub fn bounded(mut text: String) -> String {
    if text.len() > MAX_BYTES {
        let end = (0..=MAX_BYTES).rev().find(|n| text.is_char_boundary(*n)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}

/// Why nothing is known of a place with this path that is no directory of ours.
pub fn elsewhere(place: &Place, path: &[u8]) -> Fault {
    let path = label::text(path);
    match place {
        Place::Foreign => Fault::new(
            HostUnknown::Hidden,
            format!(
                "cgroup {path} is outside the cgroup namespace of the exporter; run it in the host's \
                 (docker run --cgroupns=host)"
            ),
        ),
        Place::Unmounted => Fault::new(
            HostUnknown::Hidden,
            format!(
                "cgroup {path} is not in any tree that is mounted here; mount the host's \
                 /sys/fs/cgroup and name it by --path.cgroupfs"
            ),
        ),
        Place::Removed => Fault::new(HostUnknown::Gone, format!("cgroup {path} was removed")),
        Place::Root | Place::In(_) => Fault::new(
            HostUnknown::Unsupported,
            "the process is in the root cgroup, whose numbers are the whole host's; give it one of \
             its own",
        ),
    }
}

/// Why limits may be above what is seen of a tree.
pub fn above(levels: &Levels) -> Fault {
    let dir = file::shown(&levels.dir);
    Fault::new(
        HostUnknown::Hidden,
        format!(
            "{dir}: the cgroups above it cannot be seen from here and may have limits; run the \
             exporter in the host's cgroup namespace with the whole /sys/fs/cgroup"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_reason_is_told_once_and_length_is_bounded() {
        let mut notes = Notes::default();
        assert_eq!(notes.text(), "");
        assert_eq!(notes.keep("oom kills", Ok(3)), Ok(3));
        let off = || Err::<u64, _>(Fault::new(HostUnknown::Unsupported, "off"));
        assert_eq!(notes.keep("cpu pressure", off()), Err(HostUnknown::Unsupported));
        assert_eq!(notes.keep("io pressure", off()), Err(HostUnknown::Unsupported));
        notes.add("throttling", "above".to_owned());
        assert_eq!(notes.text(), "cpu pressure, io pressure: off; throttling: above");
        notes.add("x", "ü".repeat(5000));
        assert!(notes.text().len() <= MAX_BYTES + '…'.len_utf8());
    }
}

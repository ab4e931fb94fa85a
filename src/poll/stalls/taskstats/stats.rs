//! The counters of `struct taskstats`, by its version. Fields were only ever added at the end, but for version 15, which
//! put some in the middle: that one is not read.

use crate::poll::netlink::{u16_at, u32_at, u64_at};

/// The version whose fields moved.
const MOVED: u16 = 15;
/// Byte offsets, from <linux/taskstats.h>.
const SLICES: usize = 16;
const WAITED: usize = 24;
const ON_CPU: usize = 72;
const INVOLUNTARY: usize = 280;
const PROCESS: usize = 368;
const LONGEST_WAIT: usize = 432;

/// Counters of a thread or sums over a process. Times in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Version of the structure.
    pub version: u16,
    /// Times that it got a CPU.
    pub slices: u64,
    /// Time runnable and waiting for a CPU.
    pub waited: u64,
    /// Time on a CPU as the scheduler counts it, which is what schedstat shows.
    pub on_cpu: u64,
    /// Involuntary context switches; threads that have ended may be missing in a process's sum.
    pub involuntary: Option<u64>,
    /// Process of a thread.
    pub process: Option<u32>,
    /// Longest wait of the thread's life; of no meaning in a process's sums.
    pub longest_wait: Option<u64>,
}

/// Why a structure cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// Shorter than its first version.
    Short,
    /// Version 15, or none.
    Version(u16),
}

impl Stats {
    /// Reads one.
    pub fn parse(bytes: &[u8]) -> Result<Self, Unusable> {
        let version = u16_at(bytes, 0).ok_or(Unusable::Short)?;
        if version == MOVED || version == 0 {
            return Err(Unusable::Version(version));
        }
        let since = |first: u16, at| (version >= first).then(|| u64_at(bytes, at)).flatten();
        Ok(Self {
            version,
            slices: u64_at(bytes, SLICES).ok_or(Unusable::Short)?,
            waited: u64_at(bytes, WAITED).ok_or(Unusable::Short)?,
            on_cpu: u64_at(bytes, ON_CPU).ok_or(Unusable::Short)?,
            involuntary: since(6, INVOLUNTARY),
            process: (version >= 12).then(|| u32_at(bytes, PROCESS)).flatten(),
            longest_wait: since(16, LONGEST_WAIT),
        })
    }
}

//! The state of a lock's signals, and how often each rose.

use super::words::Signal;

const N: usize = Signal::ALL.len();

/// Up, down or not judged, for every signal.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    now: [Option<bool>; N],
    /// The last judged value: not being judged for a while is no fall, so coming back is no rise.
    judged: [bool; N],
    rises: [u64; N],
}

/// How a signal changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It rose.
    Rose,
    /// It fell.
    Fell,
}

impl Signals {
    /// Sets a signal and tells whether it rose or fell.
    pub fn set(&mut self, signal: Signal, value: Option<bool>) -> Option<Change> {
        let i = signal as usize;
        #[cfg(feature = "sabotage")]
        let value = value.map(|up| up && !super::sabotage::is_off(signal));
        self.now[i] = value;
        let value = value?;
        let before = std::mem::replace(&mut self.judged[i], value);
        match (before, value) {
            (false, true) => {
                self.rises[i] += 1;
                Some(Change::Rose)
            }
            (true, false) => Some(Change::Fell),
            _ => None,
        }
    }

    /// Shows a signal as down while there is nothing to judge, without that it fell: to be up again after that is no rise.
    pub fn rest(&mut self, signal: Signal) {
        self.now[signal as usize] = Some(false);
    }

    /// Up, down, or `None` when not judged.
    pub fn get(&self, signal: Signal) -> Option<bool> {
        self.now[signal as usize]
    }

    /// Whether all are down or not judged.
    pub fn none_is_up(&self) -> bool {
        !self.now.contains(&Some(true))
    }

    /// Whether it is up.
    pub fn is_up(&self, signal: Signal) -> bool {
        self.get(signal) == Some(true)
    }

    /// How often it rose.
    pub fn rises(&self, signal: Signal) -> u64 {
        self.rises[signal as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_in_judgement_is_neither_a_fall_nor_a_rise() {
        let mut s = Signals::default();
        assert_eq!(s.set(Signal::HolderStale, Some(true)), Some(Change::Rose));
        assert_eq!(s.set(Signal::HolderStale, None), None);
        assert_eq!(s.set(Signal::HolderStale, Some(true)), None);
        assert_eq!(s.rises(Signal::HolderStale), 1);
        s.rest(Signal::HolderStale);
        assert_eq!(s.get(Signal::HolderStale), Some(false));
        assert_eq!(s.set(Signal::HolderStale, Some(true)), None);
        assert_eq!(s.rises(Signal::HolderStale), 1);
        assert_eq!(s.set(Signal::HolderStale, Some(false)), Some(Change::Fell));
    }
}

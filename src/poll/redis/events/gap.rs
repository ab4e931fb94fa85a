//! The time in which a change may have gone unheard: from the last proof that the feed was whole until it is so again. Pure.

use std::time::Duration;

use crate::observe::Mono;

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gap {
    /// All until then was heard, or told of as unheard.
    until: Option<Mono>,
}

impl Gap {
    /// All until this instant was heard.
    pub fn heard(&mut self, until: Mono) {
        self.until = Some(until);
    }

    /// Nothing is heard from here on, if it was not so before.
    pub fn begin(&mut self, at: Mono) {
        self.until.get_or_insert(at);
    }

    /// What was not told yet of the time up to `now`.
    pub fn take(&mut self, now: Mono) -> Duration {
        self.until.as_mut().map_or(Duration::ZERO, |until| {
            let gap = now.since(*until);
            *until = (*until).max(now);
            gap
        })
    }

    /// There is no feed any more that could have a gap.
    pub fn close(&mut self) {
        self.until = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_between_two_proofs_of_life_is_told_once() {
        let at = Mono::from_secs_f64;
        let mut gap = Gap::default();
        assert_eq!(gap.take(at(9.0)), Duration::ZERO, "it never was");
        gap.heard(at(10.0));
        gap.begin(at(12.0));
        assert_eq!(gap.take(at(12.5)), Duration::from_millis(2500), "nobody knows since when");
        assert_eq!(gap.take(at(13.0)), Duration::from_millis(500));
        assert_eq!(gap.take(at(13.0)), Duration::ZERO);
        gap.close();
        assert_eq!(gap.take(at(99.0)), Duration::ZERO);
    }
}

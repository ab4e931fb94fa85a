//! When something happened that a server tells the age of in whole seconds.

use std::time::Duration;

use crate::observe::{Mono, Span};

/// A server takes the difference of two clocks of whole seconds, which it reads ten times a second.
const COARSE: Duration = Duration::from_millis(1200);

/// Two instants between which something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Not before.
    pub from: Mono,
    /// Not after.
    pub until: Mono,
}

impl Window {
    /// So many whole seconds before an answer.
    pub fn ago(answer: Span, seconds: u64) -> Self {
        let ago = Duration::from_secs(seconds);
        let from = answer.sent.minus(ago.saturating_add(COARSE));
        let until = answer.done.minus(ago).plus(COARSE).min(answer.done);
        Self { from, until }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_seconds_are_a_window() {
        let at = Mono::from_secs_f64;
        let answer = Span { sent: at(100.0), done: at(100.1) };
        assert_eq!(Window::ago(answer, 10), Window { from: at(88.8), until: at(91.3) });
        assert_eq!(Window::ago(answer, 0).until, at(100.1), "not after the answer");
        assert_eq!(Window::ago(answer, u64::MAX).from, Mono(0));
    }
}

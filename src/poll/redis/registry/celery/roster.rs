//! Who was heard of late. A worker is there for two of its own beats after its last one, as Celery itself counts; what was
//! heard before the connection broke does not count after it. Knows no connection.

use std::collections::HashMap;
use std::time::Duration;

use super::event::Event;
use crate::observe::Mono;

/// Workers that are remembered at most.
pub const MOST: usize = 10_000;
/// How often a worker beats unless it says otherwise.
const USUAL: Duration = Duration::from_secs(2);
/// What a beat may be late.
const SLACK: Duration = Duration::from_secs(1);

/// Workers by name.
#[derive(Debug, Default)]
pub struct Roster {
    /// When each was last heard, and how often it beats.
    heard: HashMap<String, (Mono, Duration)>,
    /// Since when all that is published is heard.
    since: Option<Mono>,
    /// The longest time between two beats of anybody that was heard so far, also before the connection broke.
    longest: Duration,
    /// There were more than are remembered.
    is_full: bool,
}

impl Roster {
    /// From now on all that is published is heard.
    pub fn begin(&mut self, now: Mono) {
        self.heard.clear();
        self.is_full = false;
        self.since = Some(now);
    }

    /// A worker was heard.
    pub fn hear(&mut self, event: Event, now: Mono) {
        self.longest = self.longest.max(event.every);
        if event.leaves {
            self.heard.remove(&event.name);
        } else if self.heard.len() < MOST || self.heard.contains_key(&event.name) {
            self.heard.insert(event.name, (now, event.every));
        } else {
            self.is_full = true;
        }
    }

    /// How long we must still listen before an absence means something: as long as the slowest worker may be silent.
    pub fn unripe(&self, now: Mono) -> Option<Duration> {
        let needed = window(self.longest.max(USUAL));
        let listened = now.since(self.since?);
        needed.checked_sub(listened).filter(|left| !left.is_zero())
    }

    /// Who is there, or `None` if there were too many. `asked` is from when on nothing is known.
    pub fn there(&mut self, asked: Mono) -> Option<impl Iterator<Item = &str>> {
        self.heard.retain(|_, (at, every)| asked.since(*at) <= window(*every));
        // Those who were turned away may have gone too; they show themselves again if not.
        let is_full = std::mem::take(&mut self.is_full);
        (!is_full).then(|| self.heard.keys().map(String::as_str))
    }
}

fn window(every: Duration) -> Duration {
    every * 2 + SLACK
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f64) -> Mono {
        Mono::from_secs_f64(1000.0 + seconds)
    }

    fn event(name: &str, every: f64) -> Event {
        Event { name: name.into(), every: Duration::from_secs_f64(every), leaves: false }
    }

    fn there(roster: &mut Roster, seconds: f64) -> Vec<String> {
        let mut names: Vec<_> = roster.there(at(seconds)).unwrap().map(str::to_owned).collect();
        names.sort();
        names
    }

    #[test]
    fn a_worker_is_there_for_two_beats_of_its_own() {
        let mut roster = Roster::default();
        roster.begin(at(0.0));
        roster.hear(event("fast", 2.0), at(1.0));
        roster.hear(event("slow", 20.0), at(1.0));
        assert_eq!(there(&mut roster, 6.0), ["fast", "slow"]);
        assert_eq!(there(&mut roster, 6.1), ["slow"]);
        assert_eq!(there(&mut roster, 42.0), ["slow"]);
        assert_eq!(there(&mut roster, 42.1), [] as [&str; 0]);
        roster.hear(event("fast", 2.0), at(50.0));
        roster.hear(Event { leaves: true, ..event("fast", 2.0) }, at(50.5));
        assert_eq!(there(&mut roster, 50.6), [] as [&str; 0]);
    }

    #[test]
    fn after_a_gap_nobody_is_missing_before_the_slowest_could_have_beaten() {
        let mut roster = Roster::default();
        assert_eq!(roster.unripe(at(0.0)), None, "it does not listen");
        roster.begin(at(0.0));
        assert_eq!(roster.unripe(at(1.0)), Some(Duration::from_secs(4)));
        assert_eq!(roster.unripe(at(5.0)), None);
        roster.hear(event("slow", 20.0), at(1.0));
        roster.begin(at(100.0));
        assert_eq!(there(&mut roster, 100.0), [] as [&str; 0], "what was before a gap is over");
        assert_eq!(roster.unripe(at(140.0)), Some(Duration::from_secs(1)));
        assert_eq!(roster.unripe(at(141.0)), None);
    }

    #[test]
    fn too_many_are_not_told_in_part() {
        let mut roster = Roster::default();
        roster.begin(at(0.0));
        for n in 0..=MOST {
            roster.hear(event(&n.to_string(), 2.0), at(1.0));
        }
        assert!(roster.there(at(2.0)).is_none());
        roster.hear(event("0", 2.0), at(3.0));
        assert_eq!(there(&mut roster, 8.0), ["0"]);
    }
}

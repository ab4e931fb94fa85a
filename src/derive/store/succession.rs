//! What of the replication history a new primary kept, and how much the old one had written beyond: by offsets alone.
//! Which node is the primary is not decided here.

use std::sync::Arc;

use crate::derive::ends::Cut;
use crate::observe::{NodeFacts, Role};

/// A history that a primary writes, as far as was seen.
#[derive(Clone, Debug)]
struct History {
    addr: Arc<str>,
    replid: String,
    offset: u64,
}

/// The primaries' histories, one after another.
#[derive(Clone, Debug, Default)]
pub struct Succession {
    now: Option<History>,
    /// The one before, with the offset up to which it is counted.
    before: Option<History>,
    /// What the present primary has of the one before.
    pub cut: Cut,
    /// Bytes of earlier histories that the primary after them did not have.
    pub lost_bytes: u64,
}

impl Succession {
    /// Takes an offset of the judged primary.
    pub fn wrote(&mut self, addr: &Arc<str>, offset: Option<u64>) {
        if let (Some(now), Some(offset)) = (&mut self.now, offset)
            && now.addr == *addr
        {
            now.offset = now.offset.max(offset);
        }
    }

    /// Takes facts of the judged primary.
    pub fn led_by(&mut self, facts: &NodeFacts) {
        let (Role::Master, Some(replid)) = (facts.role, &facts.replid) else { return };
        let offset = facts.offset.unwrap_or(0);
        match &mut self.now {
            Some(now) if now.replid == *replid => {
                now.offset = now.offset.max(offset);
                now.addr = facts.node.addr.clone();
            }
            _ => {
                let now = History { addr: facts.node.addr.clone(), replid: replid.clone(), offset };
                let Some(old) = self.now.replace(now) else { return };
                self.succeed(old, facts);
            }
        }
    }

    fn succeed(&mut self, old: History, facts: &NodeFacts) {
        let is_kin = facts.replid2.as_ref() == Some(&old.replid);
        self.cut = match facts.second_offset {
            Some(second) if is_kin => Cut::At(second.saturating_sub(1)),
            // Another history that goes back to nothing: it began empty, unless its log was replayed or a dump loaded.
            None if facts.replid2.is_none()
                && facts.aof == Some(false)
                && facts.loaded_keys == Some(0) =>
            {
                Cut::All
            }
            _ => Cut::Unknown,
        };
        self.before = None;
        if let Cut::At(kept) = self.cut {
            self.lost_bytes += old.offset.saturating_sub(kept);
            self.before = Some(History { offset: old.offset.max(kept), ..old });
        }
    }

    /// Takes facts of another node: the old primary may be back, and may have gone on.
    pub fn other(&mut self, facts: &NodeFacts) {
        let Some(before) = self.before.as_mut().filter(|b| b.addr == facts.node.addr) else {
            return;
        };
        if facts.role != Role::Master || facts.replid.as_ref() != Some(&before.replid) {
            return;
        }
        let offset = facts.offset.unwrap_or(0);
        self.lost_bytes += offset.saturating_sub(before.offset);
        before.offset = before.offset.max(offset);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::derive::tests::sim;

    /// Replid, replid2 with its offset, offset.
    type Told<'a> = (&'a str, &'a str, Option<(&'a str, u64)>, u64);

    fn facts((addr, replid, second, offset): Told<'_>) -> NodeFacts {
        let mut facts = sim::Sim::new(1_000, None, sim::rules()).node_facts();
        facts.node.addr = addr.into();
        facts.role = Role::Master;
        facts.replid = Some(replid.into());
        facts.replid2 = second.map(|(id, _)| id.into());
        facts.second_offset = second.map(|(_, at)| at);
        facts.offset = Some(offset);
        facts.aof = Some(false);
        facts
    }

    fn after(led: &[Told<'_>]) -> Succession {
        let mut s = Succession::default();
        led.iter().for_each(|told| s.led_by(&facts(*told)));
        s
    }

    #[test]
    fn what_a_new_primary_has_of_the_old_ones_stream() {
        let old = ("x", "one", None, 188);
        let cases = [
            (
                "it stopped short",
                vec![old, ("y", "two", Some(("one", 121)), 130)],
                Cut::At(120),
                68,
            ),
            ("it had all", vec![old, ("y", "two", Some(("one", 189)), 200)], Cut::At(188), 0),
            (
                "it had more than we saw",
                vec![old, ("y", "two", Some(("one", 300)), 300)],
                Cut::At(299),
                0,
            ),
            (
                "of another history",
                vec![old, ("y", "two", Some(("else", 121)), 130)],
                Cut::Unknown,
                0,
            ),
            ("empty", vec![old, ("x", "two", None, 0)], Cut::All, 0),
            ("nothing changed", vec![old, ("x", "one", None, 190)], Cut::Unknown, 0),
        ];
        for (name, led, cut, lost) in cases {
            let s = after(&led);
            assert_eq!((s.cut, s.lost_bytes), (cut, lost), "{name}");
        }
    }

    #[test]
    fn a_restart_that_kept_anything_may_have_kept_all() {
        for (aof, loaded, cut) in [
            (Some(false), Some(0), Cut::All),
            (Some(false), Some(3), Cut::Unknown),
            (Some(false), None, Cut::Unknown),
            (Some(true), Some(0), Cut::Unknown),
        ] {
            let mut s = after(&[("x", "one", None, 188)]);
            let back = facts(("x", "two", None, 0));
            s.led_by(&NodeFacts { aof, loaded_keys: loaded, ..back });
            assert_eq!(s.cut, cut, "{aof:?} {loaded:?}");
        }
    }

    #[test]
    fn what_the_old_primary_writes_after_its_return_is_lost_too() {
        let mut s = after(&[("x", "one", None, 188), ("y", "two", Some(("one", 121)), 130)]);
        s.other(&facts(("x", "one", None, 250)));
        s.other(&facts(("x", "one", None, 250)));
        assert_eq!(s.lost_bytes, 250 - 120);
        s.other(&facts(("x", "two", None, 900)));
        s.other(&facts(("z", "one", None, 900)));
        assert_eq!(s.lost_bytes, 250 - 120);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        /// However far the old primary was last seen, a successor that had all of it lost nothing.
        #[test]
        fn a_healthy_succession_loses_nothing(steps in proptest::collection::vec((0..1_000_u64, 0..50_u64), 1..20)) {
            let mut s = Succession::default();
            let mut offset = 1;
            let mut before: Option<String> = None;
            for (k, (wrote, unseen)) in steps.iter().enumerate() {
                let replid = format!("id{k}");
                let second = before.as_deref().map(|b| (b, offset + 1));
                s.led_by(&facts((["x", "y"][k % 2], &replid, second, offset)));
                offset += wrote;
                s.wrote(&["x", "y"][k % 2].into(), Some(offset));
                offset += unseen;
                before = Some(replid);
            }
            prop_assert_eq!(s.lost_bytes, 0);
        }
    }
}

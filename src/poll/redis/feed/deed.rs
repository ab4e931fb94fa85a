//! What the events between two ordered reads prove of a change of owner. A write with nothing that removed the key before
//! it overwrote the lock; anything that is not known proves nothing. Judges no values: whoever reads them does.

/// What an event did to the key that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// It may have brought another owner.
    Wrote,
    /// The key was gone after it.
    Removed,
    /// It changed no owner.
    Nothing,
    /// An event that is not known here.
    Unknown,
}

/// Reads the name of a keyspace event.
pub fn deed(event: &[u8]) -> Deed {
    match event {
        b"set" | b"hset" | b"hincrby" | b"rename_to" | b"restore" | b"copy_to" => Deed::Wrote,
        b"del" | b"expired" | b"evicted" | b"rename_from" => Deed::Removed,
        b"expire" | b"persist" | b"new" => Deed::Nothing,
        _ => Deed::Unknown,
    }
}

/// The events of one key since its last ordered read; bounded, as only what they add up to is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deeds {
    wrote: bool,
    removed: bool,
    doubtful: bool,
}

impl Deeds {
    /// One event more.
    pub fn add(&mut self, deed: Deed) {
        match deed {
            Deed::Wrote => self.wrote = true,
            Deed::Removed => self.removed = true,
            Deed::Nothing => {}
            Deed::Unknown => self.doubtful = true,
        }
    }

    /// The feed was interrupted, or the store flushed, or its databases swapped.
    pub fn doubt(&mut self) {
        self.doubtful = true;
    }

    /// Whether a change of owner between the two reads was an overwrite.
    pub fn prove_overwrite(self) -> bool {
        self.wrote && !self.removed && !self.doubtful
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overwritten(events: &[&str]) -> bool {
        let mut deeds = Deeds::default();
        events.iter().for_each(|e| deeds.add(deed(e.as_bytes())));
        deeds.prove_overwrite()
    }

    #[test]
    fn only_a_write_with_no_removal_overwrites() {
        for events in [&["set", "expire"][..], &["expire", "hset"], &["rename_to"], &["restore"]] {
            assert!(overwritten(events), "{events:?}");
        }
        for events in [
            &["del", "set"][..],
            &["expired", "set"],
            &["evicted", "set"],
            &["set", "del"],
            &["expire"],
            &[],
        ] {
            assert!(!overwritten(events), "{events:?}");
        }
    }

    #[test]
    fn doubt_proves_nothing() {
        assert!(!overwritten(&["set", "module-event"]));
        let mut deeds = Deeds::default();
        deeds.add(Deed::Wrote);
        deeds.doubt();
        assert!(!deeds.prove_overwrite());
    }
}

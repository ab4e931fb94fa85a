//! What a keyspace event did to the key that it names, as far as that matters to whether another owner wrote over a
//! lock, or the server evicted it.

use crate::observe::feed::Deed;

/// Reads the name of a keyspace event; `None` if it changed no owner.
pub fn deed(event: &[u8]) -> Option<Deed> {
    match event {
        b"set" | b"hset" | b"hincrby" | b"rename_to" | b"restore" | b"copy_to" | b"move_to" => {
            Some(Deed::Wrote)
        }
        b"del" | b"expired" | b"rename_from" | b"move_from" => Some(Deed::Removed),
        b"evicted" => Some(Deed::Evicted),
        // The last two come with the event of the command that did it.
        b"expire" | b"persist" | b"new" | b"overwritten" | b"type_changed" => None,
        _ => Some(Deed::Unknown),
    }
}

/// Which classes of events a server sends, by its `notify-keyspace-events`: whether any of a key, and whether all that could
/// remove or write one.
pub fn sends(classes: &[u8]) -> (bool, bool) {
    let has = |class: &u8| classes.contains(class);
    let all = has(&b'A') || [b'g', b'$', b'x', b'e'].iter().all(has);
    let any = classes.iter().any(|c| !matches!(c, b'K' | b'E'));
    (has(&b'K') && any, has(&b'K') && all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_told_by_what_they_did() {
        for (event, expected) in [
            ("set", Some(Deed::Wrote)),
            ("hincrby", Some(Deed::Wrote)),
            ("del", Some(Deed::Removed)),
            ("expired", Some(Deed::Removed)),
            ("evicted", Some(Deed::Evicted)),
            ("expire", None),
            ("overwritten", None),
            ("module-event", Some(Deed::Unknown)),
            ("", Some(Deed::Unknown)),
        ] {
            assert_eq!(deed(event.as_bytes()), expected, "{event}");
        }
    }

    #[test]
    fn only_events_of_keys_are_heard_and_only_all_prove() {
        for (classes, expected) in [
            ("", (false, false)),
            ("AE", (false, false)),
            ("K", (false, false)),
            ("AK", (true, true)),
            ("AKE", (true, true)),
            ("g$xeK", (true, true)),
            ("xK", (true, false)),
            ("g$xK", (true, false)),
        ] {
            assert_eq!(sends(classes.as_bytes()), expected, "{classes}");
        }
    }
}

//! The prefixes that cover all watched keys and patterns, none of them a prefix of another: the server refuses
//! `CLIENT TRACKING ON BCAST` with prefixes that overlap. Must stay bounded: the server walks them for each write.

/// Most prefixes that are asked for; beyond, shorter ones cover more than is needed.
pub const MOST: usize = 256;

/// What a pattern's keys all begin with: the text before its first wildcard.
pub fn literal(pattern: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(pattern.len());
    let mut rest = pattern.iter();
    while let Some(byte) = rest.next() {
        match byte {
            b'*' | b'?' | b'[' => break,
            // A backslash at the very end stands for itself.
            b'\\' => text.push(rest.next().copied().unwrap_or(b'\\')),
            byte => text.push(*byte),
        }
    }
    text
}

/// Reduces them. A single empty prefix means every key of the server.
pub fn reduce(mut prefixes: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let mut length = prefixes.iter().map(Vec::len).max().unwrap_or(0);
    loop {
        prefixes.sort_unstable();
        // Sorted, whatever begins with a prefix comes right behind it.
        prefixes.dedup_by(|later, kept| later.starts_with(kept));
        if prefixes.len() <= MOST {
            return prefixes;
        }
        length = length.saturating_sub(1);
        for prefix in &mut prefixes {
            prefix.truncate(length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reduced(prefixes: &[&str]) -> Vec<String> {
        let all = prefixes.iter().map(|p| p.as_bytes().to_vec()).collect();
        reduce(all).into_iter().map(|p| String::from_utf8(p).unwrap()).collect()
    }

    #[test]
    fn a_pattern_is_literal_up_to_its_first_wildcard() {
        for (pattern, text) in [
            ("lock:*", "lock:"),
            ("a?b", "a"),
            ("x[12]", "x"),
            (r"a\*b*", "a*b"),
            ("*", ""),
            (r"a\", r"a\"),
        ] {
            assert_eq!(literal(pattern.as_bytes()), text.as_bytes(), "{pattern}");
        }
    }

    #[test]
    fn none_overlaps_another() {
        assert_eq!(reduced(&["lock:x", "lock:", "lock:", "job", "jobs", "lo"]), ["job", "lo"]);
        assert_eq!(reduced(&["a", "ab", "b", ""]), [""]);
        assert!(reduced(&[]).is_empty());
    }

    #[test]
    fn too_many_are_covered_by_shorter_ones() {
        let keys: Vec<Vec<u8>> = (0..10_000).map(|i| format!("lock:{i:05}").into_bytes()).collect();
        let found = reduce(keys.clone());
        assert!(found.len() <= MOST && found.len() > 1, "{}", found.len());
        assert!(keys.iter().all(|k| found.iter().filter(|p| k.starts_with(p)).count() == 1));
    }
}

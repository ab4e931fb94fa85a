//! Writes requests. Sweep requests are packed once and sent many times, so packing only has to be right.

/// Appends one command.
pub fn command<A: AsRef<[u8]>>(out: &mut Vec<u8>, args: &[A]) {
    header(out, b'*', args.len());
    for arg in args {
        argument(out, arg.as_ref());
    }
}

/// Appends a command whose fixed words are followed by many keys.
pub fn command_over<'a>(
    out: &mut Vec<u8>,
    name: &str,
    count: usize,
    keys: impl Iterator<Item = &'a [u8]>,
) {
    header(out, b'*', count + 1);
    argument(out, name.as_bytes());
    keys.for_each(|k| argument(out, k));
}

fn argument(out: &mut Vec<u8>, arg: &[u8]) {
    header(out, b'$', arg.len());
    out.extend_from_slice(arg);
    out.extend_from_slice(b"\r\n");
}

fn header(out: &mut Vec<u8>, kind: u8, n: usize) {
    out.push(kind);
    out.extend_from_slice(n.to_string().as_bytes());
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    #[test]
    fn packs_as_redis_rs_does() {
        let mut ours = Vec::new();
        super::command(&mut ours, &[b"MGET".as_slice(), b"a\r\nb", b""]);
        let theirs = redis::cmd("MGET").arg(b"a\r\nb").arg(b"").get_packed_command();
        assert_eq!(ours, theirs);
        let mut over = Vec::new();
        super::command_over(&mut over, "MGET", 2, [b"a\r\nb".as_slice(), b""].into_iter());
        assert_eq!(over, theirs);
    }
}

//! The reply to `ROLE`. Pure.

use super::codec::{Item, Walk};
use crate::observe::Role;

/// A node's role and its replication offset, from the next element of a reply. The element is passed over whole.
pub fn read(walk: &mut Walk<'_>) -> Option<(Role, Option<u64>)> {
    let mut inner = walk.clone();
    walk.skip()?;
    let known = match inner.next()? {
        Item::Many(_) => parse(&mut inner),
        _ => None,
    };
    Some(known.unwrap_or((Role::Unknown, None)))
}

fn parse(walk: &mut Walk<'_>) -> Option<(Role, Option<u64>)> {
    match walk.bytes()? {
        b"master" => Some((Role::Master, offset(walk.int()?))),
        b"slave" | b"replica" => {
            walk.skip()?;
            walk.skip()?;
            let linked = walk.bytes()? == b"connected";
            Some((Role::Replica { linked }, offset(walk.int()?)))
        }
        b"sentinel" => Some((Role::Sentinel, None)),
        _ => None,
    }
}

/// A replica that never synced says -1.
fn offset(n: i64) -> Option<u64> {
    u64::try_from(n).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles() {
        let role = |text: &[u8]| read(&mut Walk::new(text));
        let master =
            b"*3\r\n$6\r\nmaster\r\n:77\r\n*1\r\n*3\r\n$1\r\nh\r\n$4\r\n6380\r\n$2\r\n70\r\n";
        assert_eq!(role(master), Some((Role::Master, Some(77))));
        let replica = b"*5\r\n$5\r\nslave\r\n$1\r\nh\r\n:6379\r\n$9\r\nconnected\r\n:70\r\n";
        assert_eq!(role(replica), Some((Role::Replica { linked: true }, Some(70))));
        let apart = b"*5\r\n$5\r\nslave\r\n$1\r\nh\r\n:6379\r\n$7\r\nconnect\r\n:-1\r\n";
        assert_eq!(role(apart), Some((Role::Replica { linked: false }, None)));
        assert_eq!(role(b"*2\r\n$8\r\nsentinel\r\n*0\r\n"), Some((Role::Sentinel, None)));
        assert_eq!(role(b"-NOPERM x\r\n"), Some((Role::Unknown, None)));
        assert_eq!(role(b"*1\r\n"), None);
    }
}

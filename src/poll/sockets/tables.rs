//! The kernel's tables of sockets in one network namespace, as `/proc/PID/net` shows them.

use std::fs::File;
use std::io::{BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;

use procfs::net::{TcpNetEntries, TcpState};
use procfs::{FromBufReadSI, current_system_info};

/// Bytes of one table that are read: 150 each line.
const MAX_BYTES: u64 = 8 << 20;

/// A connected TCP socket: its inode and its ends, near and far.
pub type Tcp = (u64, SocketAddr, SocketAddr);

/// The connected TCP sockets of the namespace of a process, and whether there are more; `net` is that process's directory of
/// tables. A kernel without IPv6 has no table of it.
pub fn tcp(net: &Path) -> Result<(Vec<Tcp>, bool), String> {
    let mut found = Vec::new();
    let mut is_cut = false;
    for (name, may_miss) in [("tcp", false), ("tcp6", true)] {
        let path = net.join(name);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(_) if may_miss => continue,
            Err(e) => return Err(format!("{}: {e}", path.display())),
        };
        let mut text = Vec::new();
        let read = file.take(MAX_BYTES).read_to_end(&mut text);
        read.map_err(|e| format!("{}: {e}", path.display()))?;
        if text.len() as u64 == MAX_BYTES {
            is_cut = true;
            // The last line may be half of one.
            let end = text.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
            text.truncate(end);
        }
        found.extend(connected(&text).map_err(|e| format!("{}: {e}", path.display()))?);
    }
    Ok((found, is_cut))
}

/// The connected sockets in the text of one table.
pub fn connected(text: &[u8]) -> Result<Vec<Tcp>, String> {
    let table = TcpNetEntries::from_buf_read(BufReader::new(text), current_system_info())
        .map_err(|e| e.to_string())?;
    let connected =
        table.0.into_iter().filter(|e| e.state == TcpState::Established && e.inode != 0);
    Ok(connected.map(|e| (e.inode, plain(e.local_address), plain(e.remote_address))).collect())
}

/// An IPv4 address is the same one in a socket of either kind.
fn plain(addr: SocketAddr) -> SocketAddr {
    SocketAddr::new(addr.ip().to_canonical(), addr.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_both_tables_and_only_connected_sockets() {
        let dir = tempfile::tempdir().unwrap();
        let head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
        let line = |n, near: &str, far: &str, state, inode| {
            format!(
                "   {n}: {near} {far} {state} 00000000:00000000 00:00000000 00000000  1000        0 {inode} 1 0 20 4 30 10 -1\n"
            )
        };
        let v4 = [
            line(0, "0100007F:18EB", "00000000:0000", "0A", 11),
            line(1, "0100007F:C350", "0100007F:18EB", "01", 12),
            line(2, "0100007F:C351", "0100007F:18EB", "06", 0),
        ];
        std::fs::write(dir.path().join("tcp"), format!("{head}{}", v4.concat())).unwrap();
        let (found, is_cut) = tcp(dir.path()).unwrap();
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        assert_eq!(found, [(12, at("127.0.0.1:50000"), at("127.0.0.1:6379"))]);
        assert!(!is_cut);
        let mapped = "0000000000000000FFFF00000100007F";
        let v6 = line(0, &format!("{mapped}:C352"), &format!("{mapped}:18EB"), "01", 13);
        std::fs::write(dir.path().join("tcp6"), format!("{head}{v6}")).unwrap();
        assert_eq!(
            tcp(dir.path()).unwrap().0[1],
            (13, at("127.0.0.1:50002"), at("127.0.0.1:6379"))
        );
        std::fs::write(dir.path().join("tcp"), format!("{head}what is this\n")).unwrap();
        assert!(tcp(dir.path()).unwrap_err().contains("tcp"));
        assert!(tcp(&dir.path().join("none")).is_err());
    }
}

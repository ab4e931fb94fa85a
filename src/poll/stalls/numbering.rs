//! Whether a procfs numbers processes as the kernel does for this process. taskstats go by our own pid namespace; under
//! a procfs of another one the same number is another process.

use std::fs;
use std::path::Path;

/// Why taskstats' numbers are not those of this procfs, if they are not.
pub fn differs(procfs: &Path) -> Option<String> {
    let path = procfs.join("self/status");
    let own = std::process::id();
    match fs::read(&path) {
        Ok(text) => match own_pids(&text) {
            // One number: the namespace of the procfs is the innermost one that we are in.
            Some(pids) if pids == [own] => None,
            _ => Some(format!("{} is of another pid namespace", procfs.display())),
        },
        Err(e) => Some(format!("{}: {e}: it may be of another pid namespace", path.display())),
    }
}

/// Our pids in the namespace of the procfs and in those below; kernels without namespaces know only one.
fn own_pids(status: &[u8]) -> Option<Vec<u32>> {
    let text = String::from_utf8_lossy(status);
    let line = |key: &str| text.lines().find_map(|l| l.strip_prefix(key));
    let numbers = line("NSpid:").or_else(|| line("Pid:"))?;
    numbers.split_ascii_whitespace().map(|n| n.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_namespace_will_do() {
        assert_eq!(differs(Path::new("/proc")), None);
        let own = std::process::id();
        for (status, same) in [
            (format!("Name:\tx\nPid:\t{own}\nNSpid:\t{own}\n"), true),
            (format!("Name:\tx\nPid:\t{own}\n"), true),
            (format!("Pid:\t{own}\nNSpid:\t{own}\t7\n"), false),
            (format!("Pid:\t{}\nNSpid:\t{}\t{own}\n", own + 1, own + 1), false),
            ("Name:\tx\n".to_owned(), false),
        ] {
            let dir = tempfile::tempdir().unwrap();
            fs::create_dir(dir.path().join("self")).unwrap();
            fs::write(dir.path().join("self/status"), &status).unwrap();
            assert_eq!(differs(dir.path()).is_none(), same, "{status:?}");
        }
        let empty = tempfile::tempdir().unwrap();
        assert!(differs(empty.path()).unwrap().contains("self/status"));
    }
}

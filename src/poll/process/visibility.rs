//! Whether a procfs hides processes from us, and whether its pids are those that tokens of this host name. With hidepid,
//! a living process looks exactly like one that has gone, so this must be known before anything is called gone.

use std::fs;
use std::io;
use std::path::Path;

use super::privilege::Privilege;
use super::stat;
use crate::poll::mounts::Mounts;

/// Inode of the first UTS namespace, fixed in the kernel (`PROC_UTS_INIT_INO`).
const FIRST_UTS: &str = "uts:[4026531838]";

/// What of a procfs is hidden.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Visibility {
    hides: Option<String>,
    foreign: Option<String>,
    has_kernel: bool,
}

impl Visibility {
    /// Looks at its mount options, our rights, and pids 1 and 2.
    pub fn of(root: &Path, mounts: &Mounts) -> Self {
        let point = fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
        let options = mounts.at(&point).map(|m| m.options.as_slice()).unwrap_or_default();
        let hides = hidden_by(options, &Privilege::own())
            .map(|o| {
                format!(
                    "{} is mounted with {o}: run in the mount's gid= group or with CAP_SYS_PTRACE",
                    root.display()
                )
            })
            .or_else(|| {
                // Every pid namespace has a pid 1.
                let shown = fs::metadata(root.join("1")).is_ok();
                (!shown).then(|| {
                    format!(
                        "{}/1 is not visible: hidepid or a foreign pid namespace",
                        root.display()
                    )
                })
            });
        let kernel = kernel_starter(root);
        let foreign = foreign(root, kernel).filter(|_| hides.is_none());
        Self { hides, foreign, has_kernel: kernel == Some(true) }
    }

    /// Why a pid that is not there may be there all the same.
    pub fn hides(&self) -> Option<String> {
        self.hides.clone()
    }

    /// Whether the kernel's threads are seen, so that pid 1 is the machine's init and no worker.
    pub fn has_kernel(&self) -> bool {
        self.has_kernel
    }

    /// Why pids named by tokens of this host are not those of this procfs.
    pub fn foreign_numbering(&self) -> Option<String> {
        self.foreign.clone()
    }
}

/// The option of a proc mount that hides other users' processes from us, if any. `hidepid=1` still lists them, so that
/// what is not listed has gone.
fn hidden_by<'a>(options: &'a [String], us: &Privilege) -> Option<&'a str> {
    let value = |key: &str| options.iter().find_map(|o| o.strip_prefix(key));
    let option = options.iter().find(|o| o.starts_with("hidepid="))?;
    let gid = value("gid=").and_then(|g| g.parse().ok()).unwrap_or(0);
    let exempt = match value("hidepid=")? {
        "0" | "off" | "1" | "noaccess" => true,
        "4" | "ptraceable" => us.ptrace,
        _ => us.ptrace || us.groups.contains(&gid),
    };
    (!exempt).then_some(option)
}

/// Whether pid 2 is the kernel's thread starter, which it is in the first pid namespace and nowhere else; `None` if we
/// may not know.
fn kernel_starter(root: &Path) -> Option<bool> {
    match fs::read(root.join("2/stat")) {
        Ok(text) => Some(stat::parse(&text).is_some_and(|s| s.kernel_thread)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Some(false),
        Err(_) => None,
    }
}

/// In a container that shares only the host's name, a token that names this host has its pid in numbers we do not see.
fn foreign(root: &Path, kernel: Option<bool>) -> Option<String> {
    let hosts_name = fs::read_link("/proc/self/ns/uts").is_ok_and(|l| l.as_os_str() == FIRST_UTS);
    (kernel == Some(false) && hosts_name).then(|| {
        format!("{} is of another pid namespace than this host's name: mount the host's /proc and set --path.procfs", root.display())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidepid_in_words_and_numbers() {
        let nobody = Privilege { ptrace: false, groups: vec![65534] };
        let tracer = Privilege { ptrace: true, groups: vec![] };
        let member = Privilege { ptrace: false, groups: vec![7] };
        for (options, us, hidden) in [
            ("rw", &nobody, false),
            ("rw,hidepid=off", &nobody, false),
            ("rw,hidepid=1", &nobody, false),
            ("rw,hidepid=noaccess", &nobody, false),
            ("rw,hidepid=2", &nobody, true),
            ("rw,hidepid=invisible", &nobody, true),
            ("rw,hidepid=invisible", &tracer, false),
            ("rw,gid=7,hidepid=invisible", &member, false),
            ("rw,hidepid=invisible", &member, true),
            ("rw,gid=7,hidepid=ptraceable", &member, true),
            ("rw,hidepid=4", &tracer, false),
        ] {
            let options: Vec<String> = options.split(',').map(str::to_owned).collect();
            assert_eq!(hidden_by(&options, us).is_some(), hidden, "{options:?} {us:?}");
        }
    }
}

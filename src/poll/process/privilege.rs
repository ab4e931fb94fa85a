//! What this process may see of others, from its own `/proc/self/status`.

/// The bit of `CAP_SYS_PTRACE`.
const SYS_PTRACE: u32 = 19;

/// Groups and capabilities of this process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Privilege {
    /// `CAP_SYS_PTRACE` is in effect.
    pub ptrace: bool,
    /// Every group it acts with.
    pub groups: Vec<u32>,
}

impl Privilege {
    /// Ours; none if that cannot be read.
    pub fn own() -> Self {
        std::fs::read("/proc/self/status").map(|t| Self::parse(&t)).unwrap_or_default()
    }

    /// From the text of a status file. Bytes, because the name in it may be no UTF-8.
    pub fn parse(text: &[u8]) -> Self {
        let mut out = Self::default();
        for line in text.split(|b| *b == b'\n').filter_map(|l| std::str::from_utf8(l).ok()) {
            let Some((key, value)) = line.split_once(':') else { continue };
            let numbers = || value.split_ascii_whitespace().filter_map(|n| n.parse::<u32>().ok());
            match key {
                "CapEff" => {
                    let bits = u64::from_str_radix(value.trim(), 16).unwrap_or(0);
                    out.ptrace = bits >> SYS_PTRACE & 1 == 1;
                }
                // Real, effective, saved and file system group; the last one counts here.
                "Gid" => out.groups.extend(numbers().nth(3)),
                "Groups" => out.groups.extend(numbers()),
                _ => {}
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_capabilities_and_groups() {
        let p = Privilege::parse(
            b"Name:\ta\xff\nGid:\t5\t6\t7\t8\nGroups:\t10 11 \nCapEff:\t0000000000080000\n",
        );
        assert_eq!(p, Privilege { ptrace: true, groups: vec![8, 10, 11] });
        assert!(!Privilege::parse(b"CapEff:\t000001fffff7ffff\n").ptrace);
    }
}

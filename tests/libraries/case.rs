//! One lock of one library, and what the exporter must say of it. Only facts of the library stand here.

/// A lock that a driver takes.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Library and primitive, as the driver knows it.
    pub case: &'static str,
    /// What the lock is called in the library's own call.
    pub name: &'static str,
    /// The key that the library makes of it; the lock is found under that name. With `keys` in its entry, the name alone.
    pub key: &'static str,
    /// The format that the exporter must see in it.
    pub format: &'static str,
    /// The other formats that fit it as well, where what is in Redis does not tell them apart.
    pub also_fits: &'static [&'static str],
    /// Further keys of its entry in the config, as YAML in one line (`holder: '...', limit: 2`). Empty: it has no entry,
    /// and is found by the pattern `*`.
    pub config: &'static str,
    /// The lease that the library is told, in milliseconds; 0 for none. A lock that is not renewed needs one that outlasts
    /// the test.
    pub lease_ms: u64,
    /// Whether the library itself renews it.
    pub renews: bool,
    /// How many owners it has.
    pub holders: usize,
    /// How often each owner holds it.
    pub count: u64,
    /// How many wait for it, where that can be seen.
    pub waiters: Option<f64>,
    /// Whether the library counts fencing tokens beside it.
    pub fenced: bool,
    /// What tells that the driver holds it.
    pub named_by: NamedBy,
    /// Whether its token says when it was acquired.
    pub states_time: bool,
    /// Whether its token names the driver's process.
    pub states_pid: bool,
    /// Whether it is left to run out, so that its holder's end and a lapse prove nothing.
    pub left_to_expire: bool,
    /// Signals that it raises although nothing is wrong, since the library does what they are for.
    pub raises: &'static [&'static str],
    /// How its end is counted once the library let it go.
    pub ends: &'static str,
}

/// What tells that the driver, and not somebody else, holds a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedBy {
    /// The token, by the format itself or by a `holder` pattern, or another key of the library's.
    Itself,
    /// The store's owner index: the token is opaque.
    Index,
    /// Nothing: the library keeps no owner.
    Nobody,
}

/// Most locks: one holder with an opaque token, no entry in the config, renewed every second or so.
pub const CASE: Case = Case {
    case: "",
    name: "",
    key: "",
    format: "string",
    also_fits: &[],
    config: "",
    lease_ms: RENEWED_MS,
    renews: true,
    holders: 1,
    count: 1,
    waiters: None,
    fenced: false,
    named_by: NamedBy::Index,
    states_time: false,
    states_pid: false,
    left_to_expire: false,
    raises: &[],
    ends: "released",
};

/// A lease that the library renews, and that lapses while its process is stopped.
pub const RENEWED_MS: u64 = 2500;
/// A lease that nobody renews, and that outlasts the test.
pub const LONG_MS: u64 = 120_000;

impl Case {
    /// Whether its lease ends while its process is stopped.
    pub fn lapses(&self) -> bool {
        self.lease_ms > 0 && self.lease_ms < LONG_MS
    }

    /// Whether the end of its holder can be told, and means something.
    pub fn is_judged(&self) -> bool {
        !self.left_to_expire && self.named_by != NamedBy::Nobody
    }

    /// The state that its holder is seen in while the driver is in this one.
    pub fn state(&self, of_driver: &'static str) -> &'static str {
        if self.named_by == NamedBy::Nobody { "unknown" } else { of_driver }
    }

    /// Its entry in the config, if it has one.
    pub fn entry(&self) -> Option<String> {
        let (name, more) = (self.key, self.config);
        let key = if more.contains("keys:") { String::new() } else { format!("key: '{name}', ") };
        (!more.is_empty()).then(|| format!("{{ name: '{name}', {key}{more} }}"))
    }
}

//! The static table of every metric family this version exports: name, type, labels, tier and HELP. Nothing is
//! exported that is not here, and nothing here may differ from the published contract; tests hold both. It knows no
//! values.

pub mod clock;
pub mod exporter;
pub mod group;
pub mod host;
pub mod lock;
pub mod reference;
pub mod store;
pub mod worker;

#[cfg(test)]
mod tests;

/// Metric type. There are no others: histograms and summaries do not fit values that are read from a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Can go up and down.
    Gauge,
    /// Only grows, from 0 at the start of what counts it.
    Counter,
}

impl Kind {
    /// As the text format writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Gauge => "gauge",
            Kind::Counter => "counter",
        }
    }
}

/// Which locks and workers have the family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// All that have series at all. Families of stores, nodes and of the exporter itself are core too.
    Core,
    /// Only those configured with `series: full`.
    Full,
}

impl Tier {
    /// As the reference writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Tier::Core => "core",
            Tier::Full => "full",
        }
    }
}

/// A family with `N` labels; the number is part of the type, so that no sample can have a label too few.
#[derive(Clone, Copy, Debug)]
pub struct Family<const N: usize> {
    /// Metric name.
    pub name: &'static str,
    /// Metric type.
    pub kind: Kind,
    /// Which locks or workers have it.
    pub tier: Tier,
    /// Label names, in the order in which samples give their values.
    pub labels: [&'static str; N],
    /// What it means and where it comes from.
    pub help: &'static str,
    /// Its place among all families, in the order of the sections.
    pub slot: usize,
    /// What a line of it begins with.
    pub(super) opening: &'static str,
    /// What stands between two label values, the label's name with it; before the first one without the closing quote.
    pub(super) between: [&'static str; N],
    /// Its first two labels are `store` and `lock`.
    pub(super) is_of_lock: bool,
}

/// A [`Family`] without its type parameter, for going through all of them.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Metric name.
    pub name: &'static str,
    /// Metric type.
    pub kind: Kind,
    /// Which locks or workers have it.
    pub tier: Tier,
    /// Label names.
    pub labels: &'static [&'static str],
    /// What it means and where it comes from.
    pub help: &'static str,
    /// Its place among all families, in the order of the sections.
    pub slot: usize,
}

/// The place of the first family after those of a section.
pub(super) const fn after(section: &[Entry]) -> usize {
    match section.last() {
        Some(last) => last.slot + 1,
        None => 0,
    }
}

/// Whether the first two labels are `store` and `lock`.
pub(super) const fn is_of_lock(labels: &[&str]) -> bool {
    match labels {
        [store, lock, ..] => {
            matches!(store.as_bytes(), b"store") && matches!(lock.as_bytes(), b"lock")
        }
        _ => false,
    }
}

/// Makes one constant for each family, and the list of them.
macro_rules! families {
    ($list:ident after $before:expr;
     $($id:ident = $kind:ident $tier:ident $name:literal [$($label:literal),*] $help:literal;)+) => {
        /// Counts the families of this section.
        #[allow(non_camel_case_types, non_snake_case, clippy::upper_case_acronyms)]
        mod $list {
            pub(super) enum Place { $($id),+ }
        }

        $(
            #[doc = $help]
            pub const $id: $crate::expose::catalogue::Family<{
                const LABELS: &[&str] = &[$($label),*];
                LABELS.len()
            }> = $crate::expose::catalogue::Family {
                name: $name,
                kind: $crate::expose::catalogue::Kind::$kind,
                tier: $crate::expose::catalogue::Tier::$tier,
                labels: [$($label),*],
                help: $help,
                slot: $crate::expose::catalogue::after($before) + $list::Place::$id as usize,
                opening: concat!($name, "{"),
                between: [$(concat!("\",", $label, "=\"")),*],
                is_of_lock: $crate::expose::catalogue::is_of_lock(&[$($label),*]),
            };
        )+

        /// All families of this section, in the order of the reference.
        pub const $list: &[$crate::expose::catalogue::Entry] = &[$(
            $crate::expose::catalogue::Entry {
                name: $name,
                kind: $crate::expose::catalogue::Kind::$kind,
                tier: $crate::expose::catalogue::Tier::$tier,
                labels: &[$($label),*],
                help: $help,
                slot: $crate::expose::catalogue::after($before) + $list::Place::$id as usize,
            },
        )+];
    };
}
pub(crate) use families;

/// Sections of the reference, each with its title.
pub const SECTIONS: &[(&str, &[Entry])] = &[
    ("Signals", lock::SIGNALS),
    ("Stores and their nodes", store::STORES),
    ("Locks", lock::LOCKS),
    ("Groups of locks", group::GROUPS),
    ("Workers", worker::WORKERS),
    ("Workers on the exporter's host", host::HOST),
    ("Clocks", clock::CLOCKS),
    ("The exporter itself", exporter::EXPORTER),
];

/// How many families there are.
pub const COUNT: usize = after(exporter::EXPORTER);

/// Every family of this version.
pub fn all() -> impl Iterator<Item = &'static Entry> {
    SECTIONS.iter().flat_map(|(_, entries)| entries.iter())
}

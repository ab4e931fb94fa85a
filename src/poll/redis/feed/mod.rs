//! What a store tells of by itself between two polls. So far only what can be said without a connection: which
//! prefixes are to be asked for, and what a keyspace event does to a lock. Does no I/O.

pub mod deed;
pub mod prefixes;

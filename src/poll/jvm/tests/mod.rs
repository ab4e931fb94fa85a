//! Files built by hand and hostile ones, and real JVMs.

mod jvms;
mod kinds;
mod layout;
mod opening;
mod places;

//! Who is connected to a node: in numbers for series, one by one for people.

mod libraries;
mod who;

pub use libraries::ByLibrary;
pub(super) use libraries::by_library;
pub(super) use who::Crew;
pub use who::{ClientView, ClientsView, RenewalView};

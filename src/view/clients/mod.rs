//! Who is connected to a node: in numbers for series, one by one for people.

mod libraries;
mod renewer;
mod who;

pub use libraries::ByLibrary;
pub(super) use libraries::by_library;
pub use renewer::OtherRenewer;
pub(super) use renewer::other_renewer;
pub(super) use who::Crew;
pub use who::{ClientView, ClientsView, RenewalView};

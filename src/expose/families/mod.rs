//! From a [`View`] to samples of metric families. Each file has the families of one section of the catalogue; none of them judges
//! anything, they only leave out what the view does not know.

mod clock;
mod exporter;
mod group;
mod host;
mod lock;
mod resources;
mod store;
mod worker;

use super::self_facts::SelfFacts;
use super::sheet::Sheet;
use crate::view::View;

/// All samples.
pub fn collect(view: &View, own: &SelfFacts) -> Sheet {
    let mut sheet = Sheet::default();
    exporter::add(&mut sheet, view, own);
    for store in &view.stores {
        store::add(&mut sheet, store);
        for group in &store.groups {
            group::add(&mut sheet, store, group);
        }
        // A store whose locks were not read lately has no series of them, whatever each lock says.
        if store.fresh {
            for lock in &store.locks {
                sheet.begin(&store.name, &lock.name);
                lock::add(&mut sheet, &store.name, lock);
                sheet.end();
            }
        }
    }
    for worker in &view.workers {
        worker::add(&mut sheet, worker);
        host::add(&mut sheet, worker);
    }
    for clock in &view.clocks {
        clock::add(&mut sheet, clock);
    }
    sheet
}

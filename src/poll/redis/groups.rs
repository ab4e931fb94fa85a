//! Which keys are read together, and each batch's request, packed once and sent until its members change. Pure.

use super::batch::{self, Dialect, Form, Packed};
use super::slot::Slot;
use super::slots::Slots;

/// Keys of one form that share a request.
#[derive(Default)]
pub struct Batch {
    /// Their places in [`Slots`].
    pub members: Vec<u32>,
    /// The request.
    pub packed: Packed,
    /// What the request was packed for; `None` if its members have changed since.
    packed_for: Option<Dialect>,
}

/// All batches of one node.
pub struct Groups {
    dialect: Dialect,
    limit: usize,
    forms: [Group; Form::ALL.len()],
}

#[derive(Default)]
struct Group {
    batches: Vec<Batch>,
    /// Batches that may have room.
    open: Vec<usize>,
}

impl Groups {
    /// Empty, for batches of at most `limit` keys.
    pub fn new(dialect: Dialect, limit: usize) -> Self {
        Self { dialect, limit: limit.max(1), forms: Default::default() }
    }

    /// Puts all keys into batches of another size; `settle` is told the batch of each.
    pub fn resize(&mut self, limit: usize, mut settle: impl FnMut(u32, usize)) {
        self.limit = limit.max(1);
        for form in Form::ALL {
            let group = self.group_mut(form).map(std::mem::take).unwrap_or_default();
            for place in group.batches.into_iter().flat_map(|b| b.members) {
                if let Some(index) = self.insert(form, place) {
                    settle(place, index);
                }
            }
        }
    }

    /// From now on batches are packed for another dialect.
    pub fn speak(&mut self, dialect: Dialect) {
        self.dialect = dialect;
    }

    /// What the batches are packed for.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Most keys of one batch.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Batches that have members, in the order in which a sweep reads them.
    pub fn plan(&self) -> Vec<(Form, usize)> {
        let of = |form: Form| {
            let batches = self.group(form).into_iter().flat_map(|g| g.batches.iter().enumerate());
            batches.filter(|(_, b)| !b.members.is_empty()).map(move |(i, _)| (form, i))
        };
        Form::ALL.into_iter().flat_map(of).collect()
    }

    /// The keys of one batch.
    pub fn members(&self, form: Form, index: usize) -> &[u32] {
        self.group(form).and_then(|g| g.batches.get(index)).map_or(&[], |b| &b.members)
    }

    /// Puts a key among those of a form; gives the batch.
    pub fn insert(&mut self, form: Form, place: u32) -> Option<usize> {
        let limit = self.limit;
        let group = self.group_mut(form)?;
        let index = loop {
            match group.open.last() {
                Some(i) if group.batches.get(*i).is_some_and(|b| b.members.len() < limit) => {
                    break *i;
                }
                Some(_) => {
                    group.open.pop();
                }
                None => {
                    group.batches.push(Batch::default());
                    group.open.push(group.batches.len() - 1);
                }
            }
        };
        let batch = group.batches.get_mut(index)?;
        batch.members.push(place);
        batch.packed_for = None;
        Some(index)
    }

    /// Takes a key out of its batch.
    pub fn remove(&mut self, form: Form, index: usize, place: u32) {
        let Some(group) = self.group_mut(form) else { return };
        let Some(batch) = group.batches.get_mut(index) else { return };
        if let Some(at) = batch.members.iter().position(|m| *m == place) {
            batch.members.swap_remove(at);
            batch.packed_for = None;
            if !group.open.contains(&index) {
                group.open.push(index);
            }
        }
    }

    /// Takes a batch out, packed for its present members, to be given back by [`Groups::restore`].
    pub fn take(&mut self, form: Form, index: usize, slots: &Slots) -> Batch {
        self.packed(form, index, slots).map(std::mem::take).unwrap_or_default()
    }

    /// A batch, packed for its present members.
    pub fn packed(&mut self, form: Form, index: usize, slots: &Slots) -> Option<&mut Batch> {
        let dialect = self.dialect;
        let batch = self.group_mut(form)?.batches.get_mut(index)?;
        if batch.packed_for != Some(dialect) {
            batch.packed = pack(form, dialect, &batch.members, slots);
            batch.packed_for = Some(dialect);
        }
        Some(batch)
    }

    /// Gives back what [`Groups::take`] took.
    pub fn restore(&mut self, form: Form, index: usize, batch: Batch) {
        if let Some(place) = self.group_mut(form).and_then(|g| g.batches.get_mut(index)) {
            *place = batch;
        }
    }

    fn group(&self, form: Form) -> Option<&Group> {
        self.forms.get(form as usize)
    }

    fn group_mut(&mut self, form: Form) -> Option<&mut Group> {
        self.forms.get_mut(form as usize)
    }
}

/// Packs a batch of some keys.
pub fn pack(form: Form, dialect: Dialect, members: &[u32], slots: &Slots) -> Packed {
    let key = |place: &u32| slots.get(*place).map_or(&[][..], |s: &Slot| s.watched.key.as_slice());
    batch::pack(form, dialect, members.iter().map(key))
}

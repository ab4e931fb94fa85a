//! Reads of some keys at once, outside of a sweep's plan: what somebody asked for, and what was typed just now. The same
//! transactions as those of a sweep, packed for the occasion.

use std::collections::BTreeMap;

use super::ability::Abilities;
use super::batch::Form;
use super::conn::Conn;
use super::failure::Failure;
use super::groups::pack;
use super::sweep::Sweeper;
use crate::observe::{BatchRead, KeyId};

impl Sweeper {
    /// Reads some keys now, whatever their forms; unknown ones are passed over.
    pub async fn read_keys(
        &mut self,
        conn: &mut Conn,
        abilities: &mut Abilities,
        ids: &[KeyId],
    ) -> Result<Vec<BatchRead>, Failure> {
        let places: Vec<u32> = ids.iter().filter_map(|id| self.slots.place(*id)).collect();
        self.read_places(conn, abilities, places).await
    }

    /// Reads the keys at some places now, those of unknown type excepted.
    pub(super) async fn read_places(
        &mut self,
        conn: &mut Conn,
        abilities: &mut Abilities,
        places: Vec<u32>,
    ) -> Result<Vec<BatchRead>, Failure> {
        let mut forms: BTreeMap<usize, (Form, Vec<u32>)> = BTreeMap::new();
        for place in places {
            if let Some(form) = self.slots.get(place).and_then(|s| s.form) {
                forms.entry(form as usize).or_insert((form, Vec::new())).1.push(place);
            }
        }
        let mut reads = Vec::new();
        for (form, members) in forms.into_values() {
            for part in members.chunks(self.groups.limit()) {
                self.read_part(conn, abilities, form, part.to_vec(), &mut reads).await?;
            }
        }
        Ok(reads)
    }

    async fn read_part(
        &mut self,
        conn: &mut Conn,
        abilities: &mut Abilities,
        form: Form,
        part: Vec<u32>,
        reads: &mut Vec<BatchRead>,
    ) -> Result<(), Failure> {
        let packed = pack(form, self.groups.dialect(), &part, &self.slots);
        let blame = self.transact(conn, form, &part, &packed, reads).await?;
        self.after(blame.is_none().then_some(form), abilities);
        match blame {
            Some(blame) => self.bisect(conn, abilities, form, part, blame, reads).await,
            None => Ok(()),
        }
    }
}

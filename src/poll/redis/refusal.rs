//! Keys that may not be read: finds them in an aborted transaction, keeps them out of the batches and tries them again
//! rarely, because each refusal raises the server's error counters and fills its ACL log.

use super::ability::Abilities;
use super::batch::Form;
use super::blame::Blame;
use super::conn::Conn;
use super::failure::Failure;
use super::groups::pack;
use super::sweep::Sweeper;
use crate::clock;
use crate::observe::BatchRead;
use crate::observe::lock::Unreadable;
use crate::observe::node::FailReason;

/// How often in a row a key may turn out to be of another type than the server said before it is left alone.
const MAX_STRIKES: u8 = 3;

impl Sweeper {
    /// Takes the keys to blame out of an aborted transaction and reads the rest; where the server does not say which they
    /// are, halves it until they show themselves.
    pub(super) async fn bisect(
        &mut self,
        conn: &mut Conn,
        abilities: &mut Abilities,
        form: Form,
        members: Vec<u32>,
        blame: Blame,
        reads: &mut Vec<BatchRead>,
    ) -> Result<(), Failure> {
        let mut parts = vec![(members, blame)];
        while let Some((members, blame)) = parts.pop() {
            if let Some(command) = blame.command {
                abilities.refuse(command);
                if command == "pexpiretime" {
                    let detail = "PEXPIRETIME is refused all of a sudden; going on with PTTL";
                    return Err(Failure::new(FailReason::Permission, detail));
                }
            }
            let all = blame.command.is_some() || members.len() == 1;
            let mut denied = Vec::new();
            let mut rest = Vec::new();
            for (i, place) in members.iter().enumerate() {
                if let Some((_, to)) = blame.elsewhere.iter().find(|(at, _)| *at == i) {
                    self.stray(*place, to.clone());
                    continue;
                }
                match blame.keys.iter().find(|(at, _)| *at == i) {
                    Some((_, why)) => denied.push((*place, *why)),
                    None if all => denied.push((*place, blame.general)),
                    None => rest.push(*place),
                }
            }
            let halves = if denied.is_empty() { rest.len().div_ceil(2) } else { rest.len() };
            self.deny(&denied);
            for part in rest.chunks(halves.max(1)) {
                let packed = pack(form, self.groups.dialect(), part, &self.slots);
                let again = self.transact(conn, form, part, &packed, reads).await?;
                self.after(again.is_none().then_some(form), abilities);
                parts.extend(again.map(|blame| (part.to_vec(), blame)));
            }
        }
        Ok(())
    }

    /// Keeps keys out of the batches for a while.
    pub(super) fn deny(&mut self, denied: &[(u32, Unreadable)]) {
        let now = clock::mono();
        for (place, why) in denied {
            let Some(slot) = self.slots.get_mut(*place) else { continue };
            let is_new = slot.denied.is_none() || slot.is_presumed;
            let counts = is_new && *why == Unreadable::Permission;
            self.refusals.refused(slot.watched.entry, is_new, counts, now);
            slot.denied = Some((*why, now));
            slot.is_presumed = false;
            self.settle(*place, Some(Form::Denied));
        }
    }

    /// A key was of another type than the server had said: asks again, but not for ever.
    pub(super) fn strike(&mut self, place: u32) {
        let Some(slot) = self.slots.get_mut(place) else { return };
        slot.strikes = slot.strikes.saturating_add(1);
        if slot.strikes < MAX_STRIKES {
            self.settle(place, None);
        } else {
            self.deny(&[(place, Unreadable::Unexpected)]);
        }
    }
}

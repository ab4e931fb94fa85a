//! The raw tokens of the locks that evidence is written of, where the config wants them. They go nowhere else.

use std::collections::HashSet;
use std::sync::Arc;

use crate::derive::State;
use crate::evidence::{Risen, Tokens};

/// The tokens of all holders of these locks.
pub fn of(state: &State, risen: &[Risen]) -> Tokens {
    let meant: HashSet<(&Arc<str>, &Arc<str>)> =
        risen.iter().map(|r| (&r.store, &r.lock)).collect();
    let mut tokens = Tokens::new();
    for store in state.stores.values() {
        for lock in store.locks.values().filter(|l| meant.contains(&(&store.name, &l.name))) {
            let own = lock.tenures().filter_map(|t| Some(t.owner.as_ref()?.token.clone()));
            tokens.insert((store.name.clone(), lock.name.clone()), own.collect());
        }
    }
    tokens
}

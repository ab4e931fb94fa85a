//! How much of the machine a test takes. Several live tests run at a time, more than there are processors, since most of them
//! mostly wait. Some must not be starved, or starve others on purpose: those have at most one other test beside them. It does
//! not decide how many tests are begun; that is the test runner's `--test-threads`.

use std::cell::RefCell;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Shares of the machine: so many ordinary live tests run at a time.
const ALL: usize = 3;

static TAKEN: Mutex<State> = Mutex::new(State { taken: 0, whole_waits: 0 });
static GIVEN_BACK: Condvar = Condvar::new();

struct State {
    taken: usize,
    /// Tests that wait for the whole machine; nobody new gets a share before them.
    whole_waits: usize,
}

/// Shares, until it is dropped.
pub struct Shares(usize);

thread_local! {
    /// The share of the test that runs in this thread; given back when the thread ends.
    static OWN: RefCell<Option<Shares>> = const { RefCell::new(None) };
}

impl Drop for Shares {
    fn drop(&mut self) {
        state().taken -= self.0;
        GIVEN_BACK.notify_all();
    }
}

fn state() -> MutexGuard<'static, State> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for a share for the test in this thread, if it has none; it keeps it to its end.
pub fn take_share() {
    OWN.with_borrow_mut(|own| {
        own.get_or_insert_with(|| {
            let mut state = state();
            while state.whole_waits > 0 || state.taken + 1 > ALL {
                state = GIVEN_BACK.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            state.taken += 1;
            Shares(1)
        });
    });
}

/// For a thread of a test that has its share already, and for what takes next to nothing: it needs none of its own.
pub fn beside() {
    OWN.with_borrow_mut(|own| {
        own.get_or_insert(Shares(0));
    });
}

/// Held by what takes the whole machine, two hundred processes that are starved on purpose, and by what must not be starved
/// by them: a machine inside the machine, and whole pipelines that have to be in time. One ordinary test may go on beside it.
pub fn whole_machine() -> Shares {
    let shares = ALL - 1;
    let own = OWN.with_borrow_mut(Option::take);
    drop(own);
    let mut state = state();
    state.whole_waits += 1;
    while state.taken + shares > ALL {
        state = GIVEN_BACK.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    state.whole_waits -= 1;
    state.taken += shares;
    drop(state);
    GIVEN_BACK.notify_all();
    // What this test starts is part of that.
    OWN.with_borrow_mut(|own| *own = Some(Shares(0)));
    Shares(shares)
}

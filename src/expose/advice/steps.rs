//! The first steps, in words for somebody who was just woken. Words between backticks are to be typed or looked for. Nothing
//! here depends on what is known of a lock.

use serde::Serialize;

use super::Class;

/// What to record, to check and not to do.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Steps {
    /// What it is, in a sentence.
    pub means: &'static str,
    /// What to keep before anything is restarted.
    pub record: &'static [&'static str],
    /// What to find out, in this order.
    pub check: &'static [&'static str],
    /// What makes it worse.
    pub do_not: &'static [&'static str],
}

/// The steps for a class.
pub fn steps(class: Class) -> &'static Steps {
    match class {
        Class::Contested => &CONTESTED,
        Class::RenewalAfterLostLiveness => &RENEWED,
        Class::StaleHolder => &STALE,
    }
}

const RECORD: &str = "The exporter made a document of each rise of a signal: with an evidence directory it outlives a restart, \
    without one it does not, and neither does what happened last. Save the lock's evidence document before anybody restarts \
    anything.";

const TTL: &str = "Do not lengthen the lease's TTL: it undoes nothing that happened, and keeps the next worker out for longer.";

const CONTESTED: Steps = Steps {
    means: "Two owners were valid at once. Each may have worked under the lock, and may still.",
    record: &[
        RECORD,
        "Note the time, both owners' names and fingerprints, and the highest fencing token that the protected resource accepted.",
    ],
    check: &[
        "Who are the two? The present holder and the one before: does the former one still work?",
        "What did the protected resource take from each of them since? A fencing token that it refused or that fell settles it; \
         without tokens, compare its writes by time and author.",
        "What let the second one in? Two primaries, a lock that a server lost, or a program that writes without asking: mend \
         that before either is started again.",
    ],
    do_not: &[
        "Do not delete the key on suspicion: a third owner takes it while the two work.",
        "Do not write the first owner's key back by hand: then both believe with reason.",
        "Do not restart either worker before it is known what each wrote and by which fencing token.",
        TTL,
    ],
};

const RENEWED: Steps = Steps {
    means: "The holder does no work, and something goes on renewing its lease: it will not run out by itself.",
    record: &[
        RECORD,
        "On the holder's host save the state of its process and of its children: what is frozen is the evidence.",
    ],
    check: &[
        "Is the holder really gone? A heartbeat that stopped while the work goes on looks the same: compare it with the process.",
        "What renews? A watchdog thread of the holder, a child, a sidecar: look at the writing connections of the lock's server, \
         and at the processes on the holder's host.",
        "What did the protected resource take from this holder since it lost liveness, and by which fencing token?",
    ],
    do_not: &[
        "Do not delete the key on suspicion: the renewer, or the holder once it wakes, goes on beside a new owner.",
        "Do not restart the worker before its state is saved and it is known what the protected resource last took from it.",
        "Do not restart Redis and do not flush it: that takes every lock from everybody.",
        TTL,
    ],
};

const STALE: Steps = Steps {
    means: "The holder cannot be working, and the lock is still its own: nobody else gets it before the lease ends.",
    record: &[
        RECORD,
        "On the holder's host save what is left of its process: its state, its threads and what it waits for.",
    ],
    check: &[
        "Does what is left of the lease fall? Then the lock frees itself; a lease that runs out is the safest release.",
        "Is the holder dead, stopped, or only silent? Compare its process with its heartbeat: a frozen one can wake up and go on \
         where it stood.",
        "What did the protected resource take from it last, and does it check fencing tokens? If it does not, make sure that the \
         holder cannot go on before anybody else starts.",
    ],
    do_not: &[
        "Do not delete the key on suspicion: between your look and your command it may have got another owner.",
        "Do not restart the worker before its state is saved and the fencing question is answered.",
        "Do not wake a stopped holder whose lock went to somebody else: it goes on as if it held.",
        TTL,
    ],
};

/// Where a signal is up and the lock is of no class.
pub const OTHER: Steps = Steps {
    means: "Nothing shows that two owners were valid or that the holder is lost; the signals that are up say how that could come.",
    record: &[RECORD],
    check: &[
        "What does each signal that is up mean? It is said beside it, and its runbook has the commands.",
        "Does the holder live and work, and does its lease fall and rise as it did?",
        "Would the lock still be safe if a server failed over or the holder stalled now? Does the protected resource check \
         fencing tokens?",
    ],
    do_not: &[
        "Do not delete the key on suspicion: a holder that lives goes on beside the next one.",
        "Do not restart the holder or its server to make a signal go away before what it shows is saved.",
        "Do not lengthen the lease's TTL before it is known why it is short.",
    ],
};

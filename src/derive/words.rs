//! The closed lists of words that verdicts use, with the label value of each.

/// Makes an enum whose every variant has a label value, and the list of all variants.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$vmeta])* $variant,)+
        }

        impl $name {
            /// All of them, in the order of their declaration.
            pub const ALL: &'static [$name] = &[$($name::$variant,)+];

            /// The label value.
            pub fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)+
                }
            }
        }
    };
}

words! {
    /// What can be wrong with a lock. Declared in the order of danger.
    Signal {
        /// Two owners may be valid at once.
        Contested = "contested",
        /// Something renews although the holder lost liveness.
        RenewalAfterLostLiveness = "renewal_after_lost_liveness",
        /// The holder lost liveness and still owns the key.
        HolderStale = "holder_stale",
        /// A renewal that should have come did not.
        RenewalOverdue = "renewal_overdue",
        /// Its owner has fewer servers than it had, or no more than it needs.
        QuorumDegraded = "quorum_degraded",
        /// Its leases run out again and again while it is in use.
        LeaseLapsesInUse = "lease_lapses_in_use",
        /// The key has no expiry although it should.
        LeaseWithoutTtl = "lease_without_ttl",
        /// A replica shows something else although it has the primary's offset.
        ReplicaDiverged = "replica_diverged",
        /// Held by somebody whom the config does not expect.
        HolderUnexpected = "holder_unexpected",
        /// Held longer than it should be.
        HeldTooLong = "held_too_long",
        /// The holder's worst stall was longer than its lease survives.
        LeaseShorterThanStall = "lease_shorter_than_stall",
        /// The lease is far longer than it can be meant to be, or grows with each renewal.
        LeaseAbsurd = "lease_absurd",
        /// The hold count grows and grows: it will never be released.
        HoldCountCreep = "hold_count_creep",
        /// Free although somebody should always hold it, or waits for it.
        Unheld = "unheld",
        /// The key is of another type or shape than it was, or than the config says.
        ShapeUnexpected = "shape_unexpected",
    }
}

words! {
    /// What proves that two owners were valid at once, or hints at it.
    ContentionKind {
        /// Two primaries of one history grant it to two owners.
        Primaries = "primaries",
        /// Servers lost an owner's votes, and another owner got enough before the first one's lease was over.
        Quorum = "quorum",
        /// The server lost it, and another owner got it before the first one's lease was over.
        Lost = "lost",
        /// Another owner wrote over the first one before its lease was over.
        Overwrite = "overwrite",
        /// A token that is new per acquire came back after another owner.
        TokenReturned = "token_returned",
        /// A worker goes on writing that it holds what another one holds.
        Claim = "claim",
        /// A resource accepts an older fencing token than it did before.
        Fencing = "fencing",
        /// A hint: a holder whose lease ran out while it stood still came back while another holds.
        Resumed = "resumed",
        /// A hint: two owners' slow acquires within one lease.
        Slowlog = "slowlog",
    }
}

impl ContentionKind {
    /// Whether it proves anything; a hint is counted and shown, and does not raise the signal.
    pub fn is_proof(self) -> bool {
        !matches!(self, Self::Resumed | Self::Slowlog)
    }
}

words! {
    /// How a tenure ended.
    Evidence {
        /// Let go by its holder.
        Released = "released",
        /// The lease ran out.
        Lapsed = "lapsed",
        /// Somebody else wrote over it.
        Overwritten = "overwritten",
        /// The server evicted the key.
        Evicted = "evicted",
        /// The database was emptied.
        Flushed = "flushed",
        /// The primary changed or restarted.
        Failover = "failover",
        /// The server's clock jumped over the expiry.
        ClockStep = "clock_step",
        /// Cannot be told.
        Unknown = "unknown",
    }
}

impl Evidence {
    /// The server ended it: how long it lasted says nothing of how long such holds last.
    pub fn is_cut_short(self) -> bool {
        matches!(self, Self::Evicted | Self::Flushed | Self::Failover | Self::ClockStep)
    }
}

words! {
    /// Whether a holder lives. Declared from worst to best, `unknown` last.
    Liveness {
        /// Its process is gone or a zombie.
        Dead = "dead",
        /// Its name or pid now belongs to another process.
        Replaced = "replaced",
        /// Its process is stopped or its cgroup frozen.
        Stopped = "stopped",
        /// Its heartbeat stands still.
        Frozen = "frozen",
        /// No list of live workers names it.
        Unlisted = "unlisted",
        /// Seen alive.
        Alive = "alive",
        /// Cannot be told.
        Unknown = "unknown",
    }
}

impl Liveness {
    /// Whether it means that liveness was lost.
    pub fn is_lost(self) -> bool {
        self < Liveness::Alive
    }
}

words! {
    /// What a coverage report is about.
    Aspect {
        /// Who holds it.
        Holder = "holder",
        /// The holder's heartbeat.
        Heartbeat = "heartbeat",
        /// The holder's process.
        Process = "process",
        /// The holder's stalls.
        Stall = "stall",
        /// The lease itself.
        Lease = "lease",
        /// The replicas' view of it.
        Replicas = "replicas",
        /// Votes of a quorum.
        Quorum = "quorum",
        /// Clocks.
        Clock = "clock",
        /// Fencing tokens.
        Fencing = "fencing",
        /// The event feed.
        Events = "events",
        /// The slow log.
        Slowlog = "slowlog",
        /// Renewals.
        Renewals = "renewals",
        /// How long it is held.
        Hold = "hold",
        /// Token changes.
        Token = "token",
    }
}

words! {
    /// Why something cannot be judged.
    BlindReason {
        /// Nothing is configured that could tell.
        NotConfigured = "not_configured",
        /// The server or the kernel refuses us.
        Permission = "permission",
        /// The server, kernel or format has no such thing.
        Unsupported = "unsupported",
        /// hidepid, a namespace or a container hides it.
        Hidden = "hidden",
        /// The source does not answer.
        Unreachable = "unreachable",
        /// It is on another host.
        ForeignHost = "foreign_host",
        /// The token names nobody.
        OpaqueToken = "opaque_token",
        /// The token is the same for every acquire.
        ReusableToken = "reusable_token",
        /// Not seen long enough.
        NoHistory = "no_history",
    }
}

words! {
    /// Where the lease length comes from.
    LeaseSource {
        /// The config.
        Config = "config",
        /// The format's default.
        Format = "format",
        /// Observed.
        Learned = "learned",
    }
}

words! {
    /// How a replica differs.
    DivergenceKind {
        /// The replica lacks the key.
        Missing = "missing",
        /// The replica has a key that the primary lacks.
        Extra = "extra",
        /// The owners differ.
        Owner = "owner",
        /// The expiries differ.
        Expiry = "expiry",
        /// The replica's own clock has passed the expiry; not a divergence.
        ExpiredByClock = "expired_by_clock",
    }
}

words! {
    /// What told that a worker lives or not.
    LivenessSource {
        /// Its process on this host.
        Process = "process",
        /// Its heartbeat.
        Heartbeat = "heartbeat",
        /// A list of live workers.
        List = "list",
    }
}

words! {
    /// What showed a stall, or the largest part of what may have been one.
    StallSource {
        /// The heartbeat paused for longer than usual.
        HeartbeatGap = "heartbeat_gap",
        /// A thread waited for a CPU.
        RunQueue = "run_queue",
        /// A runnable thread does not move; the wait has not ended.
        OngoingRunQueue = "ongoing_run_queue",
        /// The process was stopped.
        Stopped = "stopped",
        /// Its cgroup was frozen.
        Frozen = "frozen",
        /// Waiting for memory in its cgroup.
        MemoryPressure = "memory_pressure",
        /// Waiting for I/O in its cgroup.
        IoPressure = "io_pressure",
        /// Its JVM stopped the world.
        Safepoint = "safepoint",
        /// What may have happened between two samples unseen.
        BetweenSamples = "between_samples",
        /// A thread slept in state D, which signals do not end.
        DiskSleep = "disk_sleep",
    }
}

words! {
    /// The state of a clock as its chronyd tells it.
    ClockStatus {
        /// Follows a source.
        Synchronized = "synchronized",
        /// Followed one; nothing was heard of it for long.
        FreeRunning = "free_running",
        /// Serves its own time as if it were true (`local`).
        Local = "local",
        /// Follows nothing.
        Unsynchronized = "unsynchronized",
    }
}

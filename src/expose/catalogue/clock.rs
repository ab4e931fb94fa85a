//! Families of configured clocks: what the chronyd of a host says of that host's clock (`chronyc tracking`), and how wrong
//! the clock can be at most. Offsets are positive when that host's clock is ahead.

use super::families;

families! { CLOCKS after super::host::HOST;
    UP = Gauge Core "dlock_clock_up" ["clock"]
        "Whether the clock's chronyd answered the last request: 1 or 0.";
    STATUS = Gauge Core "dlock_clock_status" ["clock", "status"]
        "1 for the state of the clock as its chronyd tells it, 0 for the others: synchronized, free_running (followed a \
         source that was not heard of for eight of its update intervals), local (serves its own time as if it were \
         true), unsynchronized. Absent while not known.";
    OFFSET = Gauge Core "dlock_clock_offset_seconds" ["clock"]
        "Estimated error of that host's clock now, in seconds (System time of chronyc tracking); positive when the clock \
         is ahead of true time. Absent where chronyd knows no true time.";
    LAST_OFFSET = Gauge Core "dlock_clock_last_offset_seconds" ["clock"]
        "Estimated error of that host's clock at its last update, in seconds; positive when the clock was ahead.";
    RMS_OFFSET = Gauge Core "dlock_clock_rms_offset_seconds" ["clock"]
        "Long-term average of such offsets, in seconds, without sign.";
    ROOT_DELAY = Gauge Core "dlock_clock_root_delay_seconds" ["clock"]
        "Network round trip to the stratum-1 computer, in seconds, as chronyd states it: it says 1 when unsynchronized and \
         0 in local mode, where it means nothing.";
    ROOT_DISPERSION = Gauge Core "dlock_clock_root_dispersion_seconds" ["clock"]
        "Dispersion to the stratum-1 computer, in seconds, as of chronyd's answer: it says 1 when unsynchronized and 0 in \
         local mode, where it means nothing.";
    UPDATE_INTERVAL = Gauge Core "dlock_clock_update_interval_seconds" ["clock"]
        "Time between the last two updates of that host's clock, in seconds; not the age of the last one.";
    FREQUENCY = Gauge Core "dlock_clock_frequency_ratio" ["clock"]
        "Rate by which that host's clock would be wrong without chronyd's correction, as a ratio (1e-6 is 1 ppm); positive \
         when it would gain time.";
    FREQUENCY_ERROR = Gauge Core "dlock_clock_frequency_error_ratio" ["clock"]
        "Estimated error bound of that frequency, as a ratio (1e-6 is 1 ppm; Skew of chronyc tracking).";
    STRATUM = Gauge Core "dlock_clock_stratum" ["clock"]
        "Hops of that host's clock from a reference clock; 0 when unsynchronized.";
    REFERENCE = Gauge Core "dlock_clock_reference_timestamp_seconds" ["clock"]
        "When that host's clock was last updated from its source, in seconds since the epoch on that host's clock as its \
         chronyd corrects it. Absent before the first.";
    ERROR_BOUND = Gauge Core "dlock_clock_error_bound_seconds" ["clock"]
        "That host's clock is no farther than this from true time, in seconds and without sign: offset + root dispersion \
         + root delay / 2, if the stratum-1 computer is right and maxclockerror fits the oscillator. Absent unless \
         synchronized or free running.";
}

//! What must hold is said in `src/format/fuzzing`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| dlock_exporter::format::fuzzing::format(bytes));

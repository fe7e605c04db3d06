//! Any bytes are opened as a file, and all that is in it is read.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    warpfold::files::fuzz::read_everything(bytes);
});

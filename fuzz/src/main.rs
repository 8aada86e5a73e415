//! libFuzzer on the decoders of electd (src/fuzzing.rs): one program, and ELECTD_FUZZ names the target.
//!
//! It runs on stable Rust. The Makefile asks the compiler for the counters by which libFuzzer sees what an input
//! reached. Each target begins with the seeds that the code itself gives, written into the folder ELECTD_CORPUS.

#![no_main]

mod mutate;

use std::path::Path;
use std::sync::LazyLock;
use std::{env, fs};

use electd::fuzzing::{FuzzTarget, TARGETS};
use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// What an input may have us take at most, for each of its bytes, and in any case.
const MEMORY_PER_BYTE: usize = 256;
const MEMORY_ALWAYS: usize = 4 * 1024 * 1024;

static TARGET: LazyLock<FuzzTarget> = LazyLock::new(|| {
    let name = env::var("ELECTD_FUZZ").unwrap_or_default();
    let found = TARGETS.iter().find(|target| target.name == name).copied();
    found.unwrap_or_else(|| {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        eprintln!("ELECTD_FUZZ is \"{name}\": name one of {}", names.join(", "));
        std::process::exit(2);
    })
});

/// Writes the seeds to where libFuzzer reads them next.
fn begin() {
    let target = *TARGET;
    let Ok(folder) = env::var("ELECTD_CORPUS") else { return };
    for (number, seed) in (target.seeds)().into_iter().enumerate() {
        let path = Path::new(&folder).join(format!("seed-{number}"));
        fs::write(&path, seed).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

fuzz_target!(init: begin(), |bytes: &[u8]| {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    (TARGET.check)(bytes);
    let taken = MEMORY.peak_usage().saturating_sub(before);
    let most = MEMORY_ALWAYS + MEMORY_PER_BYTE * bytes.len();
    assert!(taken <= most, "{} bytes of input took {taken} bytes of memory", bytes.len());
});

fuzz_mutator!(|bytes: &mut [u8], size: usize, most: usize, seed: u32| {
    mutate::mutate(bytes, size, most, seed)
});

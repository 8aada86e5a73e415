//! A process whose clock differs from that of the others.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = "
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *time) {
    int (*next)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, \"clock_gettime\");
    int done = next(clock, time);
    if (done == 0 && clock == CLOCK_REALTIME) time->tv_sec CHANGE;
    return done;
}
";

/// A library by which a process (LD_PRELOAD) reads a clock that is changed so, such as by `-= 90`; none where there is
/// no C compiler.
pub fn clock(folder: &Path, change: &str) -> Option<PathBuf> {
    let [source, library] = ["clock.c", "clock.so"].map(|name| folder.join(name));
    fs::write(&source, SOURCE.replace("CHANGE", change)).unwrap();
    let mut compiler = Command::new("cc");
    let made = compiler.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
    let is_made = made.is_ok_and(|status| status.success());
    if !is_made {
        println!("skipped: a clock that differs takes a C compiler, cc");
    }
    is_made.then_some(library)
}

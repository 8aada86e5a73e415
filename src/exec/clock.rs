//! Which clock a process has: CLOCK_BOOTTIME differs from one time namespace to another.
//!
//! A moment means nothing to a process with another clock. So `electd exec` attaches only to a node with the same one,
//! and a guard is told durations.

use std::fs;

/// The name of this process's clock: the kernel gives each time namespace one. Empty where the kernel has no time
/// namespaces, so that all processes of the host share one clock.
#[must_use]
pub fn own() -> String {
    let link = fs::read_link("/proc/self/ns/time").unwrap_or_default();
    link.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    #[test]
    fn a_clock_is_named_as_the_kernel_names_its_time_namespace() {
        let link = Command::new("readlink").arg("/proc/self/ns/time").output().unwrap();
        assert_eq!(super::own(), String::from_utf8(link.stdout).unwrap().trim());
    }
}

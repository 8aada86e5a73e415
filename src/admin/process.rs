//! What the kernel knows of this process, under the names that Prometheus' clients give it. A figure that the kernel does
//! not tell is left out.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use rustix::param::page_size;
use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

/// Registers the figures of this process, whose node has run for so long.
pub fn figures(registry: &mut Registry, uptime_ms: u64) {
    let cpu = clock_gettime(ClockId::ProcessCPUTime);
    let cpu = cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9;
    let help = "The processor time of this process";
    registry.register("process_cpu_seconds", help, ConstCounter::new(cpu));
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let start = ConstGauge::new(since.as_secs_f64() - uptime_ms as f64 / 1000.0);
    let help = "When this node started, in seconds since 1970";
    registry.register("process_start_time_seconds", help, start);
    let mut gauge = |name: &str, help: &str, value: Option<u64>| {
        if let Some(value) = value {
            registry.register(name, help, ConstGauge::new(value));
        }
    };
    let [virtual_memory, resident] = memory().map_or([None; 2], |bytes| bytes.map(Some));
    gauge("process_resident_memory_bytes", "The memory of this process that is present", resident);
    gauge("process_virtual_memory_bytes", "The address space of this process", virtual_memory);
    gauge("process_open_fds", "The open file descriptors", entries("/proc/self/fd"));
    gauge("process_max_fds", "The most file descriptors", getrlimit(Resource::Nofile).current);
    gauge("process_threads", "The threads of this process", entries("/proc/self/task"));
}

/// The address space and the resident memory.
fn memory() -> Option<[u64; 2]> {
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = text.split_ascii_whitespace().map_while(|pages| pages.parse::<u64>().ok());
    let bytes = u64::try_from(page_size()).ok()?;
    Some([pages.next()? * bytes, pages.next()? * bytes])
}

fn entries(folder: &str) -> Option<u64> {
    u64::try_from(fs::read_dir(folder).ok()?.count()).ok()
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use prometheus_client::encoding::text;

    use super::*;
    use crate::testing::alone::alone;

    /// In a process of its own, as other tests open files and start threads.
    #[test]
    fn files_and_threads_are_those_of_this_process() {
        if alone("admin::process::tests::files_and_threads_are_those_of_this_process").is_some() {
            return;
        }
        let open: Vec<_> = (0..50).map(|_| File::open("/proc/self/stat").unwrap()).collect();
        let mut registry = Registry::default();
        figures(&mut registry, 1000);
        let count = |folder: &str| fs::read_dir(folder).unwrap().count();
        let (files, threads) = (count("/proc/self/fd"), count("/proc/self/task"));
        let mut told = String::new();
        text::encode(&mut told, &registry).unwrap();
        for line in [format!("process_open_fds {files}"), format!("process_threads {threads}")] {
            assert!(told.lines().any(|found| found == line), "{line} is missing:\n{told}");
        }
        assert!(files > 50 + threads);
        drop(open);
    }
}

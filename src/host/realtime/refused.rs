//! Why the system refuses real-time scheduling or locked memory, and what to do, in words.

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use rustix::thread::{CapabilitySet, capabilities};

/// The greatest priority that this process may ask for; none if the system sets no limit.
pub fn highest_priority() -> Option<u64> {
    getrlimit(Resource::Rtprio).current
}

/// That the system refused a thread this priority, with the error, where this is the highest that it may have.
pub fn scheduling(error: &str, priority: u8, highest: Option<u64>) -> String {
    let remedy = match highest {
        Some(limit) if limit < u64::from(priority) => format!(
            "RLIMIT_RTPRIO is {limit} and has to be {priority} or more (in a unit LimitRTPRIO={priority} and \
             RestrictRealtime=no, for a container --ulimit rtprio={priority})"
        ),
        _ => "RLIMIT_RTPRIO allows it, so a filter or the control group forbids it (in a unit RestrictRealtime=no and \
             SystemCallFilter=sched_setscheduler; where the kernel schedules groups in real time, cpu.rt_runtime_us)"
            .to_owned(),
    };
    format!("its threads have ordinary scheduling: {error}: {remedy}")
}

/// That the memory must not be locked, if so. With a limit, to lock what is mapped later would have the process run out
/// of memory in the midst of its work: a thread could not start, or an allocation would end it. So it takes none.
pub fn memory() -> Option<String> {
    let limit = getrlimit(Resource::Memlock).current?;
    let may = capabilities(None).is_ok_and(|own| own.effective.contains(CapabilitySet::IPC_LOCK));
    (!may).then(|| {
        format!(
            "its memory is not locked: RLIMIT_MEMLOCK is {limit} bytes and has to be unlimited (in a unit \
             LimitMEMLOCK=infinity, for a container --ulimit memlock=-1)"
        )
    })
}

/// That the system did not lock the memory, although it may be locked.
pub fn lock(error: &Errno) -> String {
    format!(
        "its memory is not locked: mlockall: {error}: give this host more memory, or the node a unit that may lock it"
    )
}

//! The names of the threads that serve peers.

/// The name of a thread that serves one peer. A zero character would end the process: none is in the
/// name of a member, but a thread without it does not depend on that.
pub fn thread_name(role: &str, peer: &str) -> String {
    let name = format!("{role}-{peer}");
    name.chars().filter(|c| *c != '\0').collect()
}

/// Renames this thread once its peer is known. Linux takes 15 bytes.
pub fn name_thread(role: &str, peer: &str) {
    let name = thread_name(role, peer);
    if let Ok(name) = std::ffi::CString::new(name.bytes().take(15).collect::<Vec<_>>()) {
        // Only for the eyes of operators; a thread without a name works as well.
        let _ = rustix::thread::set_name(&name);
    }
}

//! The names of the threads that serve peers.

/// Renames this thread once its peer is known. Linux takes 15 bytes.
pub fn name_thread(name: &str) {
    if let Ok(name) = std::ffi::CString::new(name.bytes().take(15).collect::<Vec<_>>()) {
        // Only for the eyes of operators; a thread without a name works as well.
        let _ = rustix::thread::set_name(&name);
    }
}

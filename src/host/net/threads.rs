//! The names of the threads that serve peers.

/// Renames this thread once its peer is known. Linux takes 15 bytes.
pub fn name_thread(name: &str) {
    if let Ok(name) = std::ffi::CString::new(name.bytes().take(15).collect::<Vec<_>>()) {
        // Only for the eyes of operators; a thread without a name works as well.
        let _ = rustix::thread::set_name(&name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_as_much_of_its_name_as_fits() {
        let renamed = |name: &'static str| {
            let names = std::thread::spawn(move || {
                name_thread(name);
                std::fs::read_to_string("/proc/thread-self/comm").unwrap()
            });
            names.join().unwrap()
        };
        assert_eq!(renamed("reader-node-123456"), "reader-node-123\n");
        assert_eq!(renamed("reader-b"), "reader-b\n");
    }
}

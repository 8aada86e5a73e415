//! A server's thread that accepts clients, from its start to its certain end.

use std::io;
use std::net::Shutdown;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use socket2::Socket;

use super::acceptor::{Acceptor, Crew};
use super::places::{Place, Places};

/// The accepting thread of a server, which waits for the threads of its clients. Dropping it ends all of them.
pub struct Serving {
    listener: Arc<Socket>,
    places: Arc<Places>,
    thread: Option<JoinHandle<()>>,
}

impl Serving {
    /// Starts to accept clients, each of which gets one of these places and is served on a thread of its own.
    ///
    /// # Errors
    /// If the system has no thread left.
    pub fn start(
        crew: Crew,
        listener: Socket,
        places: Arc<Places>,
        serve: impl Fn(Place<'_>) + Send + Sync + 'static,
    ) -> io::Result<Serving> {
        let listener = Arc::new(listener);
        let (own, own_places) = (listener.clone(), places.clone());
        let builder = thread::Builder::new().name(crew.name.to_owned()).stack_size(crew.stack);
        let thread = builder.spawn(move || {
            Acceptor { crew, listener: &own, places: &own_places, serve: &serve, reported: None }
                .run();
        })?;
        Ok(Serving { listener, places, thread: Some(thread) })
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.places.close();
        let _ = self.listener.shutdown(Shutdown::Both); // wakes the thread that accepts
        let ended = self.thread.take().map(JoinHandle::join);
        if matches!(ended, Some(Err(_))) {
            log::error!("a thread of HTTP panicked; this is a defect");
        }
    }
}

//! A server's thread that accepts clients, from its start to its certain end.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use super::acceptor::{ClientAcceptor, Crew};
use super::door::Door;
use super::places::{ClientPlaces, Place};

/// The accepting thread of a server, which waits for the threads of its clients. Dropping it ends all of them.
pub struct Serving {
    door: Arc<Door>,
    places: Arc<ClientPlaces>,
    thread: Option<JoinHandle<()>>,
}

impl Serving {
    /// Starts to accept clients, each of which gets one of these places and is served on a thread of its own.
    ///
    /// # Errors
    /// If the system has no thread left.
    pub fn start(
        crew: Crew,
        door: impl Into<Door>,
        places: Arc<ClientPlaces>,
        serve: impl Fn(Place<'_>) + Send + Sync + 'static,
    ) -> io::Result<Serving> {
        let door = Arc::new(door.into());
        let (own, own_places) = (door.clone(), places.clone());
        let builder = thread::Builder::new().name(crew.name.to_owned()).stack_size(crew.stack);
        let thread = builder.spawn(move || {
            ClientAcceptor { crew, door: &own, places: &own_places, serve: &serve, reported: None }
                .run();
        })?;
        Ok(Serving { door, places, thread: Some(thread) })
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.places.close();
        self.door.close();
        let ended = self.thread.take().map(JoinHandle::join);
        if matches!(ended, Some(Err(_))) {
            log::error!("a thread of HTTP panicked; this is a defect");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::mpsc;
    use std::time::Duration;

    use rustix::process::getpriority_process;
    use socket2::Socket;

    use super::*;
    use crate::admin::limits;
    use crate::node::logged::logged;
    use crate::testing::within::within;

    /// Far longer than anything takes here.
    const LONG: Duration = Duration::from_secs(20);

    const CREW: Crew = Crew { name: "test", priority: 3, stack: limits::STACK };

    #[test]
    fn each_client_has_a_thread_of_its_own_and_none_outlives_the_server() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let places = Arc::<ClientPlaces>::default();
        let (tell, told) = mpsc::channel();
        let serving = Serving::start(CREW, Socket::from(listener), places.clone(), move |place| {
            let name = thread::current().name().map(str::to_owned);
            tell.send((name, getpriority_process(None).unwrap())).unwrap();
            // It writes on while the server only stops to read, as to a client that takes no answer.
            place.wait(|| while place.socket().write(&[b'x'; 4096]).is_ok() {});
        });
        let serving = serving.unwrap();
        let own = getpriority_process(None).unwrap();
        let mut clients = [(); 2].map(|()| {
            let client = TcpStream::connect(address).unwrap();
            let (name, priority) = told.recv_timeout(LONG).unwrap();
            assert_eq!(name.as_deref(), Some("test-client"));
            assert!([3, own.max(3)].contains(&priority), "{priority}, and {own} of the test");
            client
        });
        let ends = thread::spawn(move || drop(serving));
        within(LONG, "it ends beside clients that take no answer", || ends.is_finished());
        assert!(places.is_closing());
        assert!(told.try_recv().is_err() && TcpStream::connect(address).is_err());
        for client in &mut clients {
            client.set_read_timeout(Some(LONG)).unwrap();
            let _ = client.read_to_end(&mut Vec::new()); // a reset is an end, too
        }
    }

    #[test]
    fn a_panic_of_its_thread_is_told() {
        let listener = Socket::from(TcpListener::bind("127.0.0.1:0").unwrap());
        let thread = Some(thread::spawn(|| panic!("on purpose")));
        let serving = Serving { door: Arc::new(listener.into()), places: Arc::default(), thread };
        let lines = logged(|| drop(serving));
        assert_eq!(lines, ["ERROR : a thread of HTTP panicked; this is a defect"]);
    }
}

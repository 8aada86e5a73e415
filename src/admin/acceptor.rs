//! The thread that accepts the clients of a server and starts a thread for each.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Instant;

use rustix::process::setpriority_process;
use socket2::{SockAddr, Socket};

use super::door::Door;
use super::limits;
use super::places::{ClientPlaces, Place};

/// The threads of a server.
#[derive(Clone, Copy)]
pub struct Crew {
    /// Their name.
    pub name: &'static str,
    /// The priority of the threads of its clients, as a nice value.
    pub priority: i32,
    /// How large the stacks of these are, in bytes.
    pub stack: usize,
}

/// Accepts clients.
pub struct ClientAcceptor<'a> {
    pub crew: Crew,
    pub door: &'a Door,
    pub places: &'a ClientPlaces,
    /// Serves the client that has this place until it is gone.
    pub serve: &'a (dyn Fn(Place<'_>) + Sync),
    /// When trouble was last logged.
    pub reported: Option<Instant>,
}

impl<'a> ClientAcceptor<'a> {
    /// Accepts clients until the server stops, and then waits for the last answers.
    pub fn run(mut self) {
        let places = self.places;
        thread::scope(|scope| {
            let mut threads = Vec::new();
            while !places.is_closing() {
                match self.door.accept() {
                    Ok((socket, client)) => threads.extend(self.receive(scope, socket, &client)),
                    Err(error) => self.pause_after(&error),
                }
                threads = join_ended(threads);
            }
            places.clear(limits::GRACE);
        });
    }

    fn receive<'scope>(
        &mut self,
        scope: &'scope Scope<'scope, 'a>,
        socket: Socket,
        client: &SockAddr,
    ) -> Option<ScopedJoinHandle<'scope, ()>>
    where
        'a: 'scope,
    {
        // A client without an address is on this host.
        let host: IpAddr =
            client.as_socket().map_or(Ipv4Addr::LOCALHOST.into(), |client| client.ip());
        let (serve, Crew { name, priority, stack }) = (self.serve, self.crew);
        let place = self.places.admit(socket, host);
        let builder = thread::Builder::new().name(format!("{name}-client")).stack_size(stack);
        let started = builder.spawn_scoped(scope, move || {
            let _ = setpriority_process(None, priority); // of this thread alone; it may have less
            serve(place);
        });
        started.map_err(|error| self.report(&format!("no thread for a client: {error}"))).ok()
    }

    /// Pauses before the next accept: a lack of descriptors or memory does not end with the newcomer, and this thread
    /// would spin.
    fn pause_after(&mut self, error: &io::Error) {
        let is_over = self.places.is_closing();
        let passing = [ErrorKind::ConnectionAborted, ErrorKind::Interrupted, ErrorKind::WouldBlock];
        if is_over || passing.contains(&error.kind()) {
            return;
        }
        self.report(&format!("cannot accept a client: {error}"));
        self.places.make_room();
        thread::sleep(limits::PAUSE);
    }

    /// Logs trouble, which comes in crowds, once in a while.
    fn report(&mut self, what: &str) {
        if self.reported.is_none_or(|at| at.elapsed() >= limits::REPORT) {
            self.reported = Some(Instant::now());
            log::warn!(
                "{}: {what}; the connection that has not got on for longest gives way",
                self.crew.name
            );
        }
    }
}

/// Waits for the threads that have nothing left to do, so that they do not pile up; returns the others.
fn join_ended(threads: Vec<ScopedJoinHandle<'_, ()>>) -> Vec<ScopedJoinHandle<'_, ()>> {
    let (ended, live): (Vec<_>, Vec<_>) =
        threads.into_iter().partition(ScopedJoinHandle::is_finished);
    for thread in ended {
        if thread.join().is_err() {
            log::error!("the thread of a client of HTTP panicked; this is a defect");
        }
    }
    live
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::sync::mpsc;
    use std::time::Duration;

    use rustix::io::Errno;
    use socket2::{Domain, Type};

    use super::*;
    use crate::node::logged::logged;
    use crate::testing::within::within;

    const CREW: Crew = Crew { name: "test", priority: 3, stack: limits::STACK };

    /// A client that keeps its thread waiting while this is done; whether it has lost its place by it.
    fn is_lost(places: &ClientPlaces, done: impl FnOnce()) -> bool {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let place = places.admit(socket, Ipv4Addr::LOCALHOST.into());
        place.wait(done);
        place.is_over()
    }

    #[test]
    fn a_lack_of_descriptors_makes_room_and_is_logged_once_a_minute() {
        let door = Door::from(Socket::from(TcpListener::bind("127.0.0.1:0").unwrap()));
        let (places, serve) = (ClientPlaces::default(), |_: Place<'_>| {});
        let mut acceptor = ClientAcceptor {
            crew: CREW,
            door: &door,
            places: &places,
            serve: &serve,
            reported: None,
        };
        let line = "WARN : test: cannot accept a client: Too many open files (os error 24); the connection that has not \
                    got on for longest gives way";
        let now = Instant::now();
        let before = |seconds| now.checked_sub(Duration::from_secs(seconds));
        for (error, reported, makes_room, is_logged) in [
            (Errno::CONNABORTED, None, false, false),
            (Errno::INTR, None, false, false),
            (Errno::MFILE, None, true, true),
            (Errno::MFILE, Some(now), true, false),
            (Errno::MFILE, before(40), true, false),
            (Errno::MFILE, before(60), true, true),
        ] {
            acceptor.reported = reported;
            let mut lines = Vec::new();
            let begun = Instant::now();
            let lost = is_lost(&places, || {
                lines = logged(|| acceptor.pause_after(&error.into()));
            });
            assert_eq!(lost, makes_room, "{error}");
            assert_eq!(lines, [line; 1][..usize::from(is_logged)], "{error}");
            assert!(!makes_room || begun.elapsed() >= Duration::from_millis(20), "it would spin");
            assert_eq!(acceptor.reported > reported, is_logged, "{error} {reported:?}");
        }
        acceptor.reported = None;
        let mut lines = Vec::new();
        is_lost(&places, || {
            places.close();
            lines = logged(|| acceptor.pause_after(&Errno::INVAL.into()));
        });
        assert_eq!(lines, [""; 0], "the server stops");
    }

    #[test]
    fn threads_that_have_ended_are_waited_for_and_a_panic_of_one_is_told() {
        let (go, waits) = mpsc::channel::<()>();
        thread::scope(|scope| {
            let threads = vec![
                scope.spawn(|| {}),
                scope.spawn(move || {
                    let _ = waits.recv();
                }),
                scope.spawn(|| panic!("on purpose")),
            ];
            within(Duration::from_secs(20), "two end", || {
                threads.iter().filter(|thread| thread.is_finished()).count() == 2
            });
            let own = threads[1].thread().id();
            let mut left = Vec::new();
            let lines = logged(|| left = join_ended(threads));
            assert_eq!(left.iter().map(|thread| thread.thread().id()).collect::<Vec<_>>(), [own]);
            assert_eq!(
                lines,
                ["ERROR : the thread of a client of HTTP panicked; this is a defect"]
            );
            drop(go);
        });
    }

    /// Stops a server when it is dropped.
    struct Stops<'a>(&'a ClientPlaces, &'a Door);

    impl Drop for Stops<'_> {
        fn drop(&mut self) {
            self.0.close();
            self.1.close();
        }
    }

    /// Else they pile up, and nobody hears of the defect before the server stops.
    #[test]
    fn a_thread_that_has_ended_is_waited_for_while_the_server_runs() {
        let long = Duration::from_secs(20);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (door, places) = (Door::from(Socket::from(listener)), ClientPlaces::default());
        let (tell, told) = mpsc::channel();
        let serve = |_: Place<'_>| {
            tell.send(rustix::thread::gettid()).unwrap();
            panic!("on purpose");
        };
        let acceptor = ClientAcceptor {
            crew: CREW,
            door: &door,
            places: &places,
            serve: &serve,
            reported: None,
        };
        let stops = Stops(&places, &door);
        let lines = thread::scope(|scope| {
            scope.spawn(move || {
                let _stops = stops;
                // Not more than one at a time: each is waited for when the next comes, or the server stops.
                for _ in 0..2 {
                    let _client = TcpStream::connect(address).unwrap();
                    let id = told.recv_timeout(long).unwrap().as_raw_nonzero();
                    let thread = format!("/proc/self/task/{id}");
                    within(long, "it ends", || !std::fs::exists(&thread).unwrap());
                }
            });
            logged(|| acceptor.run())
        });
        let line = "ERROR : the thread of a client of HTTP panicked; this is a defect";
        assert_eq!(lines, [line; 2]);
    }
}

//! Which client gives up its place when none is free, and how many places each purpose has.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, Scope, ScopedJoinHandle};

use socket2::{Domain, Type};

use super::*;
use crate::testing::within::within;

fn newcomer<'a>(places: &'a ClientPlaces, host: &str) -> Place<'a> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    places.admit(socket, host.parse().unwrap())
}

/// Places whose clients, from these hosts, all keep their threads waiting.
fn waiting<'a>(places: &'a ClientPlaces, hosts: &[&str]) -> Vec<Place<'a>> {
    let waits = |place: &Place<'_>| place.set_waiting(true);
    hosts.iter().map(|host| newcomer(places, host)).inspect(waits).collect()
}

/// Which of these lose their places, in their order.
fn order(places: &ClientPlaces, taken: &[Place<'_>]) -> Vec<usize> {
    let mut order = Vec::new();
    let mut left: Vec<usize> = (0..taken.len()).filter(|at| !taken[*at].is_over()).collect();
    loop {
        places.make_room();
        let gone = left.iter().position(|at| taken[*at].is_over());
        let Some(gone) = gone else { return order };
        order.push(left.remove(gone));
    }
}

#[test]
fn of_one_host_goes_what_has_made_no_progress_for_longest() {
    let places = ClientPlaces::default();
    let taken = waiting(&places, &["10.0.0.1"; 4]);
    taken[0].make_progress();
    assert_eq!(order(&places, &taken), [1, 2, 3, 0]);
}

#[test]
fn the_host_with_the_most_gives_way_whoever_came_first() {
    let places = ClientPlaces::default();
    let (few, many) = ("10.0.0.1", "10.0.0.2");
    let taken = waiting(&places, &[few, few, many, many, many, many]);
    assert_eq!(order(&places, &taken)[..2], [2, 3]);
    let places = ClientPlaces::default();
    let taken = waiting(&places, &["10.0.0.9", "10.0.0.1", "10.0.0.5"]);
    assert_eq!(order(&places, &taken), [0, 1, 2], "of hosts with equally many the oldest");
}

#[test]
fn nobody_goes_who_is_owed_an_answer_or_takes_events() {
    let places = ClientPlaces::default();
    let taken: Vec<_> = (0..4).map(|_| newcomer(&places, "10.0.0.1")).collect();
    let [fresh, idle, stream, command] = &taken[..] else { unreachable!() };
    assert!(stream.begin(ConnectionUse::Stream) && command.begin(ConnectionUse::Command));
    stream.wait_for_news(0, Duration::from_millis(1));
    idle.set_waiting(true);
    assert_eq!(order(&places, &taken), [1]);
    [fresh, stream].iter().for_each(|place| place.set_waiting(true)); // it does not take its events
    assert_eq!(order(&places, &taken), [0, 2]);
}

#[test]
fn each_purpose_has_its_own_limit_and_its_places_are_free_again() {
    let places = ClientPlaces::default();
    let host = "10.0.0.1";
    let all = [
        ConnectionUse::Stream,
        ConnectionUse::Command,
        ConnectionUse::Peer,
        ConnectionUse::Election,
    ];
    let last = newcomer(&places, host);
    for (purpose, most) in all.into_iter().zip([32, 16, 8, 16]) {
        let mut taken: Vec<_> = (0..most).map(|_| newcomer(&places, host)).collect();
        assert!(taken.iter().all(|place| place.begin(purpose)), "{purpose:?}");
        assert!(!last.begin(purpose), "{purpose:?}");
        let mut others = all.into_iter().filter(|other| *other != purpose);
        assert!(others.all(|other| last.begin(other)), "{purpose:?}");
        last.end();
        taken[0].end();
        assert!(last.begin(purpose) && !taken[0].begin(purpose), "{purpose:?}");
        drop(taken.pop());
        assert!(taken[0].begin(purpose), "{purpose:?}: one is gone");
        last.end();
        taken[1].wait(|| places.make_room());
        assert!(taken[1].is_over());
        let other = newcomer(&places, host);
        assert!(last.begin(purpose) && other.begin(purpose), "{purpose:?}: one is to go");
        last.end();
        drop(taken);
    }
}

#[test]
fn a_host_is_the_same_in_all_its_addresses() {
    let host = |address: &str| ClientHost::of(address.parse().unwrap());
    assert_eq!(host("::ffff:10.0.0.1"), host("10.0.0.1"));
    assert_eq!(host("2001:db8::1"), host("2001:db8::ffff:1"));
    assert_eq!(host("2001:db8::1"), host("2001:db8:0:0:ffff::1"));
    assert_ne!(host("10.0.0.1"), host("10.0.0.2"));
    assert_ne!(host("2001:db8::1"), host("2001:db8:0:1::1"));
}

/// Far longer than anything takes here.
const LONG: Duration = Duration::from_secs(20);

/// How many connections there are, those included that wait to be admitted.
fn count(places: &ClientPlaces) -> usize {
    places.state.lock().taken.len()
}

/// Whether these have lost their places.
fn lost<const COUNT: usize>(places: [&Place<'_>; COUNT]) -> [bool; COUNT] {
    places.map(Place::is_over)
}

/// A client that is admitted on a thread of its own, and keeps its place until it is told to leave.
fn admitted<'scope>(
    scope: &'scope Scope<'scope, '_>,
    places: &'scope ClientPlaces,
) -> (ScopedJoinHandle<'scope, ()>, Sender<()>, Receiver<()>) {
    let ((leave, waits), (tell, told)) = (mpsc::channel(), mpsc::channel());
    let before = count(places);
    let thread = scope.spawn(move || {
        let place = newcomer(places, "10.0.0.9");
        tell.send(()).unwrap();
        let _ = waits.recv();
        drop(place);
    });
    within(LONG, "it comes", || count(places) > before || thread.is_finished());
    (thread, leave, told)
}

#[test]
fn with_one_client_more_than_64_the_first_that_waits_goes() {
    let places = ClientPlaces::default();
    let taken = waiting(&places, &["10.0.0.1"; 64]);
    assert!(taken.iter().all(|place| !place.is_over()));
    let _last = newcomer(&places, "10.0.0.2");
    assert_eq!(taken.iter().position(Place::is_over), Some(0));
    assert_eq!(taken.iter().filter(|place| place.is_over()).count(), 1);
}

#[test]
fn whoever_comes_waits_while_all_others_are_owed_an_answer() {
    let places = ClientPlaces::default();
    let taken: Vec<_> = (0..64).map(|_| newcomer(&places, "10.0.0.1")).collect();
    thread::scope(|scope| {
        let (_thread, leave, told) = admitted(scope, &places);
        (0..100).for_each(|_| thread::yield_now());
        assert!(told.try_recv().is_err(), "nobody can go");
        taken[7].set_waiting(true);
        told.recv_timeout(LONG).unwrap();
        assert_eq!(taken.iter().position(Place::is_over), Some(7));
        drop(leave);
    });
}

#[test]
fn whoever_comes_waits_while_sixteen_that_were_ended_are_still_there() {
    let places = ClientPlaces::default();
    let mut taken = waiting(&places, &["10.0.0.1"; 80]);
    assert_eq!(taken.iter().filter(|place| place.is_over()).count(), 16);
    thread::scope(|scope| {
        let (_thread, leave, told) = admitted(scope, &places);
        (0..100).for_each(|_| thread::yield_now());
        assert!(told.try_recv().is_err(), "the threads of those that were ended take memory");
        drop(taken.remove(0));
        told.recv_timeout(LONG).unwrap();
        drop(leave);
    });
    let stopping = ClientPlaces::default();
    let _taken = waiting(&stopping, &["10.0.0.1"; 80]);
    thread::scope(|scope| {
        let (_thread, leave, told) = admitted(scope, &stopping);
        stopping.close();
        told.recv_timeout(LONG).expect("nobody waits for a place of a server that stops");
        drop(leave);
    });
}

#[test]
fn the_share_of_a_host_is_that_of_the_connections_that_stay() {
    let places = ClientPlaces::default();
    let (few, many) = ("10.0.0.1", "10.0.0.2");
    let taken = waiting(&places, &[many, many, many, few, few]);
    places.make_room();
    places.make_room();
    assert_eq!(order(&places, &taken)[..2], [3, 2], "of each one is left then");
}

/// A client on this host, which waits for a while at most, and its place.
pub fn connected(places: &ClientPlaces) -> (TcpStream, Place<'_>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    client.set_read_timeout(Some(LONG)).unwrap();
    let (socket, from) = listener.accept().unwrap();
    (client, places.admit(socket.into(), from.ip()))
}

#[test]
fn who_loses_its_place_loses_its_connection_and_at_a_stop_the_answer_may_still_be_sent() {
    let places = ClientPlaces::default();
    let [(mut lost, place), (mut stays, other)] = [(); 2].map(|()| connected(&places));
    place.wait(|| places.make_room());
    assert_eq!(self::lost([&place, &other]), [true, false]);
    assert_eq!(lost.read(&mut [0; 1]).unwrap(), 0);
    assert!(place.socket().write(b"a").is_err() && other.socket().write(b"a").is_ok());
    assert!(!places.is_closing());
    places.close();
    assert!(places.is_closing() && other.is_over());
    assert_eq!(other.socket().read(&mut [0; 1]).unwrap(), 0, "no more is heard");
    assert!(other.socket().write(b"b").is_ok());
    stays.read_exact(&mut [0; 2]).unwrap();
}

#[test]
fn a_server_that_stops_waits_for_answers_and_ends_who_waits_for_its_client_after_its_grace() {
    let places = ClientPlaces::default();
    let [idle, busy] = [(); 2].map(|()| newcomer(&places, "10.0.0.1"));
    idle.set_waiting(true);
    let is_leaving = |place: &Place<'_>| places.state.lock().taken[&place.number].is_leaving;
    thread::scope(|scope| {
        let clears = scope.spawn(|| places.clear(Duration::from_millis(1)));
        within(LONG, "who waits is ended", || is_leaving(&idle));
        assert!(!is_leaving(&busy) && !clears.is_finished());
        drop(idle);
        busy.set_waiting(true); // it has its answer
        within(LONG, "it is ended, too", || is_leaving(&busy));
        assert!(!clears.is_finished());
        drop(busy);
        clears.join().unwrap();
    });
    let late = newcomer(&places, "10.0.0.1");
    late.set_waiting(true);
    thread::scope(|scope| {
        let clears = scope.spawn(|| places.clear(Duration::from_secs(600)));
        (0..100).for_each(|_| thread::yield_now());
        assert!(!is_leaving(&late) && !clears.is_finished());
        drop(late);
        clears.join().unwrap();
    });
}

#[test]
fn a_stream_waits_for_news_or_until_its_place_is_lost_and_no_longer_than_it_wants() {
    let places = ClientPlaces::default();
    let place = newcomer(&places, "10.0.0.1");
    assert_eq!(places.news(), 0);
    let begun = Instant::now();
    place.wait_for_news(0, Duration::from_millis(10));
    assert!(begun.elapsed() >= Duration::from_millis(10), "there are none");
    let waits = |seen: u64, then: &dyn Fn()| {
        thread::scope(|scope| {
            let waits = scope.spawn(|| place.wait_for_news(seen, Duration::from_secs(600)));
            (0..100).for_each(|_| thread::yield_now());
            then();
            within(LONG, "it goes on", || waits.is_finished());
        });
    };
    waits(0, &|| places.tell_news());
    waits(0, &|| {}); // there were some already
    assert_eq!(places.news(), 1);
    waits(1, &|| place.wait(|| places.make_room()));
    assert!(place.is_over());
    waits(1, &|| {});
    let other = newcomer(&places, "10.0.0.1");
    thread::scope(|scope| {
        let waits = scope.spawn(|| other.wait_for_news(1, Duration::from_secs(600)));
        (0..100).for_each(|_| thread::yield_now());
        places.close();
        within(LONG, "it goes on when the server stops", || waits.is_finished());
    });
}

#[test]
fn a_connection_is_away_when_its_place_is_free() {
    let places = ClientPlaces::default();
    let taken = waiting(&places, &["10.0.0.1"; 3]);
    assert_eq!(count(&places), 3);
    drop(taken);
    assert_eq!(count(&places), 0);
    assert_eq!(newcomer(&places, "10.0.0.1").wait(|| 7), 7);
}

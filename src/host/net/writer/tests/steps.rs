//! The steps of a dial and of a connection: each ends, and the node may end in each.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::*;
use crate::testing::within::within;

/// Far longer than a step takes, and far shorter than `failure` is here.
const SOON: Duration = Duration::from_secs(20);

/// A peer that takes connections, as far as the system does so for it, and says nothing.
fn silent() -> (TcpListener, String) {
    let peer = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = peer.local_addr().unwrap().to_string();
    (peer, address)
}

/// What the core has heard of a dial that leads to nothing, and why it failed.
fn dials(scene: Scene) -> (Vec<String>, Option<String>) {
    let (done, ended) = bounded(1);
    thread::spawn(move || {
        let mut scene = scene;
        let is_over = matches!(scene.writer.open(), Err(WriterEnd::Connection));
        let _ = done.send((is_over, scene.heard(), scene.failed()));
    });
    let (is_over, heard, failed) = ended.recv_timeout(SOON).expect("each step ends");
    assert!(is_over);
    (heard, failed)
}

/// Otherwise a node that stops would wait for it.
#[test]
fn each_step_of_a_dial_is_given_up_long_before_a_long_failure() {
    static HANGS: Mutex<()> = Mutex::new(());
    let hangs = HANGS.lock();
    let places = MemberPlaces::with(|_| {
        drop(HANGS.lock());
        Ok(Vec::new())
    });
    let (heard, failed) = dials(Scene::new("b:1", places));
    let told = "the name service does not tell the address of b:1: look at it".to_owned();
    assert_eq!((heard, failed), (Vec::new(), Some(told)));
    drop(hangs);

    let crowded = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    crowded.bind(&"127.0.0.1:0".parse::<SocketAddr>().unwrap().into()).unwrap();
    crowded.listen(0).unwrap();
    let at = crowded.local_addr().unwrap().as_socket().unwrap();
    let fills = || TcpStream::connect_timeout(&at, Duration::from_millis(100)).ok();
    let _crowd: Vec<_> = std::iter::from_fn(fills).collect();
    let (heard, failed) = dials(Scene::new(&at.to_string(), MemberPlaces::default()));
    let told = format!("nothing answers at {at}: look at its host, the network and the firewalls");
    assert_eq!((heard, failed), (Vec::new(), Some(told)));

    let (_peer, address) = silent();
    let (heard, failed) = dials(Scene::new(&address, MemberPlaces::default()));
    assert_eq!(heard, ["Dialed"], "the core says no hello");
    assert_eq!(failed.as_deref(), Some("an earlier dial failed"));

    let scene = Scene::new(&address, MemberPlaces::default());
    scene.orders.send(WriterOrder::Hello(1, frame(b"hello"))).unwrap();
    let (heard, failed) = dials(scene);
    let told = "it takes connections, and the hello is not answered: look whether its process hangs, and whether large \
                packets pass (the MTU)";
    assert_eq!((heard, failed.as_deref()), (vec!["Dialed".to_owned()], Some(told)));
}

#[test]
fn a_node_that_ends_ends_its_dials() {
    let (_peer, address) = silent();
    let Scene { mut writer, line: _line, orders: _orders, events, _answering } =
        Scene::new(&address, MemberPlaces::default());
    drop(events);
    assert!(matches!(writer.open(), Err(WriterEnd::Node)), "nobody hears of it");
    let Scene { mut writer, line: _line, orders, events: _events, _answering } =
        Scene::new(&address, MemberPlaces::default());
    drop(orders);
    assert!(matches!(writer.open(), Err(WriterEnd::Node)), "nobody says what the hello tells");
}

/// A reader asks at the same time, and may not wait for the answer: that would be old at the next dial.
#[test]
fn the_address_of_the_next_dial_is_not_one_that_was_asked_for_during_this_one() {
    static AT: OnceLock<SocketAddr> = OnceLock::new();
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let (peer, _) = silent();
    AT.set(peer.local_addr().unwrap()).unwrap();
    let places = MemberPlaces::with(|_| {
        ASKED.fetch_add(1, Ordering::SeqCst);
        Ok(vec![*AT.get().unwrap()])
    });
    let mut scene = Scene::new("b:1", places.clone());
    scene.orders.send(WriterOrder::Hello(1, frame(b"hello"))).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut stream = peer.accept().unwrap().0;
            while !places.keeps_an_answer("b:1") {
                if places.resolve("b:1", Duration::ZERO).is_err() {
                    within(SOON, "the answer", || places.keeps_an_answer("b:1"));
                }
            }
            stream.write_all(&streams()[1]).unwrap();
        });
        assert!(scene.writer.open().is_ok());
    });
    assert!(!places.keeps_an_answer("b:1"));
    let asked = ASKED.load(Ordering::SeqCst);
    places.resolve("b:1", SOON).unwrap();
    assert_eq!(ASKED.load(Ordering::SeqCst), asked + 1);
}

#[test]
fn pauses_between_dials_double_up_to_failure_and_begin_anew_after_use_or_an_order() {
    let ms = Duration::from_millis;
    for (was_ordered, pause, next) in
        [(false, 10, 20), (false, 40, 80), (false, 60, 100), (false, 100, 100), (true, 80, 10)]
    {
        assert_eq!(after_pause(was_ordered, ms(pause), ms(100)), ms(next), "{pause}");
    }
    for (lasted, next) in [(0, 80), (99, 80), (100, 10), (5000, 10)] {
        assert_eq!(after_connection(ms(lasted), ms(80), ms(100)), ms(next), "{lasted}");
    }
    let mut scene = Scene::new("b:1", MemberPlaces::default());
    let pauses: Vec<_> = (0..100).map(|_| scene.writer.jittered(ms(100))).collect();
    assert!(pauses.iter().all(|pause| (ms(50)..=ms(100)).contains(pause)), "{pauses:?}");
    let parts = [ms(50)..ms(60), ms(70)..ms(80), ms(90)..ms(100)];
    assert!(parts.iter().all(|part| pauses.iter().any(|pause| part.contains(pause))));
}

/// The time of a dial that was not answered is a part of its pause.
#[test]
fn a_pause_begins_before_the_dial_that_it_follows() {
    let mut scene = Scene::new("b:1", MemberPlaces::default());
    let (done, ended) = bounded(1);
    thread::spawn(move || {
        let long_ago = Instant::now() - TIMEOUT;
        let _ = done.send((scene.writer.back_off(long_ago, TIMEOUT), scene));
    });
    let (ended, _scene) = ended.recv_timeout(SOON).expect("it has passed");
    assert_eq!(ended, Some(false));
}

/// Pauses that did not end with `failure` would last for minutes by now.
#[test]
fn a_peer_that_refuses_is_dialed_again_and_again() {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&"127.0.0.1:0".parse::<SocketAddr>().unwrap().into()).unwrap();
    let refuses = socket.local_addr().unwrap().as_socket().unwrap().to_string();
    let Scene { writer, line, orders, events, _answering } =
        Scene::new(&refuses, MemberPlaces::default());
    writer.failure_time.set(Duration::from_millis(1));
    let writes = thread::spawn(move || writer.run());
    for _ in 0..16 {
        let event = events.recv_timeout(SOON).expect("it goes on");
        assert!(matches!(event, NetEvent::Input(Input::Refused { peer: PEER })), "{event:?}");
    }
    drop((line, orders));
    writes.join().unwrap();
}

/// Whether the writer sends what waits. It has a step for each, and the machine may stand still.
fn sends_what_waits() -> bool {
    let (peer, address) = silent();
    let mut scene = Scene::new(&address, MemberPlaces::default());
    let (channel, stream) = dial(&mut scene, &peer, &streams()[1]).unwrap();
    let said = fill(&scene);
    let reads = thread::spawn(move || heard_whole(stream));
    let Scene { writer, line: _line, orders, events: _events, _answering } = scene;
    let counters = writer.surroundings.counters.clone();
    for order in [WriterOrder::Hello(7, frame(b"late")), WriterOrder::Dial] {
        orders.send(order).unwrap(); // of an earlier dial: there is a connection
    }
    let near = channel.clone();
    let writes = thread::spawn(move || writer.write(&near));
    within(SOON, "it sends", || counted(&counters) == said || writes.is_finished());
    let _ = orders.send(WriterOrder::Disconnect);
    assert!(matches!(writes.join().unwrap(), WriterEnd::Connection));
    channel.close();
    (reads.join().unwrap(), counted(&counters)) == (said, said)
}

#[test]
fn what_waits_is_sent_and_counted_until_an_order_ends_the_connection() {
    assert!((0..20).any(|_| sends_what_waits()));
}

#[test]
fn a_peer_that_does_not_read_is_given_up_and_a_node_that_ends_ends_its_connections() {
    let (peer, address) = silent();
    let mut scene = Scene::new(&address, MemberPlaces::default());
    let (channel, _stream) = dial(&mut scene, &peer, &streams()[1]).unwrap();
    let said = fill(&scene);
    let (done, ended) = bounded(1);
    thread::spawn(move || {
        let is_over = matches!(scene.writer.write(&channel), WriterEnd::Connection);
        let _ = done.send((is_over, counted(&scene.writer.surroundings.counters), scene));
    });
    let (is_over, counted, _scene) = ended.recv_timeout(SOON).expect("it is given up");
    assert_eq!((is_over, counted), (true, said - 3));
    for ends_orders in [true, false] {
        let mut scene = Scene::new(&address, MemberPlaces::default());
        let (channel, _stream) = dial(&mut scene, &peer, &streams()[1]).unwrap();
        let Scene { writer, line, orders, events: _events, _answering } = scene;
        let (mut line, mut orders) = (Some(line), Some(orders));
        if ends_orders {
            drop(orders.take())
        } else {
            drop(line.take())
        }
        assert!(matches!(writer.write(&channel), WriterEnd::Node), "{ends_orders}");
    }
}

//! Certificates that prove nothing: invented ones, and genuine ones of an earlier life. Each comes in both ways: as the
//! answer to a dial, from a process in the place of a dead member, and as a message of a member.
//!
//! With the slow timings nobody misses the leader, so whoever elects another believed what it was told.

use std::io::Write;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use serde_json::{Value, json};
use story::story;

use super::{is_certificate, kill_both, nobody_is_free, others, said, slow, until_replaced};
use crate::support::impostor::{Impostor, write};
use crate::support::{Cluster, electd, ensure, eventually};

/// So many answers are more than a node needs to act on one.
const OFTEN: usize = 2;

/// Whoever listens in the place of a member that died with its coroner, and answers each dial with this frame.
struct StandIn {
    address: SocketAddr,
    answered: Arc<AtomicUsize>,
    has_ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl StandIn {
    fn of(cluster: &Cluster, number: usize, frame: Vec<u8>) -> StandIn {
        let address = cluster.node(number).address;
        let listener = TcpListener::bind(address).unwrap();
        let (answered, has_ended) = (Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
        let (counts, ends) = (Arc::clone(&answered), Arc::clone(&has_ended));
        let thread = thread::spawn(move || {
            let mut open = Vec::new();
            for mut dialer in listener.incoming().flatten() {
                if ends.load(Ordering::SeqCst) {
                    return;
                }
                let given =
                    dialer.write_all(&frame).and_then(|()| dialer.shutdown(Shutdown::Write));
                counts.fetch_add(usize::from(given.is_ok()), Ordering::Relaxed);
                open.push(dialer); // or what the dialer says would take the answer away
            }
        });
        StandIn { address, answered, has_ended, thread: Some(thread) }
    }

    #[track_caller]
    fn until_heard_often(&self) {
        let before = self.answered.load(Ordering::Relaxed);
        eventually("it has answered many dials", || {
            let now = self.answered.load(Ordering::Relaxed);
            ensure(now >= before + OFTEN, || format!("{now}, {before} at first"))
        });
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.has_ended.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address); // it waits for a dial
        let _ = self.thread.take().unwrap().join();
    }
}

/// A certificate of this start of a member, and the frame of it as an answer.
fn frame(certificate: &Value) -> Vec<u8> {
    let json = json!({ "dead": certificate }).to_string();
    [&u32::try_from(json.len()).unwrap().to_be_bytes(), json.as_bytes()].concat()
}

/// One that somebody invented who does not know the secret.
fn forged(cluster: &Cluster, number: usize) -> Value {
    json!({"member": cluster.id(number), "incarnation": 1, "secret": "5c".repeat(32)})
}

/// Passes a certificate on to these, as this member, which is down. Waits until they have taken it.
fn pass_on(cluster: &Cluster, number: usize, to: &[usize], certificate: &Value) {
    let impostor = Impostor { highest: Some(7), ..Impostor::of(cluster, number) };
    for to in to {
        let count = || cluster.status(*to).map(|status| status.messages["dead"].received);
        let (before, mut link) = (count().unwrap(), impostor.welcomed(*to));
        write(&mut link, &impostor.message(0, &json!({ "dead": certificate }))).unwrap();
        eventually("it has the certificate", || {
            let now = count()?;
            ensure(now > before, || format!("{now} are counted"))
        });
    }
}

/// How often each of these has changed its state or its leader.
fn changes(cluster: &Cluster, numbers: [usize; 2]) -> [usize; 2] {
    numbers.map(|number| cluster.status(number).unwrap().changes.len())
}

/// Rule Z1. The leader and its coroner were killed, and somebody answers in its place.
/// Claim: no-forgery.
#[story]
fn an_invented_answer_in_the_place_of_the_dead_leader_frees_no_voter() {
    let cluster = Cluster::start_with(3, slow);
    let (leader, epoch) = cluster.agree();
    kill_both(cluster.node(leader));
    let stand_in = StandIn::of(&cluster, leader, frame(&forged(&cluster, leader)));
    for number in others(leader) {
        cluster.node(number).until_logged(&["whoever answers there", "is not genuine"]);
    }
    stand_in.until_heard_often();
    nobody_is_free(&cluster, others(leader), epoch);
}

/// Rule Z1. A follower is down; in its place, and in its name, the death of the leader is told.
/// Claim: no-forgery.
#[story]
fn an_invented_death_of_a_leader_that_lives_ends_nothing() {
    let cluster = Cluster::start_with(3, slow);
    let (leader, epoch) = cluster.agree();
    let [liar, voter] = others(leader);
    kill_both(cluster.node(liar));
    let (dead, before) = (forged(&cluster, leader), changes(&cluster, [leader, voter]));
    let stand_in = StandIn::of(&cluster, liar, frame(&dead));
    cluster.node(voter).until_logged(&["whoever answers there", "is not genuine"]);
    pass_on(&cluster, liar, &[voter, leader], &dead);
    let from = format!("from {}", cluster.node(liar).name);
    cluster.node(voter).until_logged(&[&from, "is not genuine"]);
    stand_in.until_heard_often();
    assert_eq!(cluster.agree_among(&[leader, voter], leader), epoch);
    assert_eq!(changes(&cluster, [leader, voter]), before);
}

/// Three members whose leader has crashed once and leads again: its place, the epoch, and the certificate of its first
/// life.
fn led_again() -> (Cluster, usize, u64, Value) {
    let cluster = Cluster::start_with(3, slow);
    let (leader, _) = cluster.agree();
    let node = cluster.node(leader);
    node.kill_9();
    let kept = said(node).unwrap();
    assert!(is_certificate(&kept));
    let kept: Value = serde_json::from_slice(&kept[4..]).unwrap();
    let meanwhile = until_replaced(&cluster, leader);
    node.start();
    cluster.agree_on(meanwhile);
    let other = cluster.node(meanwhile).name.as_str();
    // With these timings it counts for no leader for longer than the command waits, and takes over afterwards.
    let _ = electd(&cluster, &["switchover", "--to", &node.name, "--node", other]);
    let epoch = cluster.agree_on(leader);
    (cluster, leader, epoch, kept["dead"].clone())
}

/// Rule Z2.
/// Claim: no-forgery.
#[story]
fn a_certificate_that_is_kept_until_the_member_leads_again_ends_nothing() {
    let (cluster, leader, epoch, kept) = led_again();
    let [liar, voter] = others(leader);
    kill_both(cluster.node(liar));
    let before = changes(&cluster, [leader, voter]);
    let stand_in = StandIn::of(&cluster, liar, frame(&kept));
    stand_in.until_heard_often();
    pass_on(&cluster, liar, &[voter, leader], &kept);
    stand_in.until_heard_often();
    assert_eq!(cluster.agree_among(&[leader, voter], leader), epoch);
    assert_eq!(changes(&cluster, [leader, voter]), before);
}

/// Rule Z2. The second life ends with its coroner: nobody may certify it, and the proof of the first is no proof.
/// Claim: no-forgery.
#[story]
fn a_certificate_of_the_life_before_in_the_place_of_the_dead_leader_frees_no_voter() {
    let (cluster, leader, epoch, kept) = led_again();
    kill_both(cluster.node(leader));
    let stand_in = StandIn::of(&cluster, leader, frame(&kept));
    for number in others(leader) {
        eventually("it hears a coroner there", || {
            let status = cluster.status(number)?;
            let dial = status.members[leader - 1].failed_dial.clone().unwrap_or_default();
            ensure(dial.contains("its host certifies its death"), || dial)
        });
    }
    stand_in.until_heard_often();
    nobody_is_free(&cluster, others(leader), epoch);
}

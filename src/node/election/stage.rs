//! The election thread on the thread of a test, which gives it events and sees what it took and what it told.

use crossbeam::channel::bounded;
use serde_json::json;

use super::*;
use crate::config::{Builder, Config, LocksConfig};
use crate::core::OperatorCommand;
use crate::core::settings::Settings;
use crate::net::{Inbox, NetworkContext, OwnListener, Peers, Refusals, ThreadEnd};
use crate::node::inbox::Queue;
use crate::node::locks::hands::HandsThread;
use crate::node::logged::whole;
use crate::node::prepare::{self, restore};
use crate::node::running::NodeHandle;
use crate::rank::Sample;
use crate::realtime::Realtime;
use crate::store::locks::LocksFile;
use crate::tls::Security;

/// In which all is done.
pub const LIMIT: Duration = Duration::from_secs(100);

/// An election thread that has not begun, with its other threads.
pub struct Stage {
    pub election: ElectionLoop,
    pub handle: NodeHandle,
}

/// What became of it.
pub struct Told {
    /// What its core took and put out, but for the turns of its timers and dials.
    pub turns: Vec<(Input, Vec<Output>)>,
    /// The lines of its log and their fields.
    pub log: Vec<[String; 2]>,
}

/// The first member, whose timers count from so long ago.
pub fn stage(config: &Config, ago: Duration, change: impl FnOnce(&mut Settings)) -> Stage {
    let own = &config.members[0];
    let mut settings = prepare::settings(config, own);
    settings.value = Some(0);
    change(&mut settings);
    let (store, restored) = restore(config, own, &settings, None).unwrap();
    let address = prepare::own_address(config, own).unwrap();
    let socket: OwnListener = prepare::listen(config, own, address, &mut settings).unwrap();
    let begin = Time(clock::now().0 - u64::try_from(ago.as_nanos()).unwrap());
    let durable = restored.record.clone();
    let core = Core::new(begin, settings, restored, 1);
    let (sender, events) = bounded(1024);
    let queue = Queue::new(sender, Realtime::default());
    let sample = Ok(Sample { value: 0, from: String::new() });
    let (list, pace) = (core.members().clone(), store.pace());
    let published = Arc::new(Published::new(&core, list, &sample, pace, Realtime::default()));
    let stored = queue.clone();
    let store =
        StoreWriter::start(store, move |result| _ = stored.send(InboxEvent::Stored(result)))
            .unwrap();
    let (file, record) = LocksFile::open(&config.state_dir(&own.name), own.id).unwrap();
    let stored = queue.clone();
    let file =
        StoreWriter::start(file, move |result| _ = stored.send(InboxEvent::LocksStored(result)))
            .unwrap();
    let (hands, tally) = (published.hands.clone(), published.measures.tally.clone());
    let shown = (published.locks.clone(), HandsThread::start(core.id(), hands, tally).unwrap());
    let record = record.unwrap_or_default();
    let locks = LockSide::new(&core, &durable, (file, record), LocksConfig::default(), shown);
    let (answering, end) = ThreadEnd::new();
    let inbox = Inbox::new(queue.urgent.clone(), end.clone());
    let counters = published.measures.counters.clone();
    let refusals = Refusals::new(counters.clone(), |_, _| ());
    let surroundings = NetworkContext::new(
        inbox,
        Peers::default(),
        Security::default(),
        refusals,
        counters,
        Realtime::default(),
    );
    let peers = members::peers(core.members(), core.id());
    let net = Net::start(socket, peers, config.timing.failure, surroundings, 1).unwrap();
    let election =
        ElectionLoop::new(core, net, (store, locks), (events, answering), published.clone());
    Stage { election, handle: NodeHandle { published, events: queue, end } }
}

/// Stops the thread, even if what the test does beside it fails.
struct Stops<'s>(&'s NodeHandle);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        let _ = self.0.order(OperatorCommand::Stop, LIMIT); // it may have ended
    }
}

impl Stage {
    pub fn send(&self, event: InboxEvent) {
        assert!(self.handle.events.try_send(event), "there is room");
    }

    /// Lets the thread run until it has taken what it was sent, and this is done beside it.
    pub fn run(self, act: impl FnOnce(&NodeHandle) + Send) -> Told {
        let Stage { election, handle } = self;
        let log = std::thread::scope(|scope| {
            let handle = &handle;
            scope.spawn(move || {
                let _stops = Stops(handle);
                act(handle);
            });
            whole(|| {
                let (net, store) = election.run();
                net.stop();
                store.stop();
            })
        });
        let mut turns = turns(&handle);
        // Nobody listens where the other member is, which the network finds at some time.
        turns.retain(|(input, _)| !matches!(input, Input::Tick | Input::Refused { .. }));
        Told { turns, log }
    }
}

/// All turns of the core.
pub fn turns(handle: &NodeHandle) -> Vec<(Input, Vec<Output>)> {
    let segments = handle.published.taped.segments();
    assert!(segments.len() < 2, "there were not many");
    let Some(segment) = segments.first() else { return Vec::new() };
    let (_, mut rest) = postcard::take_from_bytes::<(bool, Time, Core)>(segment).unwrap();
    let mut turns = Vec::new();
    // The last one may be amid its turn.
    while let Ok(((_, input), after)) = postcard::take_from_bytes::<(Time, Input)>(rest)
        && let Ok((outputs, after)) = postcard::take_from_bytes::<Vec<Output>>(after)
    {
        turns.push((input, outputs));
        rest = after;
    }
    turns
}

/// Two members on free ports, of which the second does not run; they wait long before they suspect each other.
pub fn two_members(folder: &std::path::Path, failure: &str) -> Config {
    let ids = ["018db8ac-db45-4792-a0b9-9560d9932c98", "6810b99e-43f6-4461-9022-87f37f50ffb1"];
    let ports = [(); 2].map(|()| std::net::TcpListener::bind("127.0.0.1:0").unwrap());
    let [a, b] = ports.map(|port| port.local_addr().unwrap().to_string());
    let builder = Builder::new("two", "none", folder).member("a", ids[0], &a);
    let builder = builder.member("b", ids[1], &b);
    builder.set("timing", json!({ "failure": failure })).build().unwrap()
}

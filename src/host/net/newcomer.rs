//! A dialer that said hello: its connection, and where the answer goes.

use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam::channel::Sender;

use crate::core::detector::ConnectionId;
use crate::core::message::Hello;
use crate::core::types::NodeId;
use crate::wire::Frame;

/// The handle of a connection for those who may close it.
#[derive(Debug)]
pub struct Closer {
    pub(super) stream: TcpStream,
    pub(super) shut: AtomicBool,
    evicted: AtomicBool,
    pub(super) welcomed: AtomicBool,
}

impl Closer {
    pub fn new(stream: TcpStream) -> Closer {
        let [shut, evicted, welcomed] = [const { AtomicBool::new(false) }; 3];
        Closer { stream, shut, evicted, welcomed }
    }

    /// Ends the connection; its reader returns silently.
    pub fn shut(&self) {
        if !self.shut.swap(true, Ordering::Relaxed) {
            self.close();
        }
    }

    pub(super) fn close(&self) {
        let _ = self.stream.shutdown(Shutdown::Both); // it may have ended by itself
    }

    /// Ends a connection that the node does not keep. If the core welcomed the connection meanwhile,
    /// its reader reports the end.
    pub fn evict(&self) {
        self.evicted.store(true, Ordering::Relaxed);
        self.close();
    }

    /// Whether its reader is on its way out.
    pub fn is_evicted(&self) -> bool {
        self.evicted.load(Ordering::Relaxed)
    }

    pub fn is_welcomed(&self) -> bool {
        self.welcomed.load(Ordering::Relaxed)
    }
}

/// A dialer's hello, with the means to answer it.
#[derive(Debug)]
pub struct Newcomer {
    pub(super) connection: ConnectionId,
    pub(super) address: String,
    pub(super) hello: Hello,
    pub(super) closer: Arc<Closer>,
    pub(super) answer: Sender<HelloAnswer>,
}

/// The core's answer to a hello.
#[derive(Debug)]
pub(super) enum HelloAnswer {
    Welcome(NodeId, Frame),
    Reject(Frame),
}

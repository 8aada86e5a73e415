//! The ring election.

use super::Election;
use crate::core::context::Context;
use crate::core::message::{Message, View};
use crate::core::phase::Reason;
use crate::core::timer::Timer;
use crate::core::types::NodeId;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ring {}

impl Election for Ring {
    fn start(&mut self, _cx: &mut Context, _reason: Reason) {}
    fn receive(&mut self, _cx: &mut Context, _from: NodeId, _message: &Message) -> Option<View> {
        None
    }
    fn expire(&mut self, _cx: &mut Context, _timer: Timer) {}
    fn resume(&mut self, _cx: &mut Context) {}
    fn lost(&mut self, _cx: &mut Context, _peer: NodeId) {}
    fn joined(&mut self, _cx: &mut Context, _peer: NodeId) {}
    fn await_leader(&mut self, _cx: &mut Context, _leader: NodeId, _reason: Reason) {}
}

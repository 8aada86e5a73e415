//! Death certificates: what a member does that has the proof of another's death, and who gets the proof from it.
//!
//! The coroner of a dead node answers whoever dials that node, and each member passes the certificate on. So the voters
//! are free before any candidate asks them, and nobody waits for the end of a lease.

use std::time::Duration;

use crate::core::api::Output;
use crate::core::context::Context;
use crate::core::death::{CertificateVerdict, DeathCertificate};
use crate::core::detector::Peer;
use crate::core::leadership::call;
use crate::core::message::{Liveness, Message};
use crate::core::note::Note;
use crate::core::phase::Reason;
use crate::core::planted::Fault;
use crate::core::timer::Timer;
use crate::core::turn::Turn;
use crate::core::types::NodeId;

/// A coroner answered a dial with a certificate; or a member passes one on. One that proves nothing changes nothing.
pub fn hear(turn: &mut Turn<'_>, from: Option<NodeId>, certificate: DeathCertificate) {
    let DeathCertificate { member: peer, incarnation, .. } = certificate;
    let settings = turn.cx.state.settings.clone();
    let judge = |peer: &mut Peer| Some(peer.lives.judge(&certificate, &settings.cluster));
    match turn.cx.state.detector.change(peer, judge) {
        Some(CertificateVerdict::Over) => {}
        Some(CertificateVerdict::Forged) => {
            return turn.cx.out.push(Output::Note(Note::Forged { peer, incarnation, from }));
        }
        // Each member passes each certificate on once at most.
        Some(CertificateVerdict::Unknown | CertificateVerdict::Known) | None => return,
    }
    turn.cx.state.voter.bury(peer, incarnation);
    pass_on(&mut turn.cx, from, certificate);
    ask_again(&mut turn.cx);
    if turn.cx.state.detector.get(peer).is_some_and(|peer| peer.is_present(incarnation)) {
        end_connections(&mut turn.cx, peer);
        call::lose(turn, peer, Liveness::Dead, Reason::LeaderCertified(peer));
    }
}

/// Passes a certificate on to all other members. It precedes what this member sends in the election, so that a voter
/// is free when it is asked. (Z4)
fn pass_on(cx: &mut Context<'_>, from: Option<NodeId>, certificate: DeathCertificate) {
    let mut others = cx.all_others();
    others.retain(|id| *id != certificate.member && Some(*id) != from);
    cx.send_all(others, Message::Dead(certificate));
}

/// What the dead process sent is still on its way, and its heartbeats would bind voters again: this member takes no more
/// of it. (Z3)
fn end_connections(cx: &mut Context<'_>, peer: NodeId) {
    if !Fault::DeadBinds.is_planted() {
        cx.state.detector.change(peer, |peer| peer.lines.end());
        cx.out.push(Output::Disconnect { peer });
    }
}

/// The voters that denied this member their votes may be free by now: it asks them at once, or, if it still awaits some
/// of their answers, as soon as it has these. (Z5)
fn ask_again(cx: &mut Context<'_>) {
    if let Some(question) = cx.state.candidacy.question_mut() {
        question.is_outdated = true;
    } else if cx.state.candidacy.is_denied() {
        cx.arm(Timer::Voters, Duration::ZERO);
    }
}

/// Gives a member that is reachable from now on the certificates that may free it: that of the last leader, while no
/// other leads; and that of this member's own earlier life. (Z4)
pub fn repeat(cx: &mut Context<'_>, to: NodeId) {
    let last = cx.state.view().leader.and_then(|leader| cx.state.detector.get(leader.id));
    let last = last.and_then(|leader| leader.lives.certificate()).filter(|dead| dead.member != to);
    for certificate in last.into_iter().chain(cx.state.settings.buried) {
        cx.send(to, Message::Dead(certificate));
    }
}

//! One client, on a thread of its own: reads a request, answers it, and so on.

use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Instant;

use serde_json::json;

use crate::node::events::{EventLog, Logged};
use crate::node::handle::{Command, CommandError, Handle};

use super::dispatch::{self, Answer, ServerContext};
use super::elections;
use super::inbound::ClientRequest;
use super::limits;
use super::peers;
use super::places::{ConnectionUse, Place};
use super::redirect::Redirection;
use super::response::{Delivery, Response};
use super::stream::{self, Stream};
use super::talk::{Over, Talk};
use super::verdict;

/// A client's connection.
struct ClientConnection<'a, H> {
    shared: &'a ServerContext<H>,
    talk: Talk<'a>,
}

/// The end of a conversation that did not just break off.
enum ConversationEnd {
    /// No further request is heard.
    Over(Over),
    /// A process attaches itself to the node by this connection.
    Attach,
}

/// Serves the client that has this place until it is gone.
pub fn serve<'a, H: Handle>(shared: &'a ServerContext<H>, place: Place<'a>) {
    let mut connection = ClientConnection { shared, talk: Talk::new(place) };
    match connection.converse() {
        Ok(ConversationEnd::Over(Over::Answered)) => connection.talk.finish(),
        Ok(ConversationEnd::Attach) => match connection.talk.line.into_socket() {
            Ok(socket) => shared.attach(UnixStream::from(OwnedFd::from(socket))),
            Err(error) => log::warn!("a connection cannot be given away: {error}"),
        },
        Ok(ConversationEnd::Over(Over::Silence)) | Err(_) => {}
    }
}

impl<H: Handle> ClientConnection<'_, H> {
    /// Answers requests until there are no more.
    ///
    /// # Errors
    /// If the client is gone, or does not take an answer in time.
    fn converse(&mut self) -> io::Result<ConversationEnd> {
        self.talk.line.place().socket().set_nonblocking(true)?;
        let mut until = Instant::now() + limits::REQUEST;
        match self.talk.line.secure(&self.shared.security(), until) {
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                let sentence = "this address serves HTTPS alone: ask for https://";
                return self
                    .talk
                    .refuse(&Response::error(400, sentence))
                    .map(ConversationEnd::Over);
            }
            begun => begun?,
        }
        loop {
            let mut asked = match self.talk.hear(until)? {
                Ok(asked) => asked,
                Err(over) => return Ok(ConversationEnd::Over(over)),
            };
            asked.request.came_by_tls = self.talk.line.has_tls();
            if let Some(end) = self.answer(&asked)? {
                return Ok(end);
            }
            until = self.talk.until_next();
        }
    }

    /// Answers a request; returns the end if it was the last.
    fn answer(
        &mut self,
        ClientRequest { request, body }: &ClientRequest,
    ) -> io::Result<Option<ConversationEnd>> {
        let answer =
            dispatch::answer(request, body, self.shared, |name| self.talk.line.proves(name));
        let response = match answer {
            Answer::Now(response) => response,
            Answer::Command(command) => self.carry_out(command),
            Answer::Peer(name) => self.ask_peer(&name),
            Answer::Redirect(to) => self.redirect(&to),
            Answer::Election(asked) => self.find_election(asked),
            Answer::Verdict => self.find_verdict(),
            Answer::Attach => return Ok(Some(ConversationEnd::Attach)),
            Answer::Stream(stream) if self.talk.line.place().begin(ConnectionUse::Stream) => {
                let handle = self.shared.handle();
                let told = match stream.lock {
                    Some(_) => self.stream(stream, &handle.lock_events()),
                    None => self.stream(stream, &handle.events()),
                };
                return told.map(|()| Some(ConversationEnd::Over(Over::Answered)));
            }
            Answer::Stream(_) => stream::too_many(),
        };
        let close = request.wants_close() || self.shared.places().is_closing();
        let head_only = request.method == "HEAD";
        self.talk.send(&response, Delivery { head_only, close, old: request.old })?;
        Ok(close.then_some(ConversationEnd::Over(Over::Answered)))
    }

    /// Gives the node a command. Returns the outcome in words.
    fn carry_out(&self, command: Command) -> Response {
        if !self.talk.line.place().begin(ConnectionUse::Command) {
            let sentence = "too many commands are under way; try again in a moment";
            return Response::not_now(503, sentence);
        }
        let response = carry_out(command, self.shared.handle());
        self.talk.line.place().end();
        response
    }

    /// What another member shows.
    fn ask_peer(&self, name: &str) -> Response {
        if !self.talk.line.place().begin(ConnectionUse::Peer) {
            return peers::too_many();
        }
        let response = peers::status(name, self.shared.handle(), &self.shared.security());
        self.talk.line.place().end();
        response
    }

    /// To where the work of the leader, or of a lock, is reached.
    fn redirect(&self, to: &Redirection) -> Response {
        if !self.talk.line.place().begin(ConnectionUse::Peer) {
            return peers::too_many();
        }
        let response = to.answer(self.shared.handle(), &self.shared.security());
        self.talk.line.place().end();
        response
    }

    /// An election, as the members recorded it.
    fn find_election(&self, asked: elections::ElectionQuery) -> Response {
        if !self.talk.line.place().begin(ConnectionUse::Election) {
            return elections::too_many();
        }
        let (node, security) = (self.shared.handle(), self.shared.security());
        let response = self.shared.elections().answer(asked, node, &security);
        self.talk.line.place().end();
        response
    }

    /// How the cluster is, as its members answer.
    fn find_verdict(&self) -> Response {
        if !self.talk.line.place().begin(ConnectionUse::Election) {
            return verdict::too_many();
        }
        let (node, security) = (self.shared.handle(), self.shared.security());
        let response = self.shared.verdicts().answer(node, &security);
        self.talk.line.place().end();
        response
    }

    /// Sends events for as long as the client takes them, the last ones of a node that ends too.
    fn stream<E: Logged>(&mut self, mut stream: Stream, log: &EventLog<E>) -> io::Result<()> {
        self.tell(stream::HEAD)?;
        loop {
            let is_over = self.talk.line.place().is_over() || self.talk.line.is_ended();
            let news = self.shared.places().news();
            let bytes = stream.next(log, Instant::now());
            if bytes.is_empty() {
                if is_over {
                    return Ok(());
                }
                self.talk.line.place().wait_for_news(news, limits::LOOK);
                continue;
            }
            let sent = self.tell(&bytes);
            if sent.as_ref().is_err_and(|error| error.kind() == ErrorKind::TimedOut) {
                log.count_cut();
            }
            sent?;
        }
    }

    fn tell(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.talk.line.send(bytes, Instant::now() + limits::ANSWER)?;
        self.talk.line.place().make_progress();
        Ok(())
    }
}

fn carry_out<H: Handle>(command: Command, handle: &H) -> Response {
    let id = match &command {
        Command::Add(member) => Some(member.id.to_string()),
        _ => None,
    };
    match handle.command(command, limits::COMMAND) {
        Ok(outcome) => Response::json(
            200,
            &match id {
                Some(id) => json!({ "result": outcome.sentence, "id": id }),
                None => json!({ "result": outcome.sentence, "successor": outcome.successor }),
            },
        ),
        Err(CommandError::Invalid(sentence)) => Response::error(400, sentence),
        Err(CommandError::Refused(sentence)) => Response::error(409, sentence),
        Err(CommandError::NotNow(sentence)) => Response::not_now(409, sentence),
        Err(CommandError::Unanswered(sentence)) => Response::error(503, sentence),
    }
}

#[cfg(all(test, feature = "tls"))]
mod tests;

//! A change of the names and addresses of members: whether they answer where they are to be dialed from now on.
//!
//! Whoever is dialed where it does not listen is lost to the others as soon as its connections end. So a live member has
//! to answer at its new address first: it was started with a file that has that address, where all look for it too.

use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use super::handle::CommandError;
use super::status::Status;
use crate::core::membership::Member;
use crate::net;

/// How long the name service may take, and then the host.
const LIMITS: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(1)];

/// Dials all live members that are to be at another address, all at once.
///
/// # Errors
/// With the first that does not answer there.
pub(super) fn await_answers(entries: &[Member], status: &Status) -> Result<(), CommandError> {
    let moves = |entry: &&Member| {
        let known = status.members.iter().find(|member| member.id == entry.id.to_string());
        known.is_some_and(|known| known.is_alive() && known.address != entry.address)
    };
    let dial = |entry: &Member| {
        let [name, host] = LIMITS;
        let failed = net::dial(&entry.address, name, host).err()?;
        Some(format!(
            "{} lives and does not answer at {}: {failed}; start it there first, with that address in the files of all, or \
             use --force",
            entry.name, entry.address
        ))
    };
    let silent = thread::scope(|scope| {
        let dials = entries.iter().filter(moves).map(|entry| {
            let dialing = thread::Builder::new().spawn_scoped(scope, move || dial(entry));
            dialing.map_err(|error| {
                format!("no thread can be started to dial {}: {error}", entry.name)
            })
        });
        let dials: Vec<_> = dials.collect(); // all at the same time
        let failed = |dial: Result<ScopedJoinHandle<'_, _>, _>| match dial {
            Ok(dial) => dial.join().ok().flatten(),
            Err(why) => Some(why),
        };
        dials.into_iter().find_map(failed)
    });
    silent.map_or(Ok(()), |what| Err(CommandError::Refused(what)))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use uuid::Uuid;

    use super::*;
    use crate::core::types::{NodeId, Role};
    use crate::node::status::MemberStatus;

    #[test]
    fn only_a_live_member_has_to_answer_where_it_is_to_be_dialed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (there, gone) = (listener.local_addr().unwrap().to_string(), "127.0.0.1:1".to_owned());
        let id = NodeId(Uuid::from_u128(1));
        let told = |status: &str, at: &str, to: &str| {
            let known = MemberStatus {
                id: id.to_string(),
                status: status.to_owned(),
                address: at.to_owned(),
                ..MemberStatus::default()
            };
            let entry = Member {
                id,
                name: "b".to_owned(),
                address: to.to_owned(),
                admin: None,
                role: Role::Member,
            };
            await_answers(&[entry], &Status { members: vec![known], ..Status::default() })
        };
        assert_eq!(told("alive", "a:1", &there), Ok(()));
        assert_eq!(told("dead", "a:1", &gone), Ok(()), "it cannot answer");
        assert_eq!(told("alive", &gone, &gone), Ok(()), "it stays");
        let words = told("alive", &there, &gone).unwrap_err().to_string();
        assert!(words.starts_with("b lives and does not answer at 127.0.0.1:1: "), "{words}");
    }
}

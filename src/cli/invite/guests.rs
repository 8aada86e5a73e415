//! Which tokens are left, and which hosts have used one.

use std::time::Instant;

use parking_lot::Mutex;
use uuid::Uuid;

use crate::node::status::MemberStatus;

/// The tokens, with the hosts that used them.
pub struct Guests(Mutex<Vec<Guest>>);

struct Guest {
    secret: Uuid,
    member: Option<MemberStatus>,
    used: Option<Instant>,
    is_added: bool,
    /// Why the leader refused the member last.
    refusal: String,
}

impl Guests {
    pub fn new(secrets: &[Uuid]) -> Guests {
        let guest = |secret: &Uuid| Guest {
            secret: *secret,
            member: None,
            used: None,
            is_added: false,
            refusal: "its node does not run".to_owned(),
        };
        Guests(Mutex::new(secrets.iter().map(guest).collect()))
    }

    /// Whether the host of this name and address may come with this secret. One that was let in, and is no member yet, may
    /// come again: what it was given may not have reached its disk.
    ///
    /// # Errors
    /// In words.
    pub fn judge(&self, secret: Uuid, name: &str, address: &str) -> Result<(), String> {
        let guests = self.0.lock();
        find(&guests, secret, name, address).map(drop)
    }

    /// The host has used this secret: nobody else can.
    ///
    /// # Errors
    /// In words, if somebody has meanwhile, or another one takes the name.
    pub fn take(&self, secret: Uuid, member: MemberStatus) -> Result<(), String> {
        let mut guests = self.0.lock();
        let at = find(&guests, secret, &member.name, &member.address)?;
        let is_taken = |guest: &Guest| {
            guest.secret != secret && guest.member.as_ref().is_some_and(|it| it.name == member.name)
        };
        if guests.iter().any(is_taken) {
            return Err(format!(
                "another host joins as {}: give another name with --name",
                member.name
            ));
        }
        (guests[at].member, guests[at].used) = (Some(member), Some(Instant::now()));
        Ok(())
    }

    /// The id of the host that used this secret.
    pub fn id_of(&self, secret: Uuid) -> Option<String> {
        let guests = self.0.lock();
        let guest = guests.iter().find(|guest| guest.secret == secret)?;
        guest.member.as_ref().map(|member| member.id.clone())
    }

    /// The hosts that are no members yet.
    pub fn waiting(&self) -> Vec<MemberStatus> {
        self.waiting_besides(None)
    }

    /// The same, without the host of this secret.
    pub fn waiting_besides(&self, secret: Option<Uuid>) -> Vec<MemberStatus> {
        let guests = self.0.lock();
        let waiting = guests.iter().filter(|guest| !guest.is_added && Some(guest.secret) != secret);
        waiting.filter_map(|guest| guest.member.clone()).collect()
    }

    /// The names of those that used a token, in this order.
    pub fn joined(&self) -> Vec<String> {
        let mut guests = self.0.lock();
        guests.sort_by_key(|guest| guest.used);
        guests.iter().filter_map(|guest| Some(guest.member.as_ref()?.name.clone())).collect()
    }

    pub fn done(&self, name: &str) {
        self.change(name, |guest| guest.is_added = true);
    }

    pub fn note(&self, name: &str, refusal: String) {
        self.change(name, |guest| guest.refusal = refusal);
    }

    fn change(&self, name: &str, change: impl FnOnce(&mut Guest)) {
        let mut guests = self.0.lock();
        let is_it = |guest: &&mut Guest| guest.member.as_ref().is_some_and(|it| it.name == name);
        if let Some(guest) = guests.iter_mut().find(is_it) {
            change(guest);
        }
    }

    pub fn is_done(&self) -> bool {
        self.0.lock().iter().all(|guest| guest.is_added)
    }

    /// What is missing, in words.
    pub fn left(&self) -> String {
        let guests = self.0.lock();
        let unused = guests.iter().filter(|guest| guest.member.is_none()).count();
        let mut words =
            vec![format!("the time is over: {unused} of {} tokens were not used", guests.len())];
        for guest in guests.iter().filter(|guest| !guest.is_added) {
            if let Some(member) = &guest.member {
                words.push(format!("{} is no member: {}", member.name, guest.refusal));
            }
        }
        words.join("; ")
    }
}

/// The guest of a token that nobody else used. Each secret has 122 random bits, and a comparison tells nobody by its time how
/// many of them are right, as what is compared are hashes.
fn find(guests: &[Guest], secret: Uuid, name: &str, address: &str) -> Result<usize, String> {
    use sha2::{Digest, Sha256};
    let hash = |secret: &Uuid| Sha256::digest(secret.as_bytes());
    let at = guests.iter().position(|guest| hash(&guest.secret) == hash(&secret));
    let at = at.ok_or("the token is wrong: copy the line that this host printed last")?;
    let is_same = |it: &MemberStatus| (it.name.as_str(), it.address.as_str()) == (name, address);
    let is_free = guests[at].member.as_ref().is_none_or(|it| !guests[at].is_added && is_same(it));
    if is_free {
        Ok(at)
    } else {
        Err("the token is used: `electd invite` there prints a new one".to_owned())
    }
}

//! Which tokens are left, and which hosts have used one.

use std::time::Instant;

use parking_lot::Mutex;
use uuid::Uuid;

use crate::node::status::MemberStatus;

/// The tokens, with the hosts that used them.
pub struct Book(Mutex<Vec<Place>>);

struct Place {
    secret: Uuid,
    member: Option<MemberStatus>,
    used: Option<Instant>,
    is_added: bool,
    /// Why the leader refused the member last.
    refusal: String,
}

impl Book {
    pub fn new(secrets: &[Uuid]) -> Book {
        let place = |secret: &Uuid| Place {
            secret: *secret,
            member: None,
            used: None,
            is_added: false,
            refusal: "its node does not run".to_owned(),
        };
        Book(Mutex::new(secrets.iter().map(place).collect()))
    }

    /// Whether a host may come with this secret.
    ///
    /// # Errors
    /// In words.
    pub fn judge(&self, secret: Uuid) -> Result<(), String> {
        let places = self.0.lock();
        find(&places, secret).map(drop)
    }

    /// The host has used this secret: nobody else can.
    ///
    /// # Errors
    /// In words, if somebody has meanwhile, or another one takes the name.
    pub fn take(&self, secret: Uuid, member: MemberStatus) -> Result<(), String> {
        let mut places = self.0.lock();
        let at = find(&places, secret)?;
        let is_taken =
            |place: &Place| place.member.as_ref().is_some_and(|it| it.name == member.name);
        if places.iter().any(is_taken) {
            return Err(format!(
                "another host joins as {}: give another name with --name",
                member.name
            ));
        }
        (places[at].member, places[at].used) = (Some(member), Some(Instant::now()));
        Ok(())
    }

    /// The hosts that are no members yet.
    pub fn waiting(&self) -> Vec<MemberStatus> {
        let places = self.0.lock();
        let waiting = places.iter().filter(|place| !place.is_added);
        waiting.filter_map(|place| place.member.clone()).collect()
    }

    /// The names of those that used a token, in this order.
    pub fn joined(&self) -> Vec<String> {
        let mut places = self.0.lock();
        places.sort_by_key(|place| place.used);
        places.iter().filter_map(|place| Some(place.member.as_ref()?.name.clone())).collect()
    }

    pub fn done(&self, name: &str) {
        self.change(name, |place| place.is_added = true);
    }

    pub fn note(&self, name: &str, refusal: String) {
        self.change(name, |place| place.refusal = refusal);
    }

    fn change(&self, name: &str, change: impl FnOnce(&mut Place)) {
        let mut places = self.0.lock();
        let is_it = |place: &&mut Place| place.member.as_ref().is_some_and(|it| it.name == name);
        if let Some(place) = places.iter_mut().find(is_it) {
            change(place);
        }
    }

    pub fn is_done(&self) -> bool {
        self.0.lock().iter().all(|place| place.is_added)
    }

    /// What is missing, in words.
    pub fn left(&self) -> String {
        let places = self.0.lock();
        let unused = places.iter().filter(|place| place.member.is_none()).count();
        let mut words =
            vec![format!("the time is over: {unused} of {} tokens were not used", places.len())];
        for place in places.iter().filter(|place| !place.is_added) {
            if let Some(member) = &place.member {
                words.push(format!("{} is no member: {}", member.name, place.refusal));
            }
        }
        words.join("; ")
    }
}

/// The place of a token that nobody used. Each secret has 122 random bits, and a comparison tells nobody by its time how
/// many of them are right, as what is compared are hashes.
fn find(places: &[Place], secret: Uuid) -> Result<usize, String> {
    use sha2::{Digest, Sha256};
    let hash = |secret: &Uuid| Sha256::digest(secret.as_bytes());
    let at = places.iter().position(|place| hash(&place.secret) == hash(&secret));
    match at.ok_or("the token is wrong: copy the line that this host printed last")? {
        at if places[at].member.is_some() => {
            Err("the token is used: `electd invite` there prints a new one".to_owned())
        }
        at => Ok(at),
    }
}

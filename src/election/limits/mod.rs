//! The bounds of input from outside: names, ids, numbers, members and member lists.
//!
//! These functions alone judge the configuration file, HTTP, the wire and the state file, so that none of the four
//! lets in what another would refuse. (X1)

mod plain;

use std::collections::BTreeSet;

use thiserror::Error;
use uuid::{Uuid, Variant};

use crate::core::address::{BadAddress, HostPort};
use crate::core::membership::{MOST_MEMBERS, MOST_REMOVED, Member, MemberList};
use crate::core::types::Drain;

pub use plain::{plain_json, printable};

/// The greatest epoch, round, counter, incarnation or number of a message that a member accepts. Elections and
/// changes never come near it: at a million a second it takes 146,000 years. (X2)
pub const GREATEST: u64 = 1 << 62;

/// The rule for a member's name, in words.
pub const NAME_RULE: &str =
    "use 1 to 63 of the characters A-Z a-z 0-9 . _ - (but neither \".\" nor \"..\")";

/// Whether this may be a member's name, which is also a folder.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    (1..=63).contains(&name.len()) && name.bytes().all(allowed) && name != "." && name != ".."
}

/// Whether this may be a cluster's name.
#[must_use]
pub fn is_cluster_name(name: &str) -> bool {
    let plain = !name.is_empty() && name.trim() == name && !name.contains(disguises);
    plain && name.chars().count() <= 63
}

/// Whether an id is a UUID of version 4.
#[must_use]
pub fn is_id(id: Uuid) -> bool {
    id.get_version_num() == 4 && id.get_variant() == Variant::RFC4122
}

/// The longest text of another member that this one shows, in characters.
const LONGEST_LINE: usize = 128;

/// Whether a character would change how the text around it is shown: a control character, a line separator, or one
/// that turns the direction of the text, so that a line reads as another.
#[must_use]
pub fn disguises(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a text of another member may be logged and shown: one short line without disguise.
#[must_use]
pub fn is_line(text: &str) -> bool {
    !text.contains(disguises) && text.chars().nth(LONGEST_LINE).is_none()
}

/// Whether this may be the reason of a drain, which is stored and shown.
#[must_use]
pub fn is_reason(text: &str) -> bool {
    text.len() <= Drain::LONGEST && !text.contains(disguises)
}

/// The longest URL that a node sends clients to, in bytes.
pub const LONGEST_URL: usize = 256;

/// The rule for such a URL, in words.
pub const URL_RULE: &str =
    "use http:// or https:// and printable ASCII without blanks, at most 256 bytes";

/// Whether clients may be sent to this URL: it is a line of a header.
#[must_use]
pub fn is_url(text: &str) -> bool {
    let host = ["http://", "https://"].iter().find_map(|scheme| text.strip_prefix(scheme));
    let plain = text.bytes().all(|byte| byte.is_ascii_graphic());
    plain
        && text.len() <= LONGEST_URL
        && host.is_some_and(|host| !host.is_empty() && !host.starts_with('/'))
}

/// The longest piece of a value that an error quotes, in characters.
const QUOTED: usize = 60;

/// A piece of a value from outside, safe to show in a terminal and on one line.
#[must_use]
pub fn quote(text: &str) -> String {
    shown(text, QUOTED)
}

/// A text with pieces of a value from outside, cut after `most` characters, in which the characters that would
/// disguise it are escaped.
#[must_use]
pub fn shown(text: &str, most: usize) -> String {
    let mut shown = String::new();
    for (count, c) in text.chars().enumerate() {
        if count == most {
            shown.push_str("...");
            break;
        }
        if disguises(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown
}

/// Why a member's entry is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "a field without words is what its name says")]
pub enum MemberError {
    /// Its name breaks the rule.
    #[error("\"name\": \"{}\" is not a name: {NAME_RULE}", quote(.0))]
    Name(String),
    /// Its id is of another kind.
    #[error("\"id\": \"{0}\" is not a version 4 UUID: give a fresh one, as `uuidgen -r` prints")]
    Id(Uuid),
    /// One of its two addresses is invalid.
    #[error("\"{key}\": \"{}\" {}: {}", quote(.text), .bad.what, .bad.remedy)]
    Address { key: &'static str, text: String, bad: BadAddress },
    /// Nobody could dial its address.
    #[error("\"address\": \"{}\" is every address of a host: give one to dial", quote(.0))]
    Wildcard(String),
    /// Its two addresses would share one socket.
    #[error("\"admin\": \"{}\" is its address: give admin a port of its own", quote(.0))]
    Admin(String),
}

/// What to do where a process may not open enough files, sockets included.
pub const MORE_FILES: &str =
    "raise the limit of open files (LimitNOFILE= in the unit, or ulimit -n)";

/// What to do where a process finds nothing of itself, nor of others.
pub const MOUNT_PROC: &str = "mount the file system of processes: mount -t proc proc /proc";

/// Why a member list is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ListError {
    /// It is empty, or too long.
    #[error("there are {0} members; at least 1 and at most {MOST_MEMBERS} belong to a cluster")]
    Count(usize),
    /// One of its members is refused.
    #[error("member {0}: {1}")]
    Member(usize, MemberError),
    /// A member shares its id, its name or an address with an earlier one.
    #[error("member {0}: its {1} is that of another member: give every member one of its own")]
    Shared(usize, &'static str),
    /// No member could ever lead.
    #[error("no member may lead: give at least one the role \"member\"")]
    NoCandidate,
    /// It remembers too many removed members.
    #[error("there are {0} removed members; the most is {MOST_REMOVED}")]
    Removed(usize),
    /// An id is removed twice, or is that of a member.
    #[error("the removed id {0} is there twice, or is that of a member")]
    RemovedTwice(Uuid),
    /// No version would be left above its own.
    #[error("its version is beyond all changes; the greatest is {GREATEST}")]
    Version,
}

impl Member {
    /// Judges an entry by itself. Returns its addresses in the form in which two are compared.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn judge(&self) -> Result<(HostPort, Option<HostPort>), MemberError> {
        if !is_name(&self.name) {
            return Err(MemberError::Name(self.name.clone()));
        }
        if !is_id(self.id.0) {
            return Err(MemberError::Id(self.id.0));
        }
        let parse = |key, text: &String| {
            HostPort::parse(text).map_err(|bad| MemberError::Address {
                key,
                text: text.clone(),
                bad,
            })
        };
        let address = parse("address", &self.address)?;
        if address.is_wildcard() {
            return Err(MemberError::Wildcard(self.address.clone()));
        }
        let admin = self.admin.as_ref().map(|admin| parse("admin", admin)).transpose()?;
        if admin.as_ref().is_some_and(|admin| admin.clashes(&address)) {
            return Err(MemberError::Admin(self.admin.clone().unwrap_or_default()));
        }
        Ok((address, admin))
    }
}

impl MemberList {
    /// Judges a list as a whole: each member by itself, then what no two of them may share.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn judge(&self) -> Result<(), ListError> {
        if self.version().epoch.0.max(self.version().counter) > GREATEST {
            return Err(ListError::Version);
        }
        let count = self.iter().len();
        if !(1..=MOST_MEMBERS).contains(&count) {
            return Err(ListError::Count(count));
        }
        let (mut ids, mut names, mut places) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for (at, member) in self.iter().enumerate() {
            let (address, admin) =
                member.judge().map_err(|error| ListError::Member(at + 1, error))?;
            let new = [
                ("id", ids.insert(member.id.0)),
                ("name", names.insert(&member.name)),
                ("address", places.insert(address)),
                ("admin", admin.is_none_or(|admin| places.insert(admin))),
            ];
            if let Some((what, _)) = new.into_iter().find(|(_, new)| !new) {
                return Err(ListError::Shared(at + 1, what));
            }
        }
        if !self.iter().any(Member::may_lead) {
            return Err(ListError::NoCandidate);
        }
        if self.removed().len() > MOST_REMOVED {
            return Err(ListError::Removed(self.removed().len()));
        }
        let twice = self.removed().iter().find(|id| !ids.insert(id.0));
        twice.map_or(Ok(()), |id| Err(ListError::RemovedTwice(id.0)))
    }
}

#[cfg(test)]
mod tests;

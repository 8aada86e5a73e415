//! Why two members refuse each other, and what to do about it.

use serde::{Deserialize, Serialize};
use strum::VariantArray;

use super::hint::{ClusterFlags, Hint};

/// Why one member refuses another. The names are part of electd's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "snake_case")]
pub enum RefusalCause {
    /// No version of the protocol is one of both.
    Protocol,
    /// They belong to different clusters.
    Cluster,
    /// It is not in the member list of the side that refuses.
    UnknownId,
    /// It was removed from the cluster.
    Removed,
    /// Both have the same id.
    OwnId,
    /// Another process is connected as this member.
    IdInUse,
    /// It names numbers that cannot have come about.
    Beyond,
    /// A key that all members have to agree on differs.
    Disagreement,
    /// Its certificate is not taken, or it has none.
    Certificate,
    /// It came back without what it had promised.
    StateLost,
    /// Another member answers at its address.
    WrongAddress,
    /// What a later version names otherwise.
    #[serde(other)]
    Other,
}

impl RefusalCause {
    /// All of them.
    pub const ALL: &'static [RefusalCause] = RefusalCause::VARIANTS;
}

/// That two members refuse each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MutualRefusal {
    /// Why.
    pub cause: RefusalCause,
    /// The one that is refused, by its name, and the address at which members dial it, as far as that is known.
    pub refused: Option<(String, String)>,
}

impl MutualRefusal {
    /// For this cause; which of the two is refused is not known.
    #[must_use]
    pub fn by(cause: RefusalCause) -> MutualRefusal {
        MutualRefusal { cause, refused: None }
    }

    /// What to do about it.
    #[must_use]
    pub fn remedy(&self, flags: &ClusterFlags) -> String {
        let refused = self.refused.as_ref().map(|(name, address)| (&**name, &**address));
        let (name, address) = refused.unwrap_or(("NAME", "HOST:PORT"));
        let add = Hint::MemberAdd.with(&format!("--name {name} --address {address}"), flags);
        let remove = Hint::MemberRemove.with(name, flags);
        match self.cause {
            RefusalCause::Protocol => "run versions of electd that have one in common".to_owned(),
            RefusalCause::Cluster => "give both the same file, or other addresses".to_owned(),
            RefusalCause::UnknownId => {
                format!("give both the same file, or have the cluster take it: {add}")
            }
            RefusalCause::Removed => {
                format!("stop the removed one; under a fresh id it may come again: {add}")
            }
            RefusalCause::OwnId => "give every member an id of its own".to_owned(),
            RefusalCause::IdInUse => "stop one of the two processes".to_owned(),
            RefusalCause::Beyond => "stop the refused one, and look at who it is".to_owned(),
            RefusalCause::Disagreement => "give both the same file".to_owned(),
            RefusalCause::Certificate => format!(
                "correct the certificate, as the message says: {} on its host shows it",
                Hint::Check.by(flags)
            ),
            RefusalCause::StateLost => format!(
                "stop any other process of {}; replace it: {remove}, a fresh id in its file, {add}",
                refused.map_or("the refused one", |(name, _)| name)
            ),
            RefusalCause::WrongAddress => {
                "correct the addresses, or write one file and copy it to all hosts".to_owned()
            }
            RefusalCause::Other => OTHER.to_owned(),
        }
    }
}

/// What to do if the cause is not known.
pub(super) const OTHER: &str = "give both the same file; the message says what differs";

#[cfg(test)]
mod tests {
    use super::*;

    /// A cluster whose state was lost is not mended by copying a file.
    #[test]
    fn each_cause_has_a_remedy_of_its_own_and_a_name() {
        let of = |cause| MutualRefusal::by(cause).remedy(&ClusterFlags::default());
        let mut all: Vec<String> = RefusalCause::ALL.iter().map(|cause| of(*cause)).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), RefusalCause::ALL.len());
        let named = |word: &str| serde_json::from_value::<RefusalCause>(word.into()).unwrap();
        assert_eq!(named("state_lost"), RefusalCause::StateLost);
        assert_eq!(named("a later word"), RefusalCause::Other);
    }

    /// Whoever copies a command must not have to look up what it is about.
    #[test]
    fn a_command_has_its_arguments_where_they_are_known() {
        let of = |cause, refused: Option<[&str; 2]>| {
            let refused = refused.map(|[name, address]| (name.to_owned(), address.to_owned()));
            let flags = ClusterFlags::of_command(Some("f.json".as_ref()));
            MutualRefusal { cause, refused }.remedy(&flags)
        };
        let add = "`electd member add --config f.json --name d --address 10.0.0.4:7101`";
        let d = Some(["d", "10.0.0.4:7101"]);
        for cause in [RefusalCause::UnknownId, RefusalCause::Removed, RefusalCause::StateLost] {
            assert!(of(cause, d).contains(add), "{}", of(cause, d));
            let unknown = "`electd member add --config f.json --name NAME --address HOST:PORT`";
            assert!(of(cause, None).contains(unknown), "{}", of(cause, None));
        }
        let replaced = of(RefusalCause::StateLost, d);
        assert!(replaced.contains("`electd member remove --config f.json d`"), "{replaced}");
    }
}

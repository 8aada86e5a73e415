//! The words between a node and `electd exec` over the control socket, one line each ([`crate::local::lines`]).
//!
//! `exec` asks `GET /exec` with an `Upgrade` header; after the answer 101 the connection carries these lines until
//! either side closes it. Unknown fields are ignored, so that two versions understand each other.

use serde::{Deserialize, Serialize};

use super::period::PeriodWish;

/// The protocol that is asked for in the `Upgrade` header.
pub const PROTOCOL: &str = "electd-exec";

/// What a node says first: what it gives, and which words it takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The name of a file in the state folder: the guard of an older `exec` locks it, and that of this version where the
    /// node gives no descriptors.
    pub lock: String,
    /// The addresses that the node itself holds while it leads, which no other process on this host
    /// may hold. An older node omits them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
    /// The name of the node's clock (`clock.rs`). An older node does not say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<String>,
    /// Whether the node takes [`FromExec::Failed`]. An older node does not.
    #[serde(default)]
    pub takes_failures: bool,
    /// Whether the node gives descriptors to one that takes them. An older node does not.
    #[serde(default)]
    pub gives: bool,
    /// Whether the node takes [`FromExec::Clean`]. An older node does not.
    #[serde(default)]
    pub takes_clean: bool,
    /// Whether the node takes [`FromExec::Late`]. An older node does not.
    #[serde(default)]
    pub takes_late: bool,
    /// Whether the node takes [`FromExec::Lock`]. An older node does not.
    #[serde(default)]
    pub takes_locks: bool,
    /// Whether the node takes [`FromExec::Url`]. An older node does not.
    #[serde(default)]
    pub takes_urls: bool,
    /// Whether the node takes [`FromExec::Lock`] with periods. An older node does not.
    #[serde(default)]
    pub takes_periods: bool,
    /// Whether the node takes [`FromExec::Seen`]. An older node does not.
    #[serde(default)]
    pub takes_seen: bool,
}

/// A message of the node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromNode {
    /// The first line.
    Welcome(Welcome),
    /// The node leads, and for how long if nothing renews that.
    Leads {
        /// The epoch.
        epoch: u64,
        /// When that ends, in nanoseconds of CLOCK_BOOTTIME: of the clock that the first line names.
        until: u64,
        /// For how long a renewal is good, in nanoseconds. An older node does not say so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        renewal: Option<u64>,
    },
    /// The node does not lead, or not any more.
    DoesNotLead,
    /// The leadership ends cleanly: the node waits for the end of the command.
    Ending,
    /// The answer to [`FromExec::Hold`]: whether the leadership waits for the command. To one that takes descriptors those
    /// of the locked file, and of the line to the coroner if there is one, come with the yes.
    Held(bool),
    /// The other answer to one that takes descriptors: why no command can begin.
    Unable(String),
    /// The answer to [`FromExec::Lock`]: what comes after this is about the lock, with its token as the epoch. What came before
    /// was about the leadership.
    WantsLock,
    /// The other answer: the node does not want the lock.
    NoLock {
        /// As one word.
        cause: NoLockCause,
        /// In words.
        why: String,
    },
    /// The answer to [`FromExec::Resign`], and to [`FromExec::Failed`]: why the node keeps leading, or nothing.
    Resigned(Option<String>),
}

/// Why a node does not want a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoLockCause {
    /// The name breaks the rules of this node.
    Name,
    /// The cluster works without a majority.
    QuorumNone,
    /// Another host wants other periods for it.
    Differs,
    /// The period has had its run.
    HasRun,
    /// The configuration declares no such lock, or not for this member.
    NotAllowed,
    /// Another reason, which may pass.
    #[serde(other)]
    Other,
}

/// A message of `exec`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromExec {
    /// The node is to want the lock of this name: not the leadership is what the command runs by.
    Lock {
        /// As `--lock` has it.
        name: String,
        /// If the command runs once in each period.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        period: Option<PeriodWish>,
    },
    /// Where the command is reached, after it said what that runs by.
    Url {
        /// As `--url` has it.
        url: String,
    },
    /// A command is about to begin: the leadership is to wait for its end, at most this long.
    Hold {
        /// Milliseconds.
        most_ms: u64,
        /// Whether it takes descriptors. An older `exec` does not: the coroner of the node cannot know of its guard.
        #[serde(default)]
        takes: bool,
    },
    /// Nothing of the command is left for certain. [`FromExec::Ended`] follows.
    Clean,
    /// The command of this epoch was ended, as no renewal came in time.
    Late {
        /// The epoch.
        epoch: u64,
    },
    /// It has taken note of where the leadership stands, of a renewal too: a node that never hears this asks for nothing.
    Seen,
    /// The command has ended.
    Ended,
    /// The run of this period ended with this code.
    Ran {
        /// The exit code of the command.
        code: u8,
    },
    /// The node is to hand over.
    Resign,
    /// The command failed soon after its start: the node is to lead only if no other can, for a time.
    Failed {
        /// How, in words.
        reason: String,
    },
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;

    use super::*;
    use crate::local::lines::{read, write};

    /// As an electd of another version says it, and as this one has to.
    #[track_caller]
    fn is_written<T>(word: &T, line: &str)
    where
        T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug,
    {
        let mut bytes = Vec::new();
        write(&mut bytes, word).unwrap();
        assert_eq!(String::from_utf8(bytes).unwrap(), format!("{line}\n"));
        let mut lines = line.as_bytes();
        assert_eq!(read::<T>(&mut lines).unwrap().as_ref(), Some(word), "{line}");
        assert_eq!(read::<T>(&mut lines).unwrap(), None);
    }

    /// The first line of a node that says no more than it has to.
    fn older() -> FromNode {
        FromNode::Welcome(Welcome { lock: "exec-1.lock".to_owned(), ..Welcome::default() })
    }

    #[test]
    fn lines_are_read_as_they_were_written() {
        let newer = FromNode::Welcome(Welcome {
            lock: "exec-2.lock".to_owned(),
            addresses: vec!["a".to_owned()],
            clock: Some("time:[1]".to_owned()),
            takes_failures: true,
            takes_clean: true,
            takes_late: true,
            gives: true,
            takes_locks: true,
            takes_urls: true,
            takes_periods: true,
            takes_seen: true,
        });
        for (word, line) in [
            (
                &older(),
                r#"{"welcome":{"lock":"exec-1.lock","takes_failures":false,"gives":false,"takes_clean":false,"takes_late":false,"takes_locks":false,"takes_urls":false,"takes_periods":false,"takes_seen":false}}"#,
            ),
            (
                &newer,
                r#"{"welcome":{"lock":"exec-2.lock","addresses":["a"],"clock":"time:[1]","takes_failures":true,"gives":true,"takes_clean":true,"takes_late":true,"takes_locks":true,"takes_urls":true,"takes_periods":true,"takes_seen":true}}"#,
            ),
            (
                &FromNode::Leads { epoch: 7, until: u64::MAX, renewal: None },
                r#"{"leads":{"epoch":7,"until":18446744073709551615}}"#,
            ),
            (
                &FromNode::Leads { epoch: 7, until: 9, renewal: Some(3) },
                r#"{"leads":{"epoch":7,"until":9,"renewal":3}}"#,
            ),
            (&FromNode::DoesNotLead, r#""does_not_lead""#),
            (&FromNode::Ending, r#""ending""#),
            (&FromNode::WantsLock, r#""wants_lock""#),
            (
                &FromNode::NoLock { cause: NoLockCause::QuorumNone, why: "so".to_owned() },
                r#"{"no_lock":{"cause":"quorum_none","why":"so"}}"#,
            ),
            (&FromNode::Held(true), r#"{"held":true}"#),
            (&FromNode::Unable("so".to_owned()), r#"{"unable":"so"}"#),
            (&FromNode::Resigned(None), r#"{"resigned":null}"#),
            (&FromNode::Resigned(Some("so".to_owned())), r#"{"resigned":"so"}"#),
        ] {
            is_written(word, line);
        }
        let reason = "code 3".to_owned();
        let name = "backup".to_owned();
        let period = Some(PeriodWish { length_ms: 2000, begin_ms: 5, retry: true, stays: false });
        for (word, line) in [
            (FromExec::Lock { name: name.clone(), period: None }, r#"{"lock":{"name":"backup"}}"#),
            (
                FromExec::Lock { name, period },
                r#"{"lock":{"name":"backup","period":{"length_ms":2000,"begin_ms":5,"retry":true,"stays":false}}}"#,
            ),
            (FromExec::Ran { code: 3 }, r#"{"ran":{"code":3}}"#),
            (FromExec::Hold { most_ms: 9, takes: true }, r#"{"hold":{"most_ms":9,"takes":true}}"#),
            (FromExec::Url { url: "http://h".to_owned() }, r#"{"url":{"url":"http://h"}}"#),
            (FromExec::Clean, r#""clean""#),
            (FromExec::Seen, r#""seen""#),
            (FromExec::Ended, r#""ended""#),
            (FromExec::Resign, r#""resign""#),
            (FromExec::Failed { reason }, r#"{"failed":{"reason":"code 3"}}"#),
        ] {
            is_written(&word, line);
        }
    }

    #[test]
    fn what_an_older_one_leaves_out_and_what_a_later_one_adds_is_understood() {
        let bare = read(&mut &b"{\"welcome\":{\"lock\":\"exec-1.lock\"}}"[..]).unwrap();
        assert_eq!(bare, Some(older()), "an older node says no more");
        let hold = read(&mut &b"{\"hold\":{\"most_ms\":9}}"[..]).unwrap();
        assert_eq!(hold, Some(FromExec::Hold { most_ms: 9, takes: false }), "an older exec");
        let later =
            read(&mut &b"{\"no_lock\":{\"cause\":\"undeclared\",\"why\":\"so\"}}"[..]).unwrap();
        let other = FromNode::NoLock { cause: NoLockCause::Other, why: "so".to_owned() };
        assert_eq!(later, Some(other), "a later node has more causes");
    }

    #[test]
    fn a_line_of_another_protocol_is_refused() {
        assert!(read::<FromExec>(&mut &b"{\"run\": 1}\n"[..]).is_err());
    }
}

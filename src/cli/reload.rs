//! Reading the configuration again while a node runs: on HUP, by `POST /reload` and by `electd reload`.
//!
//! The file is read and validated as a whole, and what it asks for is prepared, before anything changes. Settings
//! that all members must share, or that are bound to sockets and folders, need a restart, and are named.

use std::sync::Arc;

use clap::Args;
use serde_json::json;

use crate::admin::Token;
use crate::admin::client::Order;
use crate::config::HealthConfig;
use crate::core::settings::Alone;
use crate::exec::hooks::HooksHandle;
use crate::node::certificates::Certificates;
use crate::node::checked::Checks;
use crate::node::edited::{PresentConfig, is_checked_otherwise, is_timed_otherwise, needs_restart};
use crate::node::handle::CommandError::{self, Invalid};
use crate::node::ranked::Ranks;
use crate::node::{Node, NodeHandle};

use super::args::ConfigArgs;
use super::error::CliError;
use super::exit::Exit;
use super::order::OrderArgs;
use super::token;

/// Let a running node read its configuration again.
///
/// The timings, its own rank (the figures of the attribute, and how often it is sampled), its hooks, its health
/// check, its certificates and the token of admin_token_file take effect immediately, without a new election; a
/// leader keeps the rank that it was elected with until the next one. All other changes need a restart and are named.
/// If the file has a problem, nothing changes. The signal HUP does the same, and logs the outcome.
///
/// Exit codes: 0 done; 69 the node does not answer; 78 the file has problems.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd reload --config cluster.json                  the node of this host
  electd reload --config cluster.json --node node-1")]
pub struct ReloadArgs {
    #[command(flatten)]
    order: OrderArgs,
}

impl ReloadArgs {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        self.order.tell_one(Exit::Config, &Order::post("reload", &json!({})))
    }
}

/// The parts that a running node reads again and changes, for all ways to ask for that.
pub struct Reloader {
    arguments: ConfigArgs,
    name: String,
    node: NodeHandle,
    /// The lock also makes reloads take turns.
    present: PresentConfig,
    ranks: Ranks,
    checks: Checks,
    certificates: Certificates,
    hooks: HooksHandle,
    token: Token,
}

impl Reloader {
    /// For the member of this name.
    pub fn new(
        arguments: ConfigArgs,
        name: &str,
        node: &Node,
        hooks: HooksHandle,
        token: Token,
    ) -> Arc<Reloader> {
        let (name, present) = (name.to_owned(), node.present());
        let (ranks, checks, certificates) = (node.ranks(), node.checks(), node.certificates());
        let node = node.handle();
        Arc::new(Reloader {
            arguments,
            name,
            node,
            present,
            ranks,
            checks,
            certificates,
            hooks,
            token,
        })
    }

    /// Reads the file again. Returns what took effect and what needs a restart, in words.
    ///
    /// # Errors
    /// With all problems of the file, or if the node does not answer; then nothing has changed.
    pub fn reload(&self) -> Result<String, CommandError> {
        let mut present = self.present.lock();
        let found = self.arguments.load().map_err(|errors| Invalid(errors.to_string()))?;
        let missing = || {
            Invalid(format!("the file lists no member \"{}\" any more: nothing changed", self.name))
        };
        let own = found.member(&self.name).ok_or_else(missing)?.clone();
        let token = token::configured(&found).map_err(|error| Invalid(error.message))?;
        let certificates = self.certificates.prepare(&own).map_err(Invalid)?;
        let restart = needs_restart(&present, &found, &self.name);
        let timed = is_timed_otherwise(&present, &found);
        if timed {
            self.node.check_timing(&found.timing).map_err(Invalid)?;
        }
        let mut done = Vec::new();
        if timed {
            self.node.retime(found.timing)?;
            present.timing = found.timing;
            done.push("timings");
        }
        if present.locks != found.locks {
            self.node.set_locks(found.locks.clone())?;
            present.locks.clone_from(&found.locks);
            done.push("locks");
        }
        if self.token.replace(token) {
            done.push("token");
        }
        if self.certificates.take(certificates) {
            done.push("certificates");
        }
        // No other member could compare a rank by another attribute with its own.
        let same_kind = present.rank == found.rank;
        let old = present.members.iter_mut().find(|member| member.name == self.name);
        if let Some(old) = old.filter(|old| same_kind && old.rank != own.rank) {
            self.ranks
                .replace(&own)
                .map_err(|error| Invalid(format!("the rank cannot be changed: {error}")))?;
            old.rank = own.rank;
            done.push("rank");
        }
        if is_checked_otherwise(&present, &found, &self.name) {
            self.checks
                .replace(own.health.as_ref())
                .map_err(|error| Invalid(format!("the health check cannot be changed: {error}")))?;
            done.push("health");
        }
        let old = present.members.iter_mut().find(|member| member.name == self.name);
        if let Some(old) = old {
            let alone = old.health.as_ref().map_or_else(Alone::default, |health| health.alone);
            old.health = own.health.map(|health| HealthConfig { alone, ..health });
            old.tls = own.tls.filter(|_| old.tls.is_some()).or_else(|| old.tls.take());
        }
        let old = present.members.iter_mut().find(|member| member.name == self.name);
        if let Some(old) = old.filter(|old| old.hooks != own.hooks) {
            self.hooks
                .replace(own.hooks.clone())
                .map_err(|error| Invalid(format!("the hooks cannot be changed: {error}")))?;
            old.hooks = own.hooks;
            done.push("hooks");
        }
        Ok(sentence(&done, &restart, self.node.differs_from(&found)))
    }
}

fn sentence(done: &[&str], restart: &[&str], members: Option<String>) -> String {
    let mut parts = vec![match done {
        [] => "nothing to change immediately".to_owned(),
        done => format!("changed immediately: {}", done.join(", ")),
    }];
    if !restart.is_empty() {
        parts.push(format!("needs a restart of this node: {}", restart.join(", ")));
    }
    parts.extend(members);
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[test]
    fn what_changed_and_what_needs_a_restart_is_one_sentence() {
        let said = sentence(&["rank"], &["preempt"], Some("the members differ".to_owned()));
        let words =
            "changed immediately: rank; needs a restart of this node: preempt; the members differ";
        assert_eq!(said, words);
        assert_eq!(sentence(&[], &[], None), "nothing to change immediately");
    }

    #[derive(clap::Parser)]
    struct Arguments {
        #[command(flatten)]
        config: ConfigArgs,
    }

    /// What changes in the file of a node takes effect once, and each thing is named.
    #[test]
    fn what_is_read_again_is_compared_with_what_was_read_last() {
        let node = crate::node::example::leader().unwrap();
        let file = node.config();
        let arguments = Arguments::parse_from(["electd", "--config", file.to_str().unwrap()]);
        let hooks = crate::exec::hooks::Hooks::start(&node.handle(), "example", None).unwrap();
        let reloader =
            Reloader::new(arguments.config, "a", &node, hooks.handle(), Token::new(None));
        let text = std::fs::read_to_string(&file).unwrap();
        let with = |top: &str, member: &str| {
            let text = text.replacen('{', &format!("{{{top}"), 1);
            std::fs::write(&file, text.replace("\"name\"", &format!("{member}\"name\""))).unwrap();
            reloader.reload()
        };
        let token = file.with_file_name("token");
        std::fs::write(&token, "abc").unwrap();
        let timing = r#""timing": {"failure": "700ms"}, "#;
        let tokened = r#""admin_token_file": "token", "#;
        let hooked = r#""hooks": {"on_change": ["true"]}, "#;
        let checked = r#""health": {"command": ["true"]}, "#;
        let all = format!("{timing}{tokened}");
        let ranked = r#""rank": {"by": "priority", "priority": 3}, "#;
        let steps = [
            ("", "", "nothing to change immediately"),
            (ranked, "", "nothing to change immediately; needs a restart of this node: rank.by"),
            (timing, "", "changed immediately: timings"),
            (timing, "", "nothing to change immediately"),
            (&all, "", "changed immediately: token"),
            (&all, hooked, "changed immediately: hooks"),
            (&all, hooked, "nothing to change immediately"),
            (&all, checked, "changed immediately: health, hooks"),
            (&all, checked, "nothing to change immediately"),
            ("", "", "changed immediately: timings, token, health"),
        ];
        for (top, member, expected) in steps {
            assert_eq!(with(top, member).unwrap(), expected, "{top}{member}");
        }
        let more =
            r#"{"name": "b", "id": "0dac99d5-3e7f-40fb-ace7-f991c011c960", "address": "h:1"}, "#;
        std::fs::write(&file, text.replacen("[", &format!("[{more}"), 1)).unwrap();
        let differs = node.handle().differs_from(&crate::config::load(&file).unwrap()).unwrap();
        let told = format!("nothing to change immediately; {differs}");
        assert_eq!(reloader.reload().unwrap(), told, "its members are those of the cluster");
        std::fs::remove_file(&token).unwrap();
        let Err(Invalid(why)) = with(tokened, "") else { panic!("the token is missing") };
        assert!(why.starts_with("cannot read admin_token_file /"), "{why}");
        let other = text.replace("\"name\": \"a\"", "\"name\": \"b\"");
        std::fs::write(&file, other).unwrap();
        let Err(Invalid(why)) = reloader.reload() else { panic!("it is no member any more") };
        assert_eq!(why, "the file lists no member \"a\" any more: nothing changed");
        hooks.stop();
    }
}

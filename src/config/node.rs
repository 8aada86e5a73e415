//! Which member of the cluster this process is.

use super::types::Config;

/// No member fits this process.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NodeNameError {
    /// A name was given that no member has.
    #[error("no member is called \"{name}\": name one of {members} with --node or ELECTD_NODE")]
    Unknown {
        /// The name.
        name: String,
        /// The names that there are.
        members: String,
    },
    /// No name was given, and none follows from the host.
    #[error(
        "which member is this? None is called like this host (\"{host}\"): \
         name one of {members} with --node or ELECTD_NODE{}", of_state(.stored)
    )]
    Unnamed {
        /// The name of this host.
        host: String,
        /// The names that there are.
        members: String,
        /// The members whose state is on this host.
        stored: Vec<String>,
    },
}

/// That this host may have been renamed, as it has the state of these members.
fn of_state(stored: &[String]) -> String {
    match stored {
        [] => String::new(),
        stored => format!(
            "; the state of {} is on this host: if the host was renamed, name that member with --node, ELECTD_NODE or \
             the file's `node`",
            stored.join(", ")
        ),
    }
}

/// The name of this process's member: the one that was given, then the file's `node`, then the member
/// named like this host.
///
/// ```
/// # let file = std::path::Path::new("../../conf/cluster.json");
/// let config = electd_config::load(file)?;
/// assert_eq!(electd_config::node_name(&config, Some("node-1"))?, "node-1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// With the names of all members.
pub fn node_name<'c>(config: &'c Config, given: Option<&str>) -> Result<&'c str, NodeNameError> {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let is_stored = |name: &str| config.state_dir(name).is_dir();
    choose(config, given, &host, is_stored)
}

fn choose<'c>(
    config: &'c Config,
    given: Option<&str>,
    host: &str,
    is_stored: impl Fn(&str) -> bool,
) -> Result<&'c str, NodeNameError> {
    let member = |name: &str| config.member(name).map(|member| member.name.as_str());
    let members = || {
        let names: Vec<&str> = config.members.iter().map(|member| member.name.as_str()).collect();
        names.join(", ")
    };
    if let Some(name) = given.or(config.node.as_deref()) {
        return member(name)
            .ok_or_else(|| NodeNameError::Unknown { name: name.to_owned(), members: members() });
    }
    // Some hosts are called by their full name, and members seldom are.
    let short = host.split('.').next().unwrap_or(host);
    let names = config.members.iter().map(|member| &member.name);
    let stored: Vec<String> = names.filter(|name| is_stored(name)).cloned().collect();
    let unnamed = || NodeNameError::Unnamed { host: host.to_owned(), members: members(), stored };
    member(host).or_else(|| member(short)).ok_or_else(unnamed)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use electd_election::core::types::Role;

    fn config(node: Option<&str>) -> Config {
        let text = include_str!("../../conf/cluster.json");
        let mut config = super::super::parse(text, Path::new("cluster.json")).unwrap();
        config.node = node.map(str::to_owned);
        config
    }

    #[test]
    fn the_flag_comes_before_the_file_and_the_file_before_the_host() {
        let file = config(Some("node-2"));
        let fresh = |_: &str| false;
        assert_eq!(choose(&file, Some("node-3"), "node-1", fresh), Ok("node-3"));
        assert_eq!(choose(&file, None, "node-1", fresh), Ok("node-2"));
        assert_eq!(choose(&config(None), None, "node-1", fresh), Ok("node-1"));
        assert_eq!(choose(&config(None), None, "node-1.example.com", fresh), Ok("node-1"));
        let mut file = config(None);
        file.members[1].name = "node-1.example.com".to_owned();
        let whole = choose(&file, None, "node-1.example.com", fresh);
        assert_eq!(whole, Ok("node-1.example.com"), "the name as a whole before a part of it");
    }

    #[test]
    fn a_renamed_host_is_told_whose_state_it_has() {
        let of_3 = |name: &str| name == "node-3";
        let error = choose(&config(None), None, "laptop", of_3).unwrap_err().to_string();
        let hint = "; the state of node-3 is on this host: if the host was renamed, name that member with --node, \
                    ELECTD_NODE or the file's `node`";
        assert!(error.ends_with(hint), "{error}");
        let of_two = choose(&config(None), None, "laptop", |name| name != "node-3").unwrap_err();
        assert!(
            of_two.to_string().contains("; the state of node-1, node-2, node-4, node-5 is on"),
            "{of_two}"
        );
    }

    #[test]
    fn the_name_and_the_state_of_this_host_count() {
        let folder = tempfile::tempdir().unwrap();
        let mut config = config(None);
        config.data_dir = folder.path().to_owned();
        std::fs::create_dir(folder.path().join("node-2")).unwrap();
        std::fs::write(folder.path().join("node-3"), "no folder").unwrap();
        let error = node_name(&config, None).unwrap_err();
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let members = "node-1, node-2, node-3, node-4, node-5".to_owned();
        assert_eq!(
            error,
            NodeNameError::Unnamed {
                host: host.clone(),
                members,
                stored: vec!["node-2".to_owned()]
            }
        );
        config.members[3].name = host.clone();
        assert_eq!(node_name(&config, None), Ok(&*host));
        assert_eq!(node_name(&config, Some("node-1")), Ok("node-1"));
    }

    #[test]
    fn without_a_member_the_error_lists_them() {
        let mut config = config(None);
        // Each of them is started by its name, too.
        (config.members[0].role, config.members[1].role) = (Role::Witness, Role::Observer);
        let told = |given, host| choose(&config, given, host, |_| false).unwrap_err().to_string();
        assert_eq!(
            told(None, "laptop"),
            "which member is this? None is called like this host (\"laptop\"): name one of node-1, node-2, node-3, \
             node-4, node-5 with --node or ELECTD_NODE"
        );
        assert_eq!(
            told(Some("node-9"), "node-1"),
            "no member is called \"node-9\": name one of node-1, node-2, node-3, node-4, node-5 with --node or \
             ELECTD_NODE"
        );
    }
}

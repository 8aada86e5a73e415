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
         name one of {members} with --node or ELECTD_NODE"
    )]
    Unnamed {
        /// The name of this host.
        host: String,
        /// The names that there are.
        members: String,
    },
}

/// The name of this process's member: the one that was given, then the file's `node`, then the member
/// named like this host.
///
/// ```
/// # let node = electd::node::example::leader()?;
/// # let file = node.config();
/// let config = electd::config::load(&file)?;
/// assert_eq!(electd::config::node_name(&config, Some("a"))?, "a");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// With the names of all members.
pub fn node_name<'c>(config: &'c Config, given: Option<&str>) -> Result<&'c str, NodeNameError> {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    choose(config, given, &host)
}

fn choose<'c>(
    config: &'c Config,
    given: Option<&str>,
    host: &str,
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
    member(host)
        .or_else(|| member(short))
        .ok_or_else(|| NodeNameError::Unnamed { host: host.to_owned(), members: members() })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn config(node: Option<&str>) -> Config {
        let text = include_str!("../../conf/cluster.json");
        let mut config = crate::config::parse(text, Path::new("cluster.json")).unwrap();
        config.node = node.map(str::to_owned);
        config
    }

    #[test]
    fn the_flag_comes_before_the_file_and_the_file_before_the_host() {
        let file = config(Some("node-2"));
        assert_eq!(choose(&file, Some("node-3"), "node-1"), Ok("node-3"));
        assert_eq!(choose(&file, None, "node-1"), Ok("node-2"));
        assert_eq!(choose(&config(None), None, "node-1"), Ok("node-1"));
        assert_eq!(choose(&config(None), None, "node-1.example.com"), Ok("node-1"));
    }

    #[test]
    fn without_a_member_the_error_lists_them() {
        let error = choose(&config(None), None, "laptop").unwrap_err().to_string();
        assert!(error.contains("laptop") && error.contains("node-1, node-2, node-3"), "{error}");
        let error = choose(&config(None), Some("node-9"), "node-1").unwrap_err().to_string();
        assert!(error.contains("\"node-9\"") && error.contains("node-1, node-2"), "{error}");
    }
}

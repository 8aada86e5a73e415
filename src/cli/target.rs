//! A node to ask: its address, and its identity by the configuration.

use std::path::Path;

use crate::admin::client::{Client, ClientError, host_of};
use crate::admin::control::{self, Reach};
use crate::config::{Config, MemberConfig};
use crate::core::address::HostPort;
use crate::node::status::Status;

use super::error::CliError;
use super::exit::Exit;

/// Reads an admin address, or that of a control socket.
///
/// # Errors
/// In words.
pub fn address(text: &str) -> Result<String, String> {
    if control::of_address(text).is_some() {
        return Ok(text.to_owned());
    }
    match HostPort::parse(host_of(text)) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(format!("it {}: {}", error.what, error.remedy)),
    }
}

/// A node to ask.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeTarget {
    /// Its name, by the configuration or by its answer.
    pub name: Option<String>,
    /// The address to ask: its control socket on its own host, else its admin address, if it has one.
    pub admin: Option<String>,
    /// Its cluster, by the configuration.
    pub cluster: Option<String>,
    /// Its id, by the configuration.
    pub id: Option<String>,
}

impl NodeTarget {
    /// Asks for its status, and checks that it is the node that is meant.
    ///
    /// # Errors
    /// If it does not answer, or is another node.
    pub fn status(&self, client: &Client) -> Result<Status, ClientError> {
        let address = self.admin.as_deref().ok_or(ClientError::NotServed)?;
        let status = client.status(address)?;
        let differs = |meant: &Option<String>, found: &String| {
            meant.as_ref().is_some_and(|meant| meant != found)
        };
        let Status { cluster, node, .. } = &status;
        if differs(&self.cluster, cluster) || differs(&self.id, &node.id) {
            let meant = self.cluster.as_deref().unwrap_or("?");
            let id = self.id.as_ref().filter(|_| meant == cluster);
            let id = id.map(|id| format!(" (id {id})")).unwrap_or_default();
            let sentence = format!(
                "node at {address} is {} of cluster {cluster} (id {}), not {}{id} of {meant}: correct the configuration",
                node.name,
                node.id,
                self.name(),
            );
            return Err(ClientError::Other(sentence));
        }
        Ok(status)
    }

    /// Its name, or its address.
    pub fn name(&self) -> &str {
        self.name.as_deref().or(self.admin.as_deref()).unwrap_or("?")
    }
}

/// A member of the file.
pub fn target(config: &Config, member: &MemberConfig) -> NodeTarget {
    let state = config.state_dir(&member.name);
    let socket = (control::reach(&state) == Reach::Open).then(|| control::address(&state));
    NodeTarget {
        name: Some(member.name.clone()),
        admin: socket.or_else(|| member.admin.clone()),
        cluster: Some(config.cluster.clone()),
        id: Some(member.id.0.to_string()),
    }
}

/// The member of this name, if it can be asked.
///
/// # Errors
/// 1 if its control socket belongs to another user and it has no admin address, 78 if it has no address to ask.
pub fn named(config: &Config, name: &str) -> Result<NodeTarget, CliError> {
    let known = config.member(name).map(|member| target(config, member));
    if let Some(target) = known.filter(|target| target.admin.is_some()) {
        return Ok(target);
    }
    let state = config.state_dir(name);
    Err(unreachable(name, &control::path(&state), control::reach(&state)))
}

/// Why the member of this name, without an admin address, cannot be asked: its socket is out of reach in this way.
fn unreachable(name: &str, socket: &Path, reach: Reach) -> CliError {
    let socket = socket.display();
    if reach == Reach::Forbidden {
        let who = control::WHO_MAY;
        let what = format!("{name} cannot be asked: this user may not open {socket}; {who}");
        return CliError::new(Exit::No, what);
    }
    let what = format!(
        "{name} cannot be asked: it does not run on this host (nobody listens on {socket}), and its entry in \"members\" \
         has no \"admin\" address; add one"
    );
    CliError::new(Exit::Config, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_called_by_its_name_or_else_by_its_address() {
        let [name, admin] = ["a", "127.0.0.1:1"].map(|text| Some(text.to_owned()));
        let both = NodeTarget { name, admin, ..NodeTarget::default() };
        let nameless = NodeTarget { name: None, ..both.clone() };
        let unknown = NodeTarget::default();
        let names = [&both, &nameless, &unknown].map(NodeTarget::name);
        assert_eq!(names, ["a", "127.0.0.1:1", "?"]);
    }

    #[test]
    fn an_address_is_a_host_and_a_port_or_a_control_socket() {
        for text in ["127.0.0.1:7201", "https://h:7201", "h:1"] {
            assert_eq!(address(text).as_deref(), Ok(text));
        }
        let socket = control::address(Path::new("/data/a"));
        assert_eq!(address(&socket), Ok(socket));
        let error = HostPort::parse("h").unwrap_err();
        assert_eq!(address("h"), Err(format!("it {}: {}", error.what, error.remedy)));
    }

    /// The socket needs no token, so it comes before the admin address.
    #[test]
    fn a_member_is_asked_by_its_socket_or_else_by_its_admin_address() {
        let folder = tempfile::tempdir().unwrap();
        let text = r#"{"cluster": "c", "quorum": "none", "data_dir": "data", "members": [
            {"name": "a", "id": "00000000-0000-4000-8000-000000000001", "address": "h:1", "admin": "h:2"},
            {"name": "b", "id": "00000000-0000-4000-8000-000000000002", "address": "h:3"}]}"#;
        let config = crate::config::parse(text, &folder.path().join("c.json")).unwrap();
        let at = |number: u8, name: &str, admin: Option<&str>| NodeTarget {
            name: Some(name.to_owned()),
            admin: admin.map(str::to_owned),
            cluster: Some("c".to_owned()),
            id: Some(format!("00000000-0000-4000-8000-00000000000{number}")),
        };
        let of = |name: &str| target(&config, config.member(name).unwrap());
        assert_eq!([of("a"), of("b")], [at(1, "a", Some("h:2")), at(2, "b", None)]);
        assert_eq!(named(&config, "a").unwrap(), of("a"));
        for name in ["b", "x"] {
            let CliError { exit, message } = named(&config, name).unwrap_err();
            let socket = control::path(&config.state_dir(name));
            let words = format!(
                "{name} cannot be asked: it does not run on this host (nobody listens on {}), and its entry in \"members\" \
                 has no \"admin\" address; add one",
                socket.display()
            );
            assert_eq!((exit, message), (Exit::Config, words));
        }
        let forbidden = unreachable("b", Path::new("/data/b/s"), Reach::Forbidden);
        let words = "b cannot be asked: this user may not open /data/b/s; ".to_owned();
        assert_eq!(forbidden, CliError::new(Exit::No, words + control::WHO_MAY));
        for (number, name) in [(1, "a"), (2, "b")] {
            let state = config.state_dir(name);
            std::fs::create_dir_all(&state).unwrap();
            let _listening = control::ControlSocket::listen(&state, None).unwrap();
            let socket = control::address(&state);
            assert_eq!(of(name), at(number, name, Some(&socket)));
            assert_eq!(named(&config, name).unwrap(), of(name));
        }
    }
}

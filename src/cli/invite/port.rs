//! The port of a host that invites.

use std::net::TcpListener;

use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::join::ABOVE;
use crate::core::address::HostPort;

/// Where joiners come in.
pub struct JoinPort {
    pub address: HostPort,
    pub listener: TcpListener,
}

impl JoinPort {
    /// Opens the port for joiners of the member at this address.
    ///
    /// # Errors
    /// If there is none, or this host cannot have it.
    pub fn open(own: &str, address: &str) -> Result<JoinPort, CliError> {
        let above = HostPort::parse(address)
            .ok()
            .and_then(|address| Some(address.with_port(address.port().checked_add(ABOVE)?)));
        let address = above.ok_or_else(|| {
            let what = format!("{own} at {address} leaves no port {ABOVE} above it for joiners");
            CliError::new(Exit::Config, what)
        })?;
        let listener = TcpListener::bind(address.to_string()).map_err(|error| {
            let what = format!("this host cannot listen on {address} for joiners: {error}");
            CliError::new(Exit::Listen, what)
        })?;
        Ok(JoinPort { address, listener })
    }
}

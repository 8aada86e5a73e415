//! The port of a host that invites.

use std::net::TcpListener;

use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::ports;
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
            .map_err(|bad| bad.what.to_owned())
            .and_then(|address| ports::joiners_of(&address));
        let address =
            above.map_err(|what| CliError::new(Exit::Config, format!("{own}: {what}")))?;
        let listener = TcpListener::bind(address.to_string()).map_err(|error| {
            let what = format!("this host cannot listen on {address} for joiners: {error}");
            CliError::new(Exit::Listen, what)
        })?;
        Ok(JoinPort { address, listener })
    }
}

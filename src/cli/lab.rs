//! `electd lab`: the simulator in a browser.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, TcpListener};

use clap::Args;

use super::error::CliError;
use super::exit::Exit;
use super::{follow, print};
use crate::admin::Site;
use crate::lab;

/// Play with elections in a browser: kill, freeze, cut.
///
/// It serves a page on this host alone and prints its address; Ctrl-C ends it. In the page, clusters of up to 25 members
/// elect on a simulated network while you kill, freeze, restart and cut off members, slow disks and drop messages: step by
/// step, with what caused what, the three algorithms side by side, and the messages counted beside the formula. The
/// address of the page holds all of that: keep it, and share it with others who run this command. The exercises are in
/// docs/algorithms.md.
///
/// Exit codes: 0 ended; 71 it cannot listen on the port.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd lab           then open http://127.0.0.1:7400/ in a browser
  electd lab --port 0  on a free port")]
pub struct LabArgs {
    /// The port; 0 takes a free one.
    #[arg(long, value_name = "PORT", default_value_t = 7400)]
    port: u16,
}

impl LabArgs {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port));
        let listener = listener.map_err(|error| refused(self.port, &error))?;
        let ends = follow::ends()?;
        let lab = lab::Lab::default();
        let site = Site::start(listener, move |request| lab.answer(request));
        let site = site.map_err(|error| {
            CliError::new(Exit::Internal, format!("cannot serve the page: {error}"))
        })?;
        print::result(&format!("http://{}/\n", site.address()))?;
        print::message("Open this address in a browser; Ctrl-C ends it");
        let _ = ends.recv(); // the other end is never dropped
        Ok(())
    }
}

fn refused(port: u16, error: &io::Error) -> CliError {
    let remedy = match error.kind() {
        ErrorKind::AddrInUse => {
            "it is in use: give another --port, or --port 0 for a free one".to_owned()
        }
        _ => format!("{error}: give another --port"),
    };
    CliError::new(Exit::Listen, format!("cannot listen on port {port} of 127.0.0.1: {remedy}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_cannot_be_had_is_told_with_a_remedy_for_its_cause() {
        for (kind, remedy) in [
            (ErrorKind::AddrInUse, "it is in use: give another --port, or --port 0 for a free one"),
            (ErrorKind::PermissionDenied, "permission denied: give another --port"),
        ] {
            let words = format!("cannot listen on port 80 of 127.0.0.1: {remedy}");
            assert_eq!(refused(80, &kind.into()), CliError::new(Exit::Listen, words));
        }
    }

    #[test]
    fn without_a_port_it_is_the_one_of_the_examples() {
        #[derive(clap::Parser)]
        struct Flags {
            #[command(flatten)]
            lab: LabArgs,
        }
        let flags: Flags = clap::Parser::parse_from(["x"]);
        assert_eq!(flags.lab.port, 7400);
    }
}

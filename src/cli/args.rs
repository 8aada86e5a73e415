//! Arguments that several commands share, to be flattened into theirs.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::config::{self, Config, ConfigErrors};

/// Which cluster, and which member of it.
#[derive(Args, Clone, Debug)]
pub struct ConfigArgs {
    /// The configuration file, the same on every host.
    #[arg(
        long,
        value_name = "FILE",
        env = "ELECTD_CONFIG",
        default_value = "/etc/electd/cluster.json"
    )]
    pub config: PathBuf,

    /// The member, by its name in the file. Without it: the file's `node`, then the member named
    /// like this host.
    #[arg(long, value_name = "NAME", env = "ELECTD_NODE")]
    pub node: Option<String>,
}

impl ConfigArgs {
    /// Reads and validates the file.
    ///
    /// # Errors
    /// With all problems of the file.
    pub fn load(&self) -> Result<Config, ConfigErrors> {
        config::load(&self.config)
    }
}

/// How results are printed.
#[derive(Args, Clone, Copy, Debug)]
pub struct OutputArgs {
    /// How results are printed: for people or for programs.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub output: Output,
}

/// A format of results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// Aligned columns, for people.
    #[default]
    Table,
    /// JSON, for programs.
    Json,
}

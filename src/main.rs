//! The command `electd`: turns the result of a command into an exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    electd::cli::main()
}

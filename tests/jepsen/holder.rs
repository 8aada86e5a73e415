//! A program that embeds a member and wants names, as `while_holding` gives them: this program again. A name is held at an instant
//! if its lease ran before the instant was read from the clock, and runs after it: each such instant goes into one file.

use std::env;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use electd::config;
use electd::node::locks::LockName;
use electd::node::while_holding;

use crate::events::now;
use crate::names;

/// The first argument of such a program; the file of its cluster and its own name follow.
pub const MODE: &str = "holder";
/// The variable with the path of the file.
pub const CLAIMS: &str = "JEPSEN_CLAIMS";

/// The last word of a line that is whole.
pub const END: &str = "end";

/// How often it claims each of its names.
const STEP: Duration = Duration::from_millis(20);

pub fn run(file: &str, own: &str) {
    let config = config::load(Path::new(file)).expect("the file can be read");
    let claims = env::var(CLAIMS).expect("it names the file");
    let claims = File::options().append(true).open(claims).expect("the file is there");
    let wanted = names::of_programs().map(|name| LockName::new(&name).expect("it is a name"));
    let outcome = while_holding(&config, own, wanted, |name, lead| {
        while lead.goes_on(STEP) {
            let at = now();
            if lead.goes_on(Duration::ZERO) {
                // What a process writes while it is killed may be cut off: the next line begins a line of its own.
                let line = format!("\n{at} {own} {} {name} {END}\n", lead.epoch());
                (&claims).write_all(line.as_bytes()).expect("the file can be written");
            }
        }
    });
    outcome.expect("the member starts");
}

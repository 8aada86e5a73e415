//! A node whose calls of the system fail, take longer or are noted down: strace does that.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::process::Pid;

use super::Node;
use super::script::ELECTD;

/// Calls of a node that strace changes, until this is dropped.
pub struct Traced(Child);

impl Traced {
    /// These calls of all threads of a node, changed so: `fsync:delay_enter=1000`. None where strace is missing, or may
    /// not look into the process.
    pub fn node(node: &Node, inject: &str) -> Option<Traced> {
        Traced::all_of(node.pid(), inject)
    }

    /// These calls of all threads of a process.
    pub fn all_of(process: Pid, inject: &str) -> Option<Traced> {
        Traced::attach(process.as_raw_nonzero().get().unsigned_abs(), &["-f"], inject)
    }

    /// These calls of one thread.
    pub fn thread(node: &Node, thread: &str, inject: &str) -> Option<Traced> {
        Traced::attach(node.thread(thread), &[], inject)
    }

    /// These calls of a process that has one thread.
    pub fn process(process: Pid, inject: &str) -> Option<Traced> {
        Traced::attach(process.as_raw_nonzero().get().unsigned_abs(), &[], inject)
    }

    fn attach(number: u32, more: &[&str], inject: &str) -> Option<Traced> {
        let mut strace = Command::new("strace")
            .args(more)
            .args(["-o", "/dev/null"])
            .args(expressions(inject))
            .args(["-p", &number.to_string()])
            .stderr(Stdio::piped())
            .spawn()
            .ok()?;
        let mut said = String::new();
        BufReader::new(strace.stderr.take()?).read_line(&mut said).ok()?;
        let traced = Traced(strace);
        let attached = said.contains(" attached");
        if !attached {
            println!("not tested: strace may not attach to a process: {said}");
        }
        attached.then_some(traced)
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        let _ = self.0.kill(); // the traced process resumes
        let _ = self.0.wait();
    }
}

/// The calls that are traced, and how they are changed.
fn expressions(inject: &str) -> [String; 4] {
    let calls = inject.split(':').next().unwrap();
    ["-e".to_owned(), format!("trace={calls}"), "-e".to_owned(), format!("inject={inject}")]
}

impl Node {
    /// Has each process of this node be traced from its start, with these arguments for strace. Gives the folder with what
    /// strace writes of each thread; none where there is no strace.
    pub fn trace_from_the_start(&self, arguments: &str) -> Option<PathBuf> {
        let Ok(found) = Command::new("strace").arg("-V").stdout(Stdio::null()).status() else {
            println!("not tested: strace is missing");
            return None;
        };
        assert!(found.success());
        let calls = self.folder().join(format!("{}.calls", self.name));
        fs::create_dir(&calls).unwrap();
        let output = calls.display();
        // The process is the node itself: strace is a grandchild of it.
        self.runs_by(&format!("exec strace -D -ff -qq -o {output}/of {arguments} {ELECTD} \"$@\""));
        Some(calls)
    }
}

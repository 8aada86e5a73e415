//! A control group of a node and of all that it starts, such as a service manager makes for each unit.

use std::fs;
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use super::cgroup;
use super::node::Node;
use super::script::ELECTD;
use super::wait::{ensure, eventually};

/// Its processes are ended when this is dropped.
pub struct Unit {
    folder: PathBuf,
}

impl Unit {
    /// One that the node enters when it starts. None, with a line that says so, where this process may make none.
    pub fn of(node: &Node) -> Option<Unit> {
        let told = |error| println!("skipped: a control group needs root and version 2: {error}");
        Unit::make(node).map_err(told).ok()
    }

    /// The same of any program: what it is run by, for a shell that has the program and its arguments as `"$0" "$@"`.
    pub fn of_program() -> Option<(Unit, String)> {
        let told = |error| println!("skipped: a control group needs root and version 2: {error}");
        let unit = Unit::new().map_err(told).ok()?;
        let enter = unit.folder.join("cgroup.procs");
        let by = format!("echo $$ >{} && exec \"$0\" \"$@\"", enter.display());
        Some((unit, by))
    }

    fn new() -> Result<Unit, String> {
        static LAST: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("electd-test-{}-{}", process::id(), LAST.fetch_add(1, Ordering::Relaxed));
        let folder = cgroup::mount()?.join(name);
        fs::create_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let unit = Unit { folder };
        ensure(unit.folder.join("cgroup.kill").exists(), || "Linux 5.14 or later".to_owned())?;
        let enter = unit.folder.join("cgroup.procs");
        fs::write(&enter, "").map_err(|error| format!("{}: {error}", enter.display()))?;
        Ok(unit)
    }

    fn make(node: &Node) -> Result<Unit, String> {
        let unit = Unit::new()?;
        let enter = unit.folder.join("cgroup.procs");
        node.runs_by(&format!("echo $$ >{} && exec {ELECTD} \"$@\"", enter.display()));
        Ok(unit)
    }

    /// Has the kernel refuse each further cgroup below it, or refuse none.
    pub fn refuse(&self, refuses: bool) {
        let most = if refuses { "0" } else { "max" };
        fs::write(self.folder.join("cgroup.max.descendants"), most).unwrap();
    }

    /// Freezes all its processes, or thaws them: it is done when this returns.
    pub fn freeze(&self, frozen: bool) {
        let state = u8::from(frozen);
        fs::write(self.folder.join("cgroup.freeze"), state.to_string()).unwrap();
        eventually("the processes of the unit are frozen, or run", || {
            let events = fs::read_to_string(self.folder.join("cgroup.events")).unwrap();
            ensure(events.contains(&format!("frozen {state}")), || events)
        });
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        cgroup::end(&self.folder); // with those of the jobs of its node
    }
}

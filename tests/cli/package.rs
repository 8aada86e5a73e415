//! What the Debian package does beside its files: its scripts, run with a systemctl that only writes down what it is asked.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

fn packaging(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/packaging");
    fs::read_to_string(format!("{folder}/{name}")).expect("the file is there")
}

/// Where `systemctl enable` keeps what starts with the host.
const ENABLED: &str = "etc/systemd/system/multi-user.target.wants";

/// What a script of the package did.
struct Done {
    /// What systemctl was asked, a line each time.
    asked: String,
    printed: String,
    /// The units that start with the host.
    enabled: Vec<String>,
}

/// Runs a script of the package as dpkg does, on a host with systemd where units of electd and of others are enabled.
fn run(script: &str, action: &str) -> Done {
    let host = tempfile::tempdir().expect("a folder");
    let root = host.path().to_str().expect("UTF-8");
    for folder in ["run/systemd/system", "etc/electd", "var/lib/electd", "bin", ENABLED] {
        fs::create_dir_all(host.path().join(folder)).expect("a folder of the host");
    }
    let units = host.path().join(ENABLED);
    for name in ["electd@a.service", "electd-exec@web.service", "other.service"] {
        symlink("/nowhere", units.join(name)).expect("a link");
    }
    let systemctl = host.path().join("bin/systemctl");
    fs::write(&systemctl, format!("#!/bin/sh\necho \"$*\" >>{root}/asked\n")).expect("written");
    fs::set_permissions(&systemctl, Permissions::from_mode(0o755)).expect("it can be run");
    let mut text = packaging(&format!("debian/{script}"));
    for path in ["/run/systemd", "/etc/systemd", "/etc/electd", "/var/lib/electd"] {
        text = text.replace(path, &format!("{root}{path}"));
    }
    let path = format!("{root}/bin:{}", std::env::var("PATH").expect("a PATH"));
    let mut command = Command::new("sh");
    let output = command.args(["-c", &text, script, action]).env("PATH", path).output();
    let output = output.expect("sh runs");
    assert!(output.status.success(), "{output:?}");
    let left = fs::read_dir(units).expect("the folder is there").flatten();
    Done {
        asked: fs::read_to_string(host.path().join("asked")).unwrap_or_default(),
        printed: String::from_utf8_lossy(&output.stdout).replace(root, ""),
        enabled: left.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect(),
    }
}

#[test]
fn a_removal_stops_the_members_of_the_host_and_an_upgrade_leaves_them_running() {
    assert_eq!(
        run("prerm", "remove").asked,
        "stop electd-exec@*.service electd@*.service electd-cluster@*.service\n"
    );
    assert_eq!(run("prerm", "upgrade").asked, "");
}

#[test]
fn a_purge_names_what_it_leaves_and_enables_no_unit_that_is_gone() {
    let purged = run("postrm", "purge");
    assert_eq!(purged.asked, "daemon-reload\n");
    for left in ["/etc/electd stays", "/var/lib/electd stays"] {
        assert!(purged.printed.contains(left), "{}", purged.printed);
    }
    assert_eq!(purged.enabled, ["other.service"]);
    let removed = run("postrm", "remove");
    assert_eq!((removed.printed.as_str(), removed.enabled.len()), ("", 3));
}

#[test]
fn the_units_run_reload_and_end_by_commands_of_the_program() {
    let node = packaging("electd@.service");
    for line in [
        "ExecStart=@BIN@/electd run --config /etc/electd/cluster.json --node %i",
        "ExecReload=@BIN@/electd reload --config /etc/electd/cluster.json --node %i",
        "RestartPreventExitStatus=65 77 78",
        "Delegate=yes",
    ] {
        assert!(node.lines().any(|it| it == line), "{line} is missing from\n{node}");
    }
    let job = packaging("electd-exec@.service");
    assert!(
        job.contains("ExecStart=@BIN@/electd exec ") && job.contains("-- /etc/electd/exec/%i\n"),
        "{job}"
    );
    // systemd leaves the end of the command to electd or its guard, and waits for longer than that may take.
    for words in [
        "--restart always",
        "--stop-after 30s",
        "TimeoutStopSec=40\n",
        "KillMode=control-group\n",
        "Delegate=yes\n",
    ] {
        assert!(job.contains(words), "{words} is missing from\n{job}");
    }
}

/// The package has the notice that a library asks for, as long as the program has that library.
#[test]
fn the_licence_of_a_library_that_asks_for_a_notice_is_named_where_the_program_goes() {
    let file = |name: &str| {
        fs::read_to_string(format!("{}/{name}", env!("CARGO_MANIFEST_DIR")))
            .expect("the file is there")
    };
    assert!(file("src/host/Cargo.toml").contains("audio_thread_priority"), "the notice can go");
    let notice = file("NOTICE");
    assert!(
        notice.contains("audio_thread_priority") && notice.contains("Mozilla Public License 2.0")
    );
    for (place, what) in [
        ("Makefile", "LICENSE NOTICE "),
        ("packaging/deb.sh", "$doc/NOTICE\"; } > \"$doc/copyright\""),
        ("Containerfile", "COPY LICENSE NOTICE "),
        ("README.md", "[NOTICE](NOTICE)"),
    ] {
        assert!(file(place).contains(what), "{place}");
    }
}

//! `exec --lock URL`, `leader --lock URL` and `check --lock URL` without an engine: wrong command lines, and servers that are
//! none. tests/interop/engines.py has the real ones.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;
use std::{iter, thread};

use electd_testing::within::within;

/// Longer than anything takes here.
const LONG: Duration = Duration::from_secs(60);

fn electd(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_electd"));
    for variable in ["PGPASSWORD", "PGPASSFILE", "PGUSER", "ETCDCTL_PASSWORD"] {
        command.env_remove(variable);
    }
    command.args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// The exit code, and the message, of one whose command has not run.
fn refused(arguments: &[&str]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let ran = folder.path().join("ran");
    let output = electd(&[arguments, &["--", "touch", &ran.display().to_string()]].concat());
    assert!(!ran.exists() && output.stdout.is_empty(), "{output:?}");
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_wrong_url_of_a_lock_runs_nothing_and_says_what_is_right() {
    let long = format!("etcd://h/{}", "a".repeat(10_000));
    for (url, words) in [
        ("mysql://h/d?lock=a", "no such engine: use postgres://... or etcd://..."),
        ("etcd://h/a/b", "the name of the lock: use 1 to 63 of the characters"),
        ("postgres://u@h/d?lock=a%2Fb", "the name of the lock: use 1 to 63 of the characters"),
        (&long, "the URL of a lock has at most 4096 bytes"),
        (
            "postgres://u:secret@h/d?lock=a",
            "every user of this host sees a password on a command line",
        ),
        (
            "postgres://u@h/d?lock=a&sslmode=verify-full&sslrootcert=/no/such",
            "sslrootcert /no/such: cannot be read",
        ),
    ] {
        let (code, told) = refused(&["exec", "--lock", url]);
        assert_eq!(code, Some(2), "{told}");
        assert!(told.contains(words) && !told.contains("secret"), "{url}: {told}");
        assert!(told.trim_end().lines().count() == 1 && told.len() < 400, "{told}");
        for command in ["leader", "check"] {
            assert_eq!(electd(&[command, "--lock", url]).status.code(), Some(2), "{command} {url}");
        }
    }
    let (code, told) = refused(&["exec", "--lock", "etcd://h/a", "--ttl", "1s"]);
    assert_eq!((code, told.as_str()), (Some(2), "--ttl: give 2s to 1h\n"));
}

/// Of a server that does this with each connection: the exit code and the message.
fn with(scheme: &str, server: fn(TcpStream)) -> (Option<i32>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || server(stream));
        }
    });
    let url = match scheme {
        "etcd" => format!("etcd://{place}/a"),
        scheme => format!("{scheme}://u@{place}/d?lock=a"),
    };
    refused(&["exec", "--ttl", "2s", "--lock", &url])
}

#[test]
fn a_server_that_is_no_engine_runs_nothing() {
    // What is not read when a connection is closed resets it.
    let nonsense = |mut stream: TcpStream| {
        let _ = stream.write_all(b"SSH-2.0-OpenSSH_9.2p1\r\n");
        let _ = stream.shutdown(Shutdown::Write);
        while stream.read(&mut [0; 64]).is_ok_and(|count| count > 0) {}
    };
    let never =
        |mut stream: TcpStream| while stream.read(&mut [0; 64]).is_ok_and(|count| count > 0) {};
    let endless = |mut stream: TcpStream| {
        let _ = stream.write_all(b"HTTP/1.0 200 OK\r\nContent-Length: 104857600\r\n\r\n");
        while stream.write_all(&[b'N'; 4096]).is_ok() {}
    };
    // A part of a message every so often, and never the whole of it.
    let drips = |mut stream: TcpStream| {
        let _ = stream.set_read_timeout(Some(Duration::from_millis(20)));
        let mut bytes = b"N\0\0\x10\0".iter().chain(iter::repeat(&b'a'));
        while bytes.next().is_some_and(|byte| stream.write_all(&[*byte]).is_ok()) {
            let _ = stream.read(&mut [0; 4096]);
        }
    };
    let ends = |stream: TcpStream| drop(stream);
    for scheme in ["postgres", "etcd"] {
        for (server, words) in [
            (nonsense as fn(TcpStream), "cannot be used"),
            (never, "it does not answer in time"),
            (endless, "cannot be used"),
            (drips, "it does not answer in time"),
            (ends, ""),
        ] {
            let (code, told) = with(scheme, server);
            assert_eq!(code, Some(69), "{told}");
            assert!(told.contains(words) && told.len() < 400, "{scheme}: {told}");
        }
    }
}

#[test]
fn an_engine_that_does_not_run_is_waited_for_as_long_as_is_said() {
    let place = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("etcd://{place}/a");
    let (code, told) = refused(&["exec", "--lock", &url, "--wait", "200ms"]);
    assert!(code == Some(69) && told.contains("waiting for it"), "{told}");
    assert!(told.contains("Connection refused"), "{told}");
}

/// What an etcd answers that has one key, which a process of electd has put.
fn lone_etcd(path: &str, body: &str) -> String {
    let key = r#"{"key": "YS83", "value": "bWU=", "create_revision": "41"}"#;
    match path.trim_start_matches("/v3/") {
        "lease/grant" => r#"{"ID": "7", "TTL": "3600"}"#.to_owned(),
        "lease/keepalive" => {
            r#"{"result": {"header": {"raft_term": "2"}, "ID": "7", "TTL": "3600"}}"#.to_owned()
        }
        "kv/range" => format!(r#"{{"header": {{"raft_term": "2"}}, "kvs": [{key}]}}"#),
        "kv/txn" if body.contains("request_put") => format!(
            r#"{{"header": {{"revision": "41"}}, "succeeded": true, "responses": [{{}}, {{"response_range": {{"kvs": [{key}]}}}}]}}"#
        ),
        _ => "{}".to_owned(),
    }
}

/// The path and the body of a question in HTTP.
fn question(stream: &TcpStream) -> Option<(String, String)> {
    let mut lines = BufReader::new(stream);
    let mut line = || {
        let mut line = String::new();
        lines.read_line(&mut line).ok().filter(|length| *length > 0).map(|_| line)
    };
    let path = line()?.split(' ').nth(1)?.to_owned();
    let mut length = 0;
    while let Some(header) = line().filter(|header| header != "\r\n") {
        if let Some((_, value)) = header.split_once("Content-Length: ") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    lines.read_exact(&mut body).ok()?;
    Some((path, String::from_utf8(body).ok()?))
}

/// Claim: engine.
#[test]
fn the_lock_of_a_killed_electd_is_given_back_once_its_command_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("etcd://{}/a", listener.local_addr().unwrap());
    let (tell, given_back) = mpsc::channel();
    let pid_file = file.clone();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let Some((path, body)) = question(&stream) else { continue };
            if body.contains("request_delete_range") {
                let pid = fs::read_to_string(&pid_file).unwrap();
                let runs = Path::new(&format!("/proc/{}", pid.trim())).exists();
                let _ = tell.send((body.contains(r#""create_revision":"41""#), runs));
            }
            let answer = lone_etcd(&path, &body);
            let _ = write!(stream, "HTTP/1.0 200 OK\r\n\r\n{answer}");
        }
    });
    let job = format!("trap '' TERM; echo $$ > {0}.new; mv {0}.new {0}; sleep 600", file.display());
    let mut exec = Command::new(env!("CARGO_BIN_EXE_electd"))
        .args(["exec", "--ttl", "1h", "--stop-after", "100ms", "--cgroup", "never", "--lock", &url])
        .args(["--", "sh", "-c", &job])
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    within(LONG, "the command runs", || file.exists());
    exec.kill().unwrap();
    exec.wait().unwrap();
    let (is_by_token, runs) = given_back.recv_timeout(LONG).unwrap();
    assert!(is_by_token && !runs, "by the token: {is_by_token}, beside the command: {runs}");
}

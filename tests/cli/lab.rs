//! `electd lab`, run as users run it: it serves the page and the runs on this host alone, and ends when it is told to.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::admin::pace::Running;

struct Lab {
    running: Running,
    /// Its host and port.
    address: String,
}

impl Lab {
    fn start() -> Lab {
        let mut command = Command::new(env!("CARGO_BIN_EXE_electd"));
        command.args(["lab", "--port", "0"]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = Running(command.spawn().expect("electd runs"));
        let mut line = String::new();
        let stdout = running.0.stdout.as_mut().expect("it is piped");
        BufReader::new(stdout).read_line(&mut line).expect("it tells its address");
        let address = line.trim().strip_prefix("http://").and_then(|rest| rest.strip_suffix('/'));
        let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        Lab { running, address }
    }

    /// The head and the body of the answer to a request.
    fn ask(&self, request: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers and closes");
        let (head, body) = answer.split_once("\r\n\r\n").expect("an answer of HTTP");
        (head.to_owned(), body.to_owned())
    }

    fn get(&self, path: &str) -> (String, String) {
        let host = &self.address;
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"))
    }

    /// The sentence of a refusal with this code.
    fn refused(&self, path: &str, code: u16) -> String {
        let (head, body) = self.get(path);
        assert!(head.starts_with(&format!("HTTP/1.1 {code} ")), "{path}: {head}\n{body}");
        let told: Value = serde_json::from_str(&body).expect("JSON");
        told["error"].as_str().expect("a sentence").to_owned()
    }
}

#[test]
fn it_serves_a_page_and_runs_until_ctrl_c() {
    let mut lab = Lab::start();
    assert!(lab.address.starts_with("127.0.0.1:"), "{}", lab.address);
    let (head, page) = lab.get("/");
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    assert!(
        head.contains("Content-Security-Policy: default-src 'none'; script-src 'nonce-"),
        "{head}"
    );
    assert!(page.contains("<title>electd lab</title>"), "{page}");
    let (_, run) = lab.get("/run?algorithm=ring&nodes=5&seed=7&do=kill5@120&until=1000");
    let run: Value = serde_json::from_str(&run).expect("JSON");
    assert_eq!(
        (&run["leader"], &run["elections"][0]["messages"]["total"]),
        (&"node-4".into(), &11.into())
    );
    let pid = Pid::from_child(&lab.running.0);
    kill_process(pid, Signal::INT).expect("it runs");
    let ended = lab.running.0.wait().expect("it ends");
    assert_eq!(ended.code(), Some(0));
    let mut said = String::new();
    lab.running.0.stderr.take().expect("it is piped").read_to_string(&mut said).expect("UTF-8");
    assert_eq!(said, "Open this address in a browser; Ctrl-C ends it\n");
}

#[test]
fn what_is_wrong_gets_a_clear_answer() {
    let lab = Lab::start();
    for (path, code, expected) in [
        ("/run?nodes=99", 400, "nodes: \"99\": give a number from 2 to 25"),
        ("/run?do=explode5@100", 400, "do: \"explode5@100\": there is no such action"),
        ("/run?do=kill5@100,kill5@200", 400, "do: \"kill5@200\": the member does not run then"),
        ("/run?colour=red", 400, "\"colour\" is not known here"),
        ("/status", 404, "there is no /status here"),
    ] {
        let sentence = lab.refused(path, code);
        assert!(sentence.contains(expected), "{path}: {sentence}");
    }
    let strange = "GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    assert!(lab.ask(strange).0.starts_with("HTTP/1.1 403 "), "a page of a stranger reads nothing");
    assert!(lab.ask("\x16\x03\x01\r\n\r\n").0.starts_with("HTTP/1.1 400 "));
}

#[test]
fn a_port_that_is_taken_is_said() {
    let lab = Lab::start();
    let port = lab.address.rsplit(':').next().expect("a port");
    let mut command = Command::new(env!("CARGO_BIN_EXE_electd"));
    let Output { status, stderr, .. } =
        command.args(["lab", "--port", port]).output().expect("electd runs");
    let told = String::from_utf8_lossy(&stderr);
    assert_eq!(status.code(), Some(71), "{told}");
    assert!(told.contains("it is in use: give another --port, or --port 0"), "{told}");
}

/// What follows these words in a text, up to the end of the link.
fn links(text: &str, before: &str) -> Vec<String> {
    let rest = text.split(before).skip(1);
    let ends = |letter: char| letter == ')' || letter == '"' || letter.is_whitespace();
    rest.map(|rest| rest.split(ends).next().unwrap_or_default().replace("&amp;", "&")).collect()
}

/// A link that makes no sense to the lab any more would be found by the reader.
#[test]
fn every_exercise_and_every_suggestion_of_the_page_can_be_run() {
    let lab = Lab::start();
    let lecture = include_str!("../../docs/algorithms.md");
    let (_, page) = lab.get("/");
    let exercises = links(lecture, "http://127.0.0.1:7400/#");
    let suggestions = links(&page, "href=\"#");
    assert!(exercises.len() > 15 && suggestions.len() > 4, "{exercises:?} {suggestions:?}");
    for link in exercises.iter().chain(&suggestions) {
        let all = ["bully", "halting", "ring"].map(|one| link.replace("=all", &format!("={one}")));
        let kinds = if link.contains("=all") { &all[..] } else { &all[..1] };
        for query in kinds {
            let (head, body) = lab.get(&format!("/run?{query}"));
            assert!(head.starts_with("HTTP/1.1 200 OK"), "{query}: {body}");
        }
    }
}

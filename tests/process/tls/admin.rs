//! HTTPS on the admin addresses: the clients that it accepts, how the commands of electd use it, and
//! what strangers can do to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use electd::tls::make::{Authority, CertificateAndKey};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use serde_json::Value;
use story::story;

use crate::support::{Cluster, Finished, Node, ensure, eventually, readable};

/// A cluster whose admin addresses serve HTTPS.
fn serving_https(n: usize) -> Cluster {
    let cluster = Cluster::start_with(n, |config| {
        super::secured(config);
        config["admin_tls"] = true.into();
    });
    cluster.agree_on(n);
    cluster
}

/// curl's view of an answer, from a node that gives one. A busy machine may need more than one
/// handshake.
#[track_caller]
fn answer_of(cluster: &Cluster, node: &Node, more: &[&str], path: &str) -> (u16, String) {
    eventually("it answers by HTTPS", || curl(cluster, node, more, path))
}

/// curl's view of an answer: its code, and its body.
fn curl(
    cluster: &Cluster,
    node: &Node,
    more: &[&str],
    path: &str,
) -> Result<(u16, String), String> {
    let to = format!("{}:7201:{}", node.name, node.admin);
    let ca = cluster.certificates().file(&node.name, "ca");
    let output = Command::new("curl")
        .args(["--silent", "--show-error", "--write-out", "\n%{http_code}", "--connect-to", &to])
        .arg("--cacert")
        .arg(ca)
        .args(more)
        .arg(format!("https://{}:7201{path}", node.name))
        .output()
        .expect("curl is installed");
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (body, code) = text.rsplit_once('\n').expect("the code is its last line");
    Ok((code.parse().unwrap(), body.to_owned()))
}

/// The arguments by which curl shows a certificate.
fn shown(cluster: &Cluster, member: &str) -> [String; 4] {
    let file = |what| cluster.certificates().file(member, what).display().to_string();
    ["--cert".to_owned(), file("cert"), "--key".to_owned(), file("key")]
}

#[story]
fn a_node_asks_another_member_by_https() {
    let cluster = serving_https(3);
    eventually("node-2 answers in time", || {
        let (code, body) = curl(&cluster, cluster.node(1), &[], "/peers/node-2/status")?;
        let status: Value = serde_json::from_str(&body).unwrap();
        ensure(code == 200 && status["node"]["name"] == "node-2", || body)
    });
}

#[story]
fn https_shows_the_member_and_takes_a_members_certificate_instead_of_a_token() {
    let cluster = serving_https(2);
    let node = cluster.node(2);
    let (code, body) = answer_of(&cluster, node, &[], "/leader");
    assert_eq!(code, 200, "{body}");
    assert!(curl(&cluster, node, &["--tls-max", "1.2"], "/leader").is_err());

    let post = ["--request", "POST", "--data", "{}"];
    let (code, body) = answer_of(&cluster, node, &post, "/drain");
    assert_eq!(code, 403, "{body}");
    assert!(body.contains("the certificate of a member"), "{body}");
    let own = shown(&cluster, "node-1");
    let own: Vec<&str> = own.iter().map(String::as_str).chain(post).collect();
    let (code, body) = answer_of(&cluster, node, &own, "/drain");
    assert_eq!(code, 200, "{body}");
    eventually("node-1 leads", || {
        let status = cluster.node(1).status()?;
        ensure(status.state == "leading", || format!("{status:?}"))
    });

    // A certificate of another authority, or of a member of another cluster, is refused within the
    // handshake.
    let stranger = Authority::new("strange").unwrap().sign("node-1").unwrap();
    let elsewhere = foreign(&cluster, &stranger);
    let elsewhere: Vec<&str> = elsewhere.iter().map(String::as_str).collect();
    assert!(curl(&cluster, node, &elsewhere, "/status").is_err());
}

/// The browser of an operator shows the certificate for whatever page asks; the headers that it adds say which page did.
#[story]
fn a_page_of_a_stranger_commands_nothing_through_a_browser_with_a_members_certificate() {
    let cluster = serving_https(2);
    let own = shown(&cluster, "node-1");
    let asked = |headers: &[&str], how: &[&str], path| {
        let headers = headers.iter().flat_map(|header| ["--header", header]);
        let own = own.iter().map(String::as_str);
        let all: Vec<&str> = own.chain(how.iter().copied()).chain(headers).collect();
        answer_of(&cluster, cluster.node(2), &all, path)
    };
    let (post, delete) = (["--request", "POST", "--data", "{}"], ["--request", "DELETE"]);
    let evil = "Origin: https://evil.example";
    for headers in [
        &[evil][..],
        &["Origin: null"],
        &["Sec-Fetch-Site: cross-site"],
        &["Sec-Fetch-Site: same-site"],
        &[evil, "Sec-Fetch-Site: same-origin"],
    ] {
        for path in ["/drain", "/resign", "/pause", "/elections"] {
            let (code, body) = asked(headers, &post, path);
            assert!(
                code == 403 && body.contains("a page of another site"),
                "{path}: {code} {body}"
            );
        }
        assert_eq!(asked(headers, &delete, "/members/node-1").0, 403);
    }
    let status = cluster.node(2).status().unwrap();
    assert!(status.state == "leading" && status.pause.is_none(), "{status:?}");
    assert_eq!(asked(&["Sec-Fetch-Site: same-origin"], &post, "/pause").0, 200);
}

#[story]
fn the_certificate_of_a_removed_member_commands_nothing_any_more() {
    let cluster = serving_https(3);
    let removed = cluster.node(3).delete("/members/node-1").unwrap();
    assert_eq!(removed.code, 200, "{removed:?}");
    let pause = |member| {
        let own = shown(&cluster, member);
        let post = ["--request", "POST", "--data", "{}"];
        let all: Vec<&str> = own.iter().map(String::as_str).chain(post).collect();
        answer_of(&cluster, cluster.node(3), &all, "/pause")
    };
    assert_eq!(pause("node-1").0, 403);
    assert_eq!(pause("node-2").0, 200);
}

/// The arguments by which curl shows a certificate that is not of the cluster.
fn foreign(cluster: &Cluster, pair: &CertificateAndKey) -> [String; 4] {
    let certificates = cluster.certificates();
    certificates.put("stranger", &[certificates.authority.certificate()], pair);
    shown(cluster, "stranger")
}

#[story]
fn whoever_speaks_http_without_tls_is_told_so() {
    let cluster = serving_https(1);
    let answer = crate::support::http::ask(cluster.node(1).admin, "GET", "/status", "").unwrap();
    assert_eq!(answer.code, 400);
    assert_eq!(answer.error(), "this address serves HTTPS alone: ask for https://");
}

/// A command on a host where no member runs: it finds no control socket.
fn elsewhere(cluster: &Cluster, change: impl FnOnce(&mut Value), args: &[&str]) -> Command {
    let mut config = cluster.config().clone();
    config["data_dir"] = "elsewhere".into();
    change(&mut config);
    let file = cluster.file().with_file_name("elsewhere.json");
    std::fs::write(&file, config.to_string()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_electd"));
    command.arg(args[0]).arg("--config").arg(file).args(&args[1..]);
    for variable in ["ELECTD_CONFIG", "ELECTD_NODE", "ELECTD_ADMIN"] {
        command.env_remove(variable);
    }
    command
}

/// The output of a successful command. A busy machine may need more than one handshake.
#[track_caller]
fn answered(command: impl Fn() -> Command) -> String {
    eventually("the command is done", || {
        let output = command().finished();
        ensure(output.status.success(), || format!("{output:?}"))?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    })
}

#[story]
fn every_command_speaks_https_and_commands_by_the_members_certificate() {
    let cluster = serving_https(3);
    let ask = |args: &[&str]| answered(|| elsewhere(&cluster, |_| {}, args));
    for args in [["status"], ["leader"], ["health"], ["history"]] {
        assert!(ask(&args).contains("node-3"), "{args:?}");
    }
    let admin = format!("https://{}", cluster.node(1).admin);
    assert!(ask(&["leader", "--admin", &admin]).contains("node-3"));
    ask(&["resign"]);
    eventually("another one leads", || {
        let status = cluster.node(1).status()?;
        let leader = status.leader.map(|leader| leader.name);
        ensure(leader.is_some() && leader.as_deref() != Some("node-3"), || format!("{leader:?}"))
    });

    // Without a key that this user may read there is no certificate to show.
    let keyless = |config: &mut Value| {
        for member in config["members"].as_array_mut().unwrap() {
            member["tls"]["key"] = "nowhere.pem".into();
        }
    };
    eventually("the command is refused", || {
        let refused = elsewhere(&cluster, keyless, &["resign"]).finished();
        assert!(!refused.status.success());
        let words = String::from_utf8_lossy(&refused.stderr).into_owned();
        ensure(words.contains("the certificate of a member"), || words)
    });
    assert!(answered(|| elsewhere(&cluster, keyless, &["status"])).contains("node-3"));
}

/// Ended when this is dropped.
struct Watching(Child);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[story]
fn watching_goes_over_https() {
    let cluster = serving_https(3);
    let mut watch = elsewhere(&cluster, |_| {}, &["watch"]);
    let mut watch = Watching(watch.stdout(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(watch.0.stdout.take().unwrap());
    let mut lines = std::iter::from_fn(|| {
        if lines.buffer().is_empty() {
            readable("a line of the watch", lines.get_ref());
        }
        lines.by_ref().lines().next().map(Result::unwrap)
    });
    assert!(lines.any(|line| line.contains("node-3")), "it tells the states at first");
    answered(|| elsewhere(&cluster, |_| {}, &["resign"]));
    assert!(
        lines.any(|line| line.contains("node-2") && line.contains("leading")),
        "then what happens"
    );
}

/// The first bytes of a TLS client.
fn first_words() -> Vec<u8> {
    let config = ClientConfig::builder()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    let name = ServerName::try_from("node-1").unwrap();
    let mut client = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut words = Vec::new();
    client.write_tls(&mut words).unwrap();
    words
}

/// So many stop in the first record, after it, and before any.
const STOPPED: usize = 600;

#[story]
fn handshakes_that_stop_hold_nobody_up_and_keep_nothing() {
    let cluster = serving_https(1);
    let node = cluster.node(1);
    let words = first_words();
    let memory = node.figure("VmRSS");
    let mut crowd = Vec::new();
    for number in 0..STOPPED {
        let mut client = TcpStream::connect_timeout(&node.admin, Duration::from_secs(30)).unwrap();
        let said = [0, words.len() / 2, words.len()][number % 3];
        // One that came before may have been let go for it.
        let _ = client.write_all(&words[..said]);
        crowd.push(client);
        if number % 100 == 0 {
            assert_eq!(answer_of(&cluster, node, &[], "/leader").0, 200, "after {number}");
        }
    }
    assert_eq!(answer_of(&cluster, node, &[], "/leader").0, 200);
    for mut client in crowd {
        client.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        assert!(crate::support::impostor::ends(&mut client), "its time is over");
    }
    eventually("no thread of a client is left", || {
        let left = node.threads("admin-client");
        ensure(left.is_empty(), || format!("{left:?}"))
    });
    let grown = node.figure("VmRSS").saturating_sub(memory);
    assert!(grown < 16 * 1024, "it has grown by {grown} kB");
    assert_eq!(cluster.node(1).status().unwrap().epoch, 1, "it led all the time");
}

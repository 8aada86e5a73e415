//! What is shown of a lock in each situation, from both sides: no view contradicts another.

use std::io::{BufRead, BufReader};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use super::*;

const URL: &str = "http://10.0.7.1:8080/";

/// A command beside this node that runs by the lock "backup" whenever that may be.
fn staying(cluster: &Cluster, number: usize, more: &[&str]) -> Attached {
    let lock = ["--lock", "backup", "--restart", "always"];
    let options = [&lock, more, &["--", "sleep", "1000"]].concat();
    Attached(exec(cluster, number, &options).stdout(Stdio::null()).spawn().unwrap())
}

/// `electd watch --lock backup`, and its lines.
struct WatchedLock(Child, Receiver<Value>);

impl WatchedLock {
    fn start(cluster: &Cluster) -> WatchedLock {
        let mut watch =
            crate::support::command(cluster, &["watch", "--lock", "backup", "--output", "json"]);
        let mut child = watch.stdout(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            let lines = stdout.lines().map_while(Result::ok);
            lines.for_each(|line| _ = sender.send(serde_json::from_str(&line).unwrap()));
        });
        WatchedLock(child, lines)
    }

    /// The kind, the holder and the cause of the next line.
    #[track_caller]
    fn next(&self) -> (String, Value, Value) {
        let line = self.1.recv_timeout(Duration::from_secs(60)).unwrap();
        (
            line["kind"].as_str().unwrap().to_owned(),
            line["holder"].clone(),
            line["before"]["end"].clone(),
        )
    }
}

impl Drop for WatchedLock {
    fn drop(&mut self) {
        let _ = self.0.kill(); // it may have ended
        let _ = self.0.wait();
    }
}

/// The holder and the causes that `electd why --lock backup` tells, with its exit code.
fn why(cluster: &Cluster) -> (i32, Value, Vec<String>) {
    let (code, printed, told) = electd(cluster, &["why", "--lock", "backup", "--output", "json"]);
    let known: Value = serde_json::from_str(&printed).unwrap_or_else(|_| panic!("{told}"));
    let causes = known["causes"].as_array().unwrap().iter();
    let causes = causes.map(|cause| cause["cause"].as_str().unwrap().to_owned());
    (code, known["holder"].clone(), causes.collect())
}

/// Waits until `why` tells this, and checks that these nodes, `lock show` and `leader --lock` know the same holder.
#[track_caller]
fn until(cluster: &Cluster, holder: Option<&str>, causes: &[&str], nodes: &[usize]) {
    let (code, told) = (i32::from(holder.is_none()), json!(holder));
    eventually(&format!("{holder:?} because of {causes:?}"), || {
        let found = why(cluster);
        ensure(
            found == (code, told.clone(), causes.iter().map(|it| (*it).to_owned()).collect()),
            || format!("{found:?}"),
        )?;
        for number in nodes {
            let shown = shown(cluster, *number, "backup");
            ensure(shown["holder"] == told, || format!("node-{number}: {shown}"))?;
        }
        let (leader, printed, said) = electd(cluster, &["leader", "--lock", "backup"]);
        ensure(leader == code && printed.starts_with(holder.unwrap_or_default()), || {
            format!("{leader} {printed} {said}")
        })
    });
}

/// Waits until these nodes answer so to whoever wants to be redirected.
#[track_caller]
fn redirects(cluster: &Cluster, nodes: &[usize], code: u16) {
    for number in nodes {
        eventually("the node redirects", || {
            let path = "/locks/backup/leader?redirect";
            let answer = cluster.node(*number).get(path).map_err(|error| error.to_string())?;
            ensure(answer.code == code, || format!("{answer:?}"))?;
            ensure(code != 307 || answer.json()["url"] == URL, || format!("{answer:?}"))
        });
    }
}

#[story]
fn all_views_of_a_lock_tell_the_same_of_each_situation() {
    let cluster = Cluster::start_with(3, with_majority);
    cluster.agree();
    until(&cluster, None, &["nobody_wants"], &[1, 2, 3]);
    redirects(&cluster, &[1, 2, 3], 503);
    let watch = WatchedLock::start(&cluster);
    let (held, free, now) = ("held".to_owned(), "free".to_owned(), "now".to_owned());
    let (gave, null) = (json!("gave_back"), Value::Null);
    assert_eq!(watch.next(), (now, null.clone(), null.clone()));

    let first = staying(&cluster, 1, &["--url", URL]);
    until(&cluster, Some("node-1"), &["stays"], &[1, 2, 3]);
    assert_eq!(watch.next(), (held.clone(), json!("node-1"), null.clone()));
    redirects(&cluster, &[1, 2, 3], 307);
    let second = staying(&cluster, 2, &[]);
    until_wanted(&cluster, "backup", 2);
    let text = electd(&cluster, &["why", "--lock", "backup"]).1;
    assert!(text.contains("lock move") && text.contains("backup --to node-2"), "{text}");

    assert_eq!(electd(&cluster, &["drain", "--node", "node-1"]).0, 0);
    until(&cluster, Some("node-2"), &["stays", "hindered"], &[1, 2, 3]);
    assert_eq!(shown(&cluster, 1, "backup")["hindered"], "drained");
    assert_eq!(shown(&cluster, 2, "backup")["before"]["holder"], "node-1");
    redirects(&cluster, &[1, 2, 3], 404);
    let mut next = watch.next();
    if next.0 == free {
        assert_eq!((next.1, next.2), (null.clone(), gave.clone()));
        next = watch.next();
        assert_eq!(next, (held.clone(), json!("node-2"), null.clone()));
    } else {
        assert_eq!(next, (held.clone(), json!("node-2"), gave.clone()));
    }

    drop(second);
    until(&cluster, None, &["nobody_wants", "hindered"], &[1, 2, 3]);
    assert_eq!(watch.next(), (free, null.clone(), gave));
    redirects(&cluster, &[1, 2, 3], 503);
    let figures = cluster.node(1).get("/metrics").unwrap().body;
    assert!(figures.contains("lock=\"backup\",holder=\"\"} 0"), "{figures}");
    let listed = cluster.node(1).get("/status").unwrap().json();
    assert_eq!(listed["locks_unheld"], 1, "a program waits for it there");

    assert_eq!(electd(&cluster, &["undrain", "--node", "node-1"]).0, 0);
    until(&cluster, Some("node-1"), &["stays"], &[1, 2, 3]);
    assert_eq!(watch.next(), (held, json!("node-1"), null));
    redirects(&cluster, &[1, 2, 3], 307);

    // Without a majority nobody acts.
    [2, 3].iter().for_each(|number| cluster.node(*number).kill_9());
    until(&cluster, Some("node-1"), &["unsupported", "unasked"], &[1]);
    redirects(&cluster, &[1], 503);
    eventually("the leadership is over as well", || {
        let answer = cluster.node(1).get("/leader?redirect").map_err(|error| error.to_string())?;
        ensure(answer.code == 503, || format!("{answer:?}"))
    });
    drop(first);
}

//! The news of a demo, and the threads that bring them. Each ends with the process, or when nobody takes its news.

use std::io::{self, BufRead, BufReader, Read};
use std::process::ChildStdout;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crossbeam::channel::Sender;
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::admin::client::{Client, Order, Recipient};
use crate::cli::ask::AskedNode;
use crate::cli::error::{CliError, SIGNALS};
use crate::cli::exit::Exit;
use crate::cli::target::target;
use crate::config::Config;

/// The pause between two questions to a node.
const PAUSE: Duration = Duration::from_millis(100);
/// The longest line of a job that is shown as one.
const LINE: u64 = 1000;

/// What happened.
pub enum DemoNews {
    /// A key was pressed.
    Key(u8),
    /// The node at this place of the configuration was asked.
    Asked(usize, Box<AskedNode>),
    /// What there is to say, such as a line of a job.
    Line(String),
    /// The demo is to end.
    End,
}

/// How long the demo may take to end after a signal.
const LAST: Duration = Duration::from_secs(10);

/// TERM, QUIT and HUP end the demo. If a terminal that takes no output holds it up, this process alone ends, and the
/// keeper and the kernel do the rest.
pub fn watch_signals(news: Sender<DemoNews>) -> Result<(), CliError> {
    let signals = Signals::new([SIGTERM, SIGQUIT, SIGHUP]);
    let mut signals = signals.map_err(CliError::internal(SIGNALS))?;
    spawn("signals", move || {
        let _ = signals.forever().next();
        let _ = news.send_timeout(DemoNews::End, LAST);
        thread::sleep(LAST);
        std::process::exit(Exit::Done.code().into());
    })
}

/// Tells each key that is pressed; the demo ends with the terminal.
pub fn read_keys(news: Sender<DemoNews>) -> Result<(), CliError> {
    spawn("keys", move || {
        for key in io::stdin().lock().bytes().map_while(Result::ok) {
            if news.send(DemoNews::Key(key)).is_err() {
                return;
            }
        }
        let _ = news.send(DemoNews::End);
    })
}

/// Asks each node again and again, each in its own time: one may be frozen.
pub fn ask_all(
    config: &Arc<Config>,
    client: &Client,
    news: &Sender<DemoNews>,
) -> Result<(), CliError> {
    for (place, member) in config.members.iter().enumerate() {
        let (config, member, client, news) =
            (config.clone(), member.clone(), client.clone(), news.clone());
        spawn(&format!("ask-{}", member.name), move || {
            loop {
                let target = target(&config, &member);
                let answer = target.status(&client);
                if news
                    .send(DemoNews::Asked(place, Box::new(AskedNode { target, answer })))
                    .is_err()
                {
                    return;
                }
                thread::sleep(PAUSE);
            }
        })?;
    }
    Ok(())
}

/// Tells what the job of this node prints.
pub fn read_job(name: &str, stdout: ChildStdout, news: Sender<DemoNews>) -> Result<(), CliError> {
    let name = name.to_owned();
    spawn(&format!("job-{name}"), move || {
        let mut stdout = BufReader::new(stdout);
        let mut line = Vec::new();
        while let Ok(1..) = stdout.by_ref().take(LINE).read_until(b'\n', &mut line) {
            let text = String::from_utf8_lossy(&line);
            if news.send(DemoNews::Line(format!("{name} prints: {}", text.trim_end()))).is_err() {
                return;
            }
            line.clear();
        }
    })
}

/// Has the leader hand over. That may take as long as its job takes to end.
pub fn resign(
    leader: Recipient<'_>,
    client: &Client,
    news: Sender<DemoNews>,
) -> Result<(), CliError> {
    let [address, cluster, id] = [leader.address, leader.cluster, leader.id].map(str::to_owned);
    let client = client.clone();
    spawn("resign", move || {
        let order = Order::post("resign", &json!({})).ending_a_leadership();
        let to = Recipient { address: &address, cluster: &cluster, id: &id };
        let words = match client.command(to, &order) {
            Ok(achieved) => achieved.result,
            Err(error) => error.to_string(),
        };
        let _ = news.send(DemoNews::Line(words));
    })
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), CliError> {
    let thread = thread::Builder::new().name(name.to_owned()).spawn(work);
    thread.map(drop).map_err(|error| CliError::new(Exit::Internal, format!("no thread: {error}")))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use crossbeam::channel::unbounded;

    use super::*;
    use crate::admin::client::ClientError;

    #[test]
    fn a_job_is_quoted_line_by_line_and_a_long_line_in_parts() {
        let prints = "printf 'one\ntwo\n'; head -c 1200 /dev/zero | tr '\\0' x; printf '\nend'";
        let mut job =
            Command::new("sh").args(["-c", prints]).stdout(Stdio::piped()).spawn().unwrap();
        let (sender, news) = unbounded();
        read_job("a", job.stdout.take().unwrap(), sender).unwrap();
        let lines = std::iter::from_fn(|| news.recv_timeout(Duration::from_secs(60)).ok());
        let told: Vec<String> = lines
            .map(|news| match news {
                DemoNews::Line(line) => line,
                _ => panic!("a job prints lines alone"),
            })
            .collect();
        let quoted = ["one", "two", &"x".repeat(1000), &"x".repeat(200), "end"];
        assert_eq!(told, quoted.map(|line| format!("a prints: {line}")));
        assert!(job.wait().unwrap().success());
    }

    /// Its words tell how long it waits: an answer to another command is due sooner.
    #[test]
    fn a_leader_that_hands_over_may_take_as_long_as_its_job() {
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap(); // it takes no connection
        let address = server.local_addr().unwrap().to_string();
        let (sender, news) = unbounded();
        let client = Client::within(Some(Duration::from_millis(20)), None);
        let leader = Recipient { address: &address, cluster: "demo", id: "1" };
        resign(leader, &client, sender).unwrap();
        let Ok(DemoNews::Line(words)) = news.recv_timeout(Duration::from_secs(60)) else {
            panic!("a line tells how it ended")
        };
        let waits = "it may still be waiting for the leader's job to end";
        assert!(words.contains(&address) && words.contains(waits), "{words}");
    }

    /// Here none of them has an address to ask.
    #[test]
    fn each_node_is_asked_again_and_again_and_its_answers_have_its_place() {
        let text = include_str!("../../../conf/cluster.json");
        let path = std::path::Path::new("/no/such/c.json");
        let mut config = crate::config::parse(text, path).unwrap();
        config.members.iter_mut().for_each(|member| member.admin = None);
        let config = Arc::new(config);
        let (sender, news) = crossbeam::channel::bounded(1);
        ask_all(&config, &Client::new(None), &sender).unwrap();
        let mut times = vec![0; config.members.len()];
        while times.iter().any(|times| *times < 2) {
            let Ok(DemoNews::Asked(place, asked)) = news.recv_timeout(Duration::from_secs(60))
            else {
                panic!("{times:?}")
            };
            assert_eq!(asked.target, target(&config, &config.members[place]));
            assert_eq!(asked.answer, Err(ClientError::NotServed));
            times[place] += 1;
        }
    }
}

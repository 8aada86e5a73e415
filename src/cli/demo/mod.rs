//! `electd demo`: a cluster on this machine, to watch and to disturb.
//!
//! Each node is a process that the kernel ends with this one ([`crate::exec::parent`]); what else a demo leaves behind,
//! however it ends, the [`keeper`] cleans up.

mod cluster;
mod keeper;
mod news;
mod nodes;
mod picture;
mod story;

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use clap::builder::PossibleValuesParser;
use crossbeam::channel::{self, Receiver, Sender};
use electd_facts::hint::ClusterFlags;

use super::ask::{AskedNode, newest_leader};
use super::error::CliError;
use super::exit::Exit;
use super::keyboard::Keyboard;
use super::screen::{self, Screen};
use super::{follow, print, trust};
use crate::admin::client::{Client, ClientError};
use crate::cli::target::target;
use crate::config::{Config, parse_quorum};
use crate::core::settings::{AlgorithmKind, Quorum};
use crate::exec::needs::why_no_program;
use cluster::{Cluster, ClusterOptions};
use keeper::DemoKeeper;
use news::DemoNews;
use nodes::{Condition, DemoNode, Recipe};
use picture::Picture;
use story::Story;

/// How often the nodes' processes are looked at, and the terminal is drawn.
const TICK: Duration = Duration::from_millis(50);
/// News that wait.
const QUEUE: usize = 64;
/// Lines that are kept for the terminal.
const LINES: usize = 100;

/// Run a cluster on this machine: kill, freeze, restart its nodes.
///
/// On a terminal it draws the nodes in place, and below them a line for each change, with how long nobody led. A digit
/// chooses a node, and 0 none: k kills it, f freezes or thaws it, r restarts it. With none chosen, k kills the leader, f
/// thaws what is frozen or freezes the leader, and r starts what is down or restarts the leader. s has the leader
/// resign, and q or Ctrl-C ends the demo. Without a terminal it prints the lines until INT or TERM.
///
/// Without --config the nodes have free ports and their state in a temporary folder. All nodes end with the demo,
/// however it ends, and the folder is removed then.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd demo                        five nodes, the bully algorithm, a majority
  electd demo --nodes 3 --algorithm ring --quorum none
  electd demo --config cluster.json  the members of a file, all on this machine
  electd demo -- sh -c 'echo \"$ELECTD_NODE works\"; exec sleep 999'  with a job")]
pub struct DemoArgs {
    /// Number of nodes.
    #[arg(long, value_name = "N", default_value_t = 5, conflicts_with = "config",
          value_parser = clap::value_parser!(u16).range(1..=9))]
    nodes: u16,

    /// The election algorithm. Without it: bully, or as the file says. With a file, the state of such a demo lies apart.
    #[arg(long, value_name = "NAME",
          value_parser = PossibleValuesParser::new(AlgorithmKind::ALL.map(AlgorithmKind::name)))]
    algorithm: Option<String>,

    /// What a leader needs: "majority" of the nodes, or "none": one live node is enough. Without it: majority, or as
    /// the file says.
    #[arg(long, value_name = "none|majority", value_parser = parse_quorum)]
    quorum: Option<Quorum>,

    /// Run all members of this file. Their state is kept.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Wait for the end of the demo, then clean up: the demo starts a process for that.
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, hide = true)]
    keeper: Option<Option<PathBuf>>,

    /// The program to run on the node that leads, and its arguments: each node is run with it.
    #[arg(last = true, value_name = "CMD")]
    job: Vec<OsString>,
}

impl DemoArgs {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        if let Some(folder) = self.keeper {
            keeper::keep(folder.as_deref());
            return Ok(());
        }
        if let Some(why) = self.job.first().and_then(why_no_program) {
            let what =
                format!("{why}: give the path of a program, or a name that is found in PATH");
            return Err(CliError::new(Exit::Usage, what));
        }
        let ends = follow::ends()?;
        let (sender, news) = channel::bounded(QUEUE);
        news::watch_signals(sender.clone())?;
        let changes = ClusterOptions { algorithm: self.algorithm.as_deref(), quorum: self.quorum };
        // Until it is dropped, last of all, the keeper waits; the folder need not be there yet.
        let (_keeper, cluster) = match &self.config {
            Some(file) => (DemoKeeper::start(None)?, Cluster::of_file(file, changes)?),
            None => {
                let folder = cluster::new_folder();
                let keeper = DemoKeeper::start(Some(&folder))?;
                (keeper, Cluster::temporary(&folder, self.nodes, changes)?)
            }
        };
        let mut stage = RunningDemo::open(cluster, self.job, sender)?;
        let played = stage.play(&news, &ends);
        stage.close();
        played
    }
}

/// The demo while it runs. Dropping it kills the nodes.
struct RunningDemo {
    title: Vec<String>,
    nodes: Vec<DemoNode>,
    recipe: Recipe,
    client: Client,
    /// The last answer of each node; [`ClientError::NotServed`] while there is none.
    asked: Vec<AskedNode>,
    story: Story,
    start: Instant,
    /// What happened, oldest first.
    lines: Vec<String>,
    /// The place of the node that a digit chose.
    chosen: Option<usize>,
    terminal: Option<(Screen, Keyboard)>,
    news: Sender<DemoNews>,
    /// Its ports are taken until the nodes have ended.
    _cluster: Cluster,
}

impl RunningDemo {
    /// Starts the nodes.
    fn open(
        cluster: Cluster,
        job: Vec<OsString>,
        news: Sender<DemoNews>,
    ) -> Result<RunningDemo, CliError> {
        let config = Arc::new(cluster.config.clone());
        nodes::make_folder(&config.data_dir)?;
        let logs = config.data_dir.clone();
        let recipe = Recipe { file: cluster.file.clone(), logs, job, news: news.clone() };
        let nodes = config.members.iter().map(|member| DemoNode::start(&member.name, &recipe));
        let nodes = nodes.collect::<Result<Vec<DemoNode>, CliError>>()?;
        let client = Client::new(None).secured(trust::configured(&config)?);
        news::ask_all(&config, &client, &news)?;
        let terminal = if screen::width().is_some() && io::stdin().is_terminal() {
            let opened = (Screen::open()?, Keyboard::take()?);
            news::read_keys(news.clone())?;
            Some(opened)
        } else {
            None
        };
        let unknown = |member| AskedNode {
            target: target(&config, member),
            answer: Err(ClientError::NotServed),
        };
        let asked = config.members.iter().map(unknown).collect();
        let (story, start, lines, chosen) = (Story::default(), Instant::now(), Vec::new(), None);
        let title = title(&cluster);
        let stage = RunningDemo {
            title,
            nodes,
            recipe,
            client,
            asked,
            story,
            start,
            lines,
            chosen,
            terminal,
            news,
            _cluster: cluster,
        };
        if stage.terminal.is_none() {
            print::result(&(stage.title.join("\n") + "\n"))?;
        }
        Ok(stage)
    }

    /// Shows what happens, until a key or a signal ends the demo.
    fn play(&mut self, news: &Receiver<DemoNews>, ends: &Receiver<()>) -> Result<(), CliError> {
        let ticks = channel::tick(TICK);
        loop {
            channel::select! {
                recv(ends) -> _ => return Ok(()),
                recv(ticks) -> _ => {
                    self.look()?;
                    self.draw()?;
                }
                recv(news) -> news => match news {
                    Ok(DemoNews::Key(b'q' | 0x03 | 0x04) | DemoNews::End) | Err(_) => return Ok(()),
                    Ok(DemoNews::Key(key)) => self.press(key)?,
                    Ok(DemoNews::Asked(place, asked)) => self.hear(place, *asked)?,
                    Ok(DemoNews::Line(line)) => self.say(&line)?,
                },
            }
        }
    }

    /// Looks at the processes.
    fn look(&mut self) -> Result<(), CliError> {
        for place in 0..self.nodes.len() {
            let line = self.nodes[place].look(&self.recipe)?;
            if let Some(line) = line {
                self.forget(place);
                self.say(&line)?;
            }
        }
        Ok(())
    }

    /// Takes the answer of a node. One that is down or frozen may have given it before; and one that has just started
    /// gives none yet.
    fn hear(&mut self, place: usize, asked: AskedNode) -> Result<(), CliError> {
        let is_new = self.asked[place].answer == Err(ClientError::NotServed);
        if *self.nodes[place].condition() != Condition::Runs || (is_new && asked.answer.is_err()) {
            return Ok(());
        }
        self.asked[place] = asked;
        let line = self.story.observe(&self.asked, Instant::now());
        line.map_or(Ok(()), |line| self.say(&line))
    }

    fn forget(&mut self, place: usize) {
        self.asked[place].answer = Err(ClientError::NotServed);
    }

    fn press(&mut self, key: u8) -> Result<(), CliError> {
        match key {
            b'0' => self.chosen = None,
            b'1'..=b'9' => {
                let place = usize::from(key - b'1');
                self.chosen = Some(place).filter(|place| *place < self.nodes.len()).or(self.chosen);
            }
            b'k' | b'f' | b'r' => return self.disturb(key),
            b's' => return self.resign(),
            _ => {}
        }
        Ok(())
    }

    /// Kills, freezes, thaws or restarts a node.
    fn disturb(&mut self, key: u8) -> Result<(), CliError> {
        let Some(place) = self.meant(key) else {
            return self.say("no node leads: choose one by its number");
        };
        let node = &mut self.nodes[place];
        let line = match key {
            b'k' => node.kill(),
            b'f' => node.freeze_or_thaw(),
            _ => node.restart(&self.recipe)?,
        };
        self.forget(place);
        line.map_or(Ok(()), |line| self.say(&line))
    }

    /// The place of the node that a key is for: the chosen one, or else one that is frozen or down if the key helps it,
    /// or else the leader.
    fn meant(&self, key: u8) -> Option<usize> {
        let is_helped = |node: &DemoNode| match node.condition() {
            Condition::Frozen => key == b'f',
            Condition::Ended(_) => key == b'r',
            Condition::Runs | Condition::Restarts(_) => false,
        };
        let helped = || self.nodes.iter().position(is_helped);
        self.chosen.or_else(helped).or_else(|| self.leader())
    }

    fn resign(&mut self) -> Result<(), CliError> {
        let leader = self.leader().and_then(|place| self.asked[place].recipient());
        // Any node passes it on to the leader.
        match leader.or_else(|| self.asked.iter().find_map(AskedNode::recipient)) {
            Some(node) => news::resign(node, &self.client, self.news.clone()),
            None => self.say("no node answers, so none can resign"),
        }
    }

    /// The place of the leader that the nodes name.
    fn leader(&self) -> Option<usize> {
        let leader = newest_leader(&self.asked)?;
        self.asked.iter().position(|asked| asked.target.name.as_ref() == Some(&leader.name))
    }

    /// Shows a line, with the time since the start.
    fn say(&mut self, line: &str) -> Result<(), CliError> {
        let line = format!("{:7.3} s  {line}", self.start.elapsed().as_secs_f64());
        if self.terminal.is_none() {
            print::result(&format!("{line}\n"))?;
        }
        if self.lines.len() == LINES {
            self.lines.remove(0);
        }
        self.lines.push(line);
        Ok(())
    }

    fn draw(&mut self) -> Result<(), CliError> {
        let Some((screen, _)) = &mut self.terminal else { return Ok(()) };
        let conditions: Vec<Condition> =
            self.nodes.iter().map(|node| node.condition().clone()).collect();
        let (width, height) = (screen::width().unwrap_or(80), screen::height());
        let picture = Picture {
            title: &self.title,
            asked: &self.asked,
            conditions: &conditions,
            chosen: self.chosen,
            lines: &self.lines,
            flags: &ClusterFlags::of_command(Some(&self.recipe.file)),
        };
        screen.draw(&picture.text(width.into(), usize::from(height).saturating_sub(1)))
    }

    /// Ends the nodes in order. If the terminal is gone, nobody reads that.
    fn close(self) {
        let _ = print::result("ending all nodes ...\n");
        nodes::end(self.nodes);
        let _ = print::result("all nodes have ended\n");
    }
}

/// What a demo is, where its page is, and where its files are.
fn title(cluster: &Cluster) -> Vec<String> {
    let Config { algorithm, quorum, members, data_dir, admin_tls, .. } = &cluster.config;
    let (nodes, algorithm, quorum) = (members.len(), algorithm.name(), quorum.name());
    let mut title = vec![format!(
        "electd demo: {nodes} nodes on this machine, algorithm {algorithm}, quorum {quorum}"
    )];
    if quorum == Quorum::None.name() {
        title.push("        for trying out: each half of a split cluster has a leader; with --quorum majority one".to_owned());
    }
    let scheme = if *admin_tls { "https" } else { "http" };
    let page = members.iter().find_map(|member| member.admin.as_ref());
    title.extend(page.map(|admin| format!("page    {scheme}://{admin}/")));
    title.push(format!("config  {}", cluster.file.display()));
    title.push(format!("logs    {}", data_dir.join("NODE.log").display()));
    title
}

#[cfg(test)]
mod tests;

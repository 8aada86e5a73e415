//! What the keys of a demo do, and what it says.

use super::nodes::tests::{recipe, stand_in, until_said};
use super::*;
use crate::cli::ask::tests::status;

/// Three nodes that were not heard yet, and their news.
fn stage(folder: &tempfile::TempDir) -> (RunningDemo, Receiver<DemoNews>) {
    let changes = ClusterOptions { quorum: Some(Quorum::None), ..ClusterOptions::default() };
    let cluster = Cluster::temporary(&folder.path().join("demo"), 3, changes).unwrap();
    let config = &cluster.config;
    let (sender, news) = channel::bounded(QUEUE);
    let nodes = config.members.iter().map(|member| stand_in(&member.name, "exec sleep 999"));
    let unknown =
        |member| AskedNode { target: target(config, member), answer: Err(ClientError::NotServed) };
    let stage = RunningDemo {
        title: title(&cluster),
        nodes: nodes.collect(),
        recipe: recipe(folder.path()),
        client: Client::new(None),
        asked: config.members.iter().map(unknown).collect(),
        story: Story::default(),
        start: Instant::now(),
        lines: Vec::new(),
        chosen: None,
        terminal: None,
        news: sender,
        _cluster: cluster,
    };
    (stage, news)
}

/// Has the node at this place answer that it leads.
fn lead(stage: &mut RunningDemo, place: usize, epoch: u64) {
    let target = stage.asked[place].target.clone();
    let name = target.name.clone().unwrap();
    let mut status = status(&name, Some((&name, epoch)));
    status.state = "leading".to_owned();
    stage.hear(place, AskedNode { target, answer: Ok(status) }).unwrap();
}

/// The last line, without its time.
fn last(stage: &RunningDemo) -> &str {
    stage.lines.last().and_then(|line| line.split_once(" s  ")).map_or("", |(_, words)| words)
}

#[test]
fn a_digit_chooses_a_node_that_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let (mut stage, _news) = stage(&folder);
    for (key, chosen) in [
        (b'2', Some(1)),
        (b'9', Some(1)),
        (b'x', Some(1)),
        (b'3', Some(2)),
        (b'0', None),
        (b'1', Some(0)),
    ] {
        stage.press(key).unwrap();
        assert_eq!(stage.chosen, chosen, "{}", char::from(key));
    }
}

#[test]
fn the_keys_are_for_the_chosen_node_or_one_that_they_help_or_else_the_leader() {
    let folder = tempfile::tempdir().unwrap();
    let (mut stage, _news) = stage(&folder);
    stage.press(b'k').unwrap();
    assert_eq!(last(&stage), "no node leads: choose one by its number");
    lead(&mut stage, 1, 1);
    assert_eq!((last(&stage), stage.leader()), ("node-2 leads in epoch 1", Some(1)));
    stage.press(b'f').unwrap();
    assert_eq!(last(&stage), "node-2 is frozen; f thaws it");
    assert_eq!(stage.asked[1].answer, Err(ClientError::NotServed), "what it said is old");
    lead(&mut stage, 1, 2);
    assert_eq!(stage.leader(), None, "a frozen node gave its answer before");
    lead(&mut stage, 0, 3);
    stage.press(b'f').unwrap();
    assert_eq!(last(&stage), "node-2 is thawed");
    stage.press(b'3').unwrap();
    stage.press(b'k').unwrap();
    let said = until_said(|| {
        stage.look().unwrap();
        (last(&stage) != "node-2 is thawed").then(|| last(&stage).to_owned())
    });
    assert_eq!(said, "node-3 was killed; r starts it again");
    stage.press(b'0').unwrap();
    stage.press(b'r').unwrap();
    assert_eq!(last(&stage), "node-3 starts again");
}

/// Whoever follows it knows it as well.
#[test]
fn the_leader_is_the_node_that_leads_and_no_follower_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let (mut stage, _news) = stage(&folder);
    assert_eq!(stage.leader(), None);
    lead(&mut stage, 2, 7);
    let [follower, leader] = [0, 2].map(|place: usize| stage.asked[place].target.clone());
    let name = follower.name.clone().unwrap();
    let follows = status(&name, Some((&leader.name.unwrap(), 7)));
    stage.hear(0, AskedNode { target: follower, answer: Ok(follows) }).unwrap();
    assert_eq!(stage.leader(), Some(2));
}

/// A node that knows no leader.
fn electing(stage: &RunningDemo, place: usize) -> AskedNode {
    let target = stage.asked[place].target.clone();
    let answer = Ok(status(target.name.as_deref().unwrap(), None));
    AskedNode { target, answer }
}

#[test]
fn that_nobody_leads_is_told_when_it_has_lasted() {
    let folder = tempfile::tempdir().unwrap();
    let (mut stage, _news) = stage(&folder);
    lead(&mut stage, 1, 1);
    stage.asked[1] = electing(&stage, 1);
    // The demo, and the time in which nobody leads, began earlier.
    stage.start = Instant::now().checked_sub(Duration::from_secs(9)).unwrap();
    assert_eq!(stage.story.observe(&stage.asked, stage.start), None);
    let third = electing(&stage, 2);
    stage.hear(2, third).unwrap();
    assert_eq!(last(&stage), "nobody leads");
}

#[test]
fn a_node_that_has_just_started_is_not_said_to_be_silent() {
    let folder = tempfile::tempdir().unwrap();
    let (mut stage, _news) = stage(&folder);
    let silent = || crate::cli::ask::tests::silent("node-1");
    stage.hear(0, silent()).unwrap();
    assert_eq!(stage.asked[0].answer, Err(ClientError::NotServed));
    lead(&mut stage, 0, 1);
    stage.hear(0, silent()).unwrap();
    assert_eq!(stage.asked[0].answer, silent().answer, "but one that answered before is");
}

#[test]
fn a_resignation_goes_to_the_leader_and_its_answer_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let (mut stage, news) = stage(&folder);
    stage.press(b's').unwrap();
    assert_eq!(last(&stage), "no node answers, so none can resign");
    let refused = |stage: &mut RunningDemo, place: usize| {
        stage.press(b's').unwrap();
        let told = news.recv_timeout(Duration::from_secs(60));
        let Ok(DemoNews::Line(words)) = told else { panic!("nothing is told") };
        let admin = stage.asked[place].target.admin.clone().unwrap();
        let why = "connection refused, so nobody answers HTTP there";
        assert_eq!(words, format!("no answer from {admin}: {why}"));
    };
    let follow = |stage: &mut RunningDemo, place: usize| {
        let target = stage.asked[place].target.clone();
        let answer = Ok(status(target.name.as_deref().unwrap(), Some(("node-2", 1))));
        stage.hear(place, AskedNode { target, answer }).unwrap();
    };
    follow(&mut stage, 2);
    refused(&mut stage, 2); // it passes it on to the leader
    lead(&mut stage, 1, 1);
    follow(&mut stage, 0);
    refused(&mut stage, 1);
}

#[test]
fn the_latest_lines_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (mut stage, _news) = stage(&folder);
    stage.lines = (0..99).map(|number| number.to_string()).collect();
    for (words, first) in [("the hundredth", "0"), ("the last", "1")] {
        stage.say(words).unwrap();
        assert_eq!((stage.lines.len(), stage.lines[0].as_str()), (100, first));
        assert_eq!(last(&stage), words);
    }
}

#[test]
fn a_line_has_the_seconds_since_the_start_in_a_column() {
    let folder = tempfile::tempdir().unwrap();
    let (mut stage, _news) = stage(&folder);
    stage.start = Instant::now().checked_sub(Duration::from_secs(12)).unwrap();
    stage.say("some words").unwrap();
    let (time, words) = stage.lines[0].split_at(7);
    assert_eq!((words, &time[3..4]), (" s  some words", "."), "{time}");
    let seconds: f64 = time.trim_start().parse().unwrap();
    assert!((12.0..99.0).contains(&seconds), "{time}");
}

/// A demo takes its news in their order, and nothing after its end.
#[test]
fn the_demo_ends_with_its_keys_its_terminal_and_a_signal() {
    let folder = tempfile::tempdir().unwrap();
    let (mut stage, news) = stage(&folder);
    let (interrupt, ends) = channel::bounded(0);
    for end in [DemoNews::Key(b'q'), DemoNews::Key(0x03), DemoNews::Key(0x04), DemoNews::End] {
        let target = stage.asked[1].target.clone();
        let mut leader = status("node-2", Some(("node-2", 7)));
        leader.state = "leading".to_owned();
        let asked = Box::new(AskedNode { target, answer: Ok(leader) });
        (stage.story, stage.lines, stage.chosen) = (Story::default(), Vec::new(), None);
        let told = [DemoNews::Line("a job prints: x".to_owned()), DemoNews::Asked(1, asked)];
        let told =
            told.into_iter().chain([DemoNews::Key(b'2'), end, DemoNews::Key(b'3'), DemoNews::End]);
        told.for_each(|it| stage.news.send(it).unwrap());
        stage.play(&news, &ends).unwrap();
        let words = stage.lines.iter().map(|line| line.split_once(" s  ").unwrap().1);
        assert_eq!(words.collect::<Vec<_>>(), ["a job prints: x", "node-2 leads in epoch 7"]);
        assert_eq!(stage.chosen, Some(1));
        assert!(matches!(news.try_recv(), Ok(DemoNews::Key(b'3'))), "it ended before");
        assert!(matches!(news.try_recv(), Ok(DemoNews::End)), "which ends it in any case");
    }
    drop(interrupt);
    stage.play(&news, &ends).unwrap();
}

#[test]
fn what_a_node_that_ended_has_said_is_old() {
    let folder = tempfile::tempdir().unwrap();
    let (mut stage, _news) = stage(&folder);
    lead(&mut stage, 1, 1);
    stage.nodes[1].kill();
    let said = until_said(|| {
        stage.look().unwrap();
        (stage.lines.len() == 2).then(|| last(&stage).to_owned())
    });
    assert_eq!(said, "node-2 was killed; r starts it again");
    assert_eq!(stage.asked[1].answer, Err(ClientError::NotServed));
}

#[test]
fn a_key_that_does_not_help_what_is_frozen_or_down_is_for_the_leader() {
    let folder = tempfile::tempdir().unwrap();
    let (mut stage, _news) = stage(&folder);
    let meant = |stage: &RunningDemo| [b'k', b'f', b'r'].map(|key| stage.meant(key));
    assert_eq!(meant(&stage), [None; 3]);
    lead(&mut stage, 0, 1);
    assert_eq!(meant(&stage), [Some(0); 3]);
    stage.nodes[1].freeze_or_thaw();
    assert_eq!(meant(&stage), [Some(0), Some(1), Some(0)]);
    stage.nodes[2].kill();
    until_said(|| stage.nodes[2].look(&stage.recipe).unwrap());
    assert_eq!(meant(&stage), [Some(0), Some(1), Some(2)]);
    stage.nodes[1].restart(&stage.recipe).unwrap();
    assert_eq!(meant(&stage), [Some(0), Some(0), Some(2)], "it starts by itself");
    stage.chosen = Some(2);
    assert_eq!(meant(&stage), [Some(2); 3]);
    stage.chosen = None;
    stage.press(b'r').unwrap();
    assert_eq!(last(&stage), "node-3 starts again");
    stage.press(b'r').unwrap();
    assert_eq!(last(&stage), "node-1 is told to end (TERM), and starts again then");
    assert_eq!(stage.asked[0].answer, Err(ClientError::NotServed), "what it said is old");
}

#[test]
fn the_title_says_what_runs_and_where_its_page_and_files_are() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("demo");
    let mut cluster = Cluster::temporary(&place, 2, ClusterOptions::default()).unwrap();
    let admin = cluster.config.members[0].admin.clone().unwrap();
    let rest = |scheme: &str| {
        [
            format!("page    {scheme}://{admin}/"),
            format!("config  {}", place.join("cluster.json").display()),
            format!("logs    {}", place.join("data/NODE.log").display()),
        ]
    };
    let first = "electd demo: 2 nodes on this machine, algorithm bully, quorum";
    let expected = [&[format!("{first} majority")][..], &rest("http")].concat();
    assert_eq!(title(&cluster), expected);
    cluster.config.members[0].admin = None;
    let [_, config, logs] = rest("http");
    let second = cluster.config.members[1].admin.clone().unwrap();
    let page = format!("page    http://{second}/");
    assert_eq!(title(&cluster)[1..], [page, config.clone(), logs.clone()]);
    cluster.config.members[1].admin = None;
    assert_eq!(title(&cluster)[1..], [config, logs]);
    cluster.config.members[0].admin = Some(admin.clone());
    (cluster.config.quorum, cluster.config.admin_tls) = (Quorum::None, true);
    let warning = "        for trying out: each half of a split cluster has a leader; with --quorum majority one";
    let expected = [&[format!("{first} none"), warning.to_owned()][..], &rest("https")].concat();
    assert_eq!(title(&cluster), expected);
}

#[test]
fn the_flags_choose_the_nodes_or_a_file() {
    #[derive(clap::Parser)]
    struct Flags {
        #[command(flatten)]
        demo: DemoArgs,
    }
    let parsed = |words: &[&str]| {
        let flags = <Flags as clap::Parser>::try_parse_from([&["x"], words].concat());
        flags.map(|flags| flags.demo).map_err(|error| error.kind())
    };
    let demo = parsed(&[]).unwrap();
    assert_eq!((demo.nodes, demo.algorithm, demo.quorum), (5, None, None));
    assert!(demo.config.is_none() && demo.keeper.is_none() && demo.job.is_empty());
    for nodes in [1, 9] {
        assert_eq!(parsed(&["--nodes", &nodes.to_string()]).unwrap().nodes, nodes);
    }
    let demo = parsed(&["--algorithm", "ring", "--quorum", "none", "--", "a", "-b"]).unwrap();
    assert_eq!((demo.algorithm.as_deref(), demo.quorum), (Some("ring"), Some(Quorum::None)));
    assert_eq!(demo.job, ["a", "-b"]);
    assert_eq!(parsed(&["--keeper"]).unwrap().keeper, Some(None));
    use clap::error::ErrorKind::{ArgumentConflict, InvalidValue, ValueValidation};
    for (words, kind) in [
        (&["--nodes", "0"][..], ValueValidation),
        (&["--nodes", "10"], ValueValidation),
        (&["--nodes", "3", "--config", "x"], ArgumentConflict),
        (&["--algorithm", "most"], InvalidValue),
        (&["--quorum", "most"], ValueValidation),
    ] {
        assert_eq!(parsed(words).err(), Some(kind), "{words:?}");
    }
}

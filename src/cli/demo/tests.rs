//! What the keys of a demo do, and what it says.

use super::nodes::tests::{recipe, stand_in, until_said};
use super::*;
use crate::cli::ask::tests::status;

/// Three nodes that were not heard yet, and their news.
fn stage(folder: &tempfile::TempDir) -> (Stage, Receiver<News>) {
    let changes = Changes { quorum: Some(Quorum::None), ..Changes::default() };
    let cluster = Cluster::temporary(&folder.path().join("demo"), 3, changes).unwrap();
    let config = &cluster.config;
    let (sender, news) = channel::bounded(QUEUE);
    let nodes = config.members.iter().map(|member| stand_in(&member.name, "exec sleep 999"));
    let unknown =
        |member| Asked { target: target(config, member), answer: Err(ClientError::NotServed) };
    let stage = Stage {
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
fn lead(stage: &mut Stage, place: usize, epoch: u64) {
    let target = stage.asked[place].target.clone();
    let name = target.name.clone().unwrap();
    let mut status = status(&name, Some((&name, epoch)));
    status.state = "leading".to_owned();
    stage.hear(place, Asked { target, answer: Ok(status) }).unwrap();
}

/// The last line, without its time.
fn last(stage: &Stage) -> &str {
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
    stage.hear(0, Asked { target: follower, answer: Ok(follows) }).unwrap();
    assert_eq!(stage.leader(), Some(2));
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
    lead(&mut stage, 0, 1);
    stage.press(b's').unwrap();
    let told = news.recv_timeout(Duration::from_secs(60));
    let Ok(News::Line(words)) = told else { panic!("nothing is told") };
    let admin = stage.asked[0].target.admin.clone().unwrap();
    assert!(words.contains(&admin), "nobody serves there: {words}");
}

#[test]
fn the_latest_lines_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (mut stage, _news) = stage(&folder);
    stage.lines = (0..LINES).map(|number| number.to_string()).collect();
    stage.say("the last").unwrap();
    assert_eq!((stage.lines.len(), stage.lines[0].as_str()), (LINES, "1"));
    assert_eq!(last(&stage), "the last");
}

#[test]
fn the_title_says_what_runs_and_where_its_page_and_files_are() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("demo");
    let mut cluster = Cluster::temporary(&place, 2, Changes::default()).unwrap();
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
    (cluster.config.quorum, cluster.config.admin_tls) = (Quorum::None, true);
    let warning = "        for trying out: each half of a split cluster has a leader; with --quorum majority one";
    let expected = [&[format!("{first} none"), warning.to_owned()][..], &rest("https")].concat();
    assert_eq!(title(&cluster), expected);
}

//! Disks that fail to sync once, are full, are broken or hang: the members elect all the same, say what is wrong, and recover
//! once the disk does.

use std::time::Duration;

use lossy::{Hang, Refusal};
use story::story;

use super::Scene;
use crate::support::{DEADLINE, ensure, eventually, within};

/// Waits until this node has a problem with its storage that has these words, or none.
#[track_caller]
fn until_storage(scene: &Scene, number: usize, words: Option<&str>) {
    eventually(&format!("the storage of node-{number} is {words:?}"), || {
        let problems = scene.status(number)?.problems;
        let mut found = problems.iter().filter(|problem| problem.kind == "storage");
        let as_expected = match words {
            Some(words) => found.any(|problem| problem.text.contains(words)),
            None => found.next().is_none(),
        };
        ensure(as_expected, || format!("{problems:?}"))
    });
}

/// Waits until a node has stored an epoch, and checks that this survives the failure of its power.
#[track_caller]
fn keeps(scene: &Scene, number: usize, epoch: u64) {
    eventually(&format!("node-{number} has stored epoch {epoch}"), || {
        let stored = scene.stored(number)?;
        ensure(stored["epoch"].as_u64() >= Some(epoch), || stored.to_string())
    });
    // Its name is there before the sync of its folder has succeeded.
    until_storage(scene, number, None);
    scene.cut_power_and_lose(number);
    let stored = scene.stored(number).unwrap();
    assert!(stored["epoch"].as_u64() >= Some(epoch), "{stored} after epoch {epoch}");
}

/// What PostgreSQL learned: after a sync that failed the next one succeeds, and the data is gone. electd writes all of it
/// anew. Rule Q2.
#[story]
fn a_sync_that_fails_once_takes_nothing_with_it_that_was_stored_later() {
    for good in 0..4 {
        // Of the file, of its folder, and the same of the next record.
        let Some(scene) = Scene::start(3) else { return };
        let before = scene.agree_on(3);
        let (mut epoch, mut tries) = (before, 0);
        // Another file may take the failure, such as the history.
        while !scene.node(1).log().contains("ERROR node-1: the state file") {
            assert!(tries < 20, "no sync of the state fails: {}", scene.node(1).log());
            tries += 1;
            scene.disk(1).fail_sync_after(good);
            scene.node(3).kill_9();
            scene.agree_on(2);
            scene.node(3).start();
            epoch = scene.agree_on(3);
            assert!(epoch > before, "epoch {epoch} after {before}");
        }
        scene.node(1).until_logged(&["the state file can be written again"]);
        keeps(&scene, 1, epoch);
        scene.node(1).start();
        scene.agree_on(3);
    }
}

/// No disk that is left takes anything, and there is a leader all the same. Rules Q2, Q3.
#[story]
fn a_leader_is_elected_on_disks_that_are_full_or_broken() {
    for (refusal, words) in [
        (Refusal::Full, "free some"),
        (Refusal::Broken, "Input/output error (os error 5); what it held before is kept"),
    ] {
        let Some(scene) = Scene::start(3) else { return };
        let before = scene.agree_on(3);
        [1, 2].iter().for_each(|number| scene.disk(*number).refuse(Some(refusal)));
        scene.node(3).kill_9();
        let epoch = scene.agree_on(2);
        assert!(epoch > before, "{refusal:?}: epoch {epoch} after {before}");
        for number in [1, 2] {
            until_storage(&scene, number, Some(words));
            assert_eq!(scene.node(number).get("/readyz").unwrap().code, 503);
        }
        [1, 2].iter().for_each(|number| scene.disk(*number).refuse(None));
        for number in [1, 2] {
            until_storage(&scene, number, None);
            assert_eq!(scene.node(number).get("/readyz").unwrap().code, 200);
        }
        keeps(&scene, 1, epoch);
        scene.node(1).start();
        scene.agree_on(2);
    }
}

/// The disk of a voter hangs, with all that is on it, until the node says so of a write for this long. Meanwhile the other
/// two need its vote. Rule Q2.
fn hangs_for(seconds: u64, hang: Hang) {
    let Some(scene) = Scene::start(3) else { return };
    let before = scene.agree_on(3);
    scene.disk(1).hang(Some(hang));
    scene.node(3).kill_9();
    let epoch = scene.agree_on(2);
    assert!(epoch > before, "epoch {epoch} after {before}");
    until_storage(&scene, 1, Some("a write of the state has been under way for "));
    within(DEADLINE + Duration::from_secs(seconds), "it hangs for long", || {
        let problems = scene.status(1)?.problems;
        let text = problems.iter().find_map(|problem| problem.text.split("under way for ").nth(1));
        let time = text.and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
        ensure(time >= Some(seconds), || format!("{problems:?}"))
    });
    assert_eq!(scene.agree_on(2), epoch, "the leader stays");
    scene.disk(1).hang(None);
    until_storage(&scene, 1, None);
    keeps(&scene, 1, epoch);
    scene.node(1).start();
    scene.node(3).start();
    assert!(scene.agree_on(3) > epoch);
}

#[story]
fn a_voter_votes_while_its_disk_hangs() {
    hangs_for(2, Hang::Writes);
}

/// Not even the question for its room is answered.
#[story]
fn a_voter_votes_and_says_what_is_wrong_while_its_disk_hangs_behind_a_network() {
    hangs_for(2, Hang::All);
}

#[story]
#[ignore = "long"]
fn a_voter_votes_while_its_disk_hangs_for_half_a_minute() {
    hangs_for(30, Hang::Writes);
}

/// The members do not miss a leader whose disk hangs, and elect another when it dies.
#[story]
fn a_leader_leads_while_its_disk_hangs() {
    let Some(scene) = Scene::start(3) else { return };
    let epoch = scene.agree_on(3);
    scene.disk(3).hang(Some(Hang::Writes));
    scene.disk(2).slow(Duration::from_millis(300));
    scene.node(1).restart(); // there is a new life to store
    assert_eq!(scene.agree_on(3), epoch);
    until_storage(&scene, 3, Some("a write of the state has been under way for "));
    scene.cut_power_and_lose(3);
    let next = scene.agree_on(2);
    assert!(next > epoch, "epoch {next} after {epoch}");
    scene.node(3).start();
    assert!(scene.agree_on(3) > next);
}

/// Two of five disks hang, and the votes of their nodes are needed in the end. Rules Q2, Q3.
#[story]
fn a_minority_of_disks_that_hang_holds_no_failover_up() {
    let Some(scene) = Scene::start(5) else { return };
    let mut epoch = scene.agree_on(5);
    for number in [1, 2] {
        scene.disk(number).hang(Some(Hang::All));
    }
    for dead in [5, 4] {
        scene.node(dead).kill_9();
        let next = scene.agree_on(dead - 1);
        assert!(next > epoch, "epoch {next} after {epoch}");
        epoch = next;
    }
    for number in [1, 2] {
        until_storage(&scene, number, Some("is the disk stuck?"));
        scene.disk(number).hang(None);
        until_storage(&scene, number, None);
    }
    keeps(&scene, 1, epoch);
    scene.node(1).start();
    scene.agree_on(3);
}

//! A demo as it is drawn on a terminal: the table of `electd status`, a line each, then the keys, then what happened.

use electd_facts::hint::ClusterFlags;
use electd_facts::versions;

use super::nodes::Condition;
use crate::admin::client::ClientError;
use crate::cli::ask::{AskedNode, answers, judged};
use crate::cli::overview;
use crate::cli::{print, screen};
use crate::node::status::Status;

/// The keys, as the terminal shows them.
const KEYS: &str = "k kill   f freeze, thaw   r restart   s the leader resigns   q quit";

/// How far the next lines of a line that is too long are indented, less the space between words: below its text.
const INDENT: usize = 10;

/// What is drawn.
pub struct Picture<'a> {
    /// What this is, a line each.
    pub title: &'a [String],
    /// The answers of the nodes.
    pub asked: &'a [AskedNode],
    /// The states of their processes.
    pub conditions: &'a [Condition],
    /// The place of the node that a digit chose.
    pub chosen: Option<usize>,
    /// What happened, oldest first.
    pub lines: &'a [String],
    /// The flags by which commands reach the nodes.
    pub flags: &'a ClusterFlags,
}

impl Picture<'_> {
    /// As text, with lines no longer and no more than this.
    pub fn text(&self, width: usize, height: usize) -> String {
        let judgement = judged(self.asked, self.flags);
        let mut above = self.title.to_vec();
        above.push(String::new());
        above.extend(self.table().lines().map(|line| cut(line, width)));
        above.push(String::new());
        above.push(judgement.summary());
        above.extend(judgement.orders);
        above.extend([String::new(), self.whom(), KEYS.to_owned(), String::new()]);
        let mut text: Vec<String> =
            above.iter().flat_map(|line| screen::wrapped(line, width, INDENT)).collect();
        let happened: Vec<String> =
            self.lines.iter().flat_map(|line| screen::wrapped(line, width, INDENT)).collect();
        let room = height.saturating_sub(text.len());
        text.extend_from_slice(&happened[happened.len().saturating_sub(room)..]);
        text.iter().map(|line| format!("{line}\n")).collect()
    }

    fn table(&self) -> String {
        // All run this program, unless other nodes answer at the addresses of a file.
        let answers = answers(self.asked);
        let has_versions = versions::words(answers).is_some();
        let rows = self.asked.iter().zip(self.conditions).enumerate();
        let rows = rows.map(|(place, (asked, condition))| {
            let mut row = overview::row(asked, self.asked, &[]);
            if let Some((state, note)) = unusual(condition, &asked.answer) {
                (row[overview::STATE], row[overview::NOTE]) = (state.to_owned(), note);
            }
            if !has_versions {
                row.remove(overview::VERSION);
            }
            let mark = if self.chosen == Some(place) { ">" } else { " " };
            row.insert(0, format!("{mark}{}", place + 1));
            row
        });
        let mut header = [&[""][..], &overview::HEADER].concat();
        if !has_versions {
            header.remove(1 + overview::VERSION);
        }
        print::long_table(&header, rows)
    }

    /// The node that the keys are for.
    fn whom(&self) -> String {
        let count = self.asked.len().min(9);
        match self.chosen.and_then(|place| self.asked.get(place)) {
            Some(chosen) => {
                format!("keys for {} (1-{count} choose, 0 is who leads):", chosen.name())
            }
            None => format!("keys for the leader (1-{count} choose another node):"),
        }
    }
}

/// The state of a process that does not run as usual or has not been heard yet, and what there is to say of it.
fn unusual(
    condition: &Condition,
    answer: &Result<Status, ClientError>,
) -> Option<(&'static str, String)> {
    match condition {
        Condition::Runs if *answer == Err(ClientError::NotServed) => {
            Some(("starting", String::new()))
        }
        Condition::Runs => None,
        Condition::Frozen => Some(("frozen", "f thaws it".to_owned())),
        Condition::Restarts(_) => Some(("ending", "it starts again then".to_owned())),
        Condition::Ended(how) => Some(("down", how.clone())),
    }
}

/// The line as far as it fits.
fn cut(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let kept = line.chars().take(width.saturating_sub(1));
    kept.chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::ask::tests::{following, silent};
    use crate::node::status::PauseStatus;

    fn text(height: usize, chosen: Option<usize>) -> String {
        let lines: Vec<String> = (1..=20).map(|number| format!("line {number}")).collect();
        let asked = [following("node-1", Some(("node-2", 7))), silent("node-2")];
        let conditions =
            [Condition::Runs, Condition::Ended("was killed; r starts it again".to_owned())];
        let title = ["a title that is far longer than any terminal is wide: ".repeat(3)];
        let picture = Picture {
            title: &title,
            asked: &asked,
            conditions: &conditions,
            chosen,
            lines: &lines,
            flags: &ClusterFlags::default(),
        };
        picture.text(80, height)
    }

    #[test]
    fn it_fits_the_terminal_and_ends_with_the_latest_line() {
        for height in [14, 24, 100] {
            let text = text(height, None);
            assert!(text.lines().count() <= height.max(11), "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
            assert!(text.ends_with("line 20\n"), "{text}");
        }
    }

    #[test]
    fn a_row_says_what_became_of_the_process_and_which_node_is_chosen() {
        let shown = text(24, Some(1));
        let row = |name: &str| shown.lines().find(|line| line.contains(name)).unwrap().to_owned();
        assert!(row(" 1  node-1").contains("following"), "{shown}");
        assert!(row(">2  node-2").contains("down   "), "{shown}");
        assert!(row(">2  node-2").contains("was killed"), "{shown}");
        assert!(shown.contains("keys for node-2"), "{shown}");
        assert!(text(24, None).contains("keys for the leader"));
        assert!(!shown.contains("VERSION"), "all are alike: {shown}");
    }

    #[test]
    fn a_process_that_does_not_run_as_usual_has_a_word_of_its_own() {
        let unheard = || Err(ClientError::NotServed);
        let state = |condition, answer| unusual(&condition, &answer);
        let said = |state, note: &str| Some((state, note.to_owned()));
        assert_eq!(state(Condition::Runs, unheard()), said("starting", ""));
        assert_eq!(state(Condition::Runs, silent("a").answer), None);
        assert_eq!(state(Condition::Runs, following("a", None).answer), None);
        assert_eq!(state(Condition::Frozen, unheard()), said("frozen", "f thaws it"));
        let restarts = Condition::Restarts(std::time::Instant::now());
        assert_eq!(state(restarts, unheard()), said("ending", "it starts again then"));
        let ended = Condition::Ended("was killed".to_owned());
        assert_eq!(state(ended, following("a", None).answer), said("down", "was killed"));
    }

    #[test]
    fn a_row_of_the_table_is_cut() {
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!((cut("abcdef", 6), cut("äbcdef", 5)), ("abcdef".to_owned(), "äbcd…".to_owned()));
    }

    #[test]
    fn the_nodes_that_a_digit_can_choose_are_named() {
        let asked: Vec<AskedNode> = (1..=10).map(|at| silent(&format!("node-{at}"))).collect();
        let whom = |nodes: usize, chosen| {
            let (asked, conditions) = (&asked[..nodes], [].as_slice());
            Picture {
                title: &[],
                asked,
                conditions,
                chosen,
                lines: &[],
                flags: &ClusterFlags::default(),
            }
            .whom()
        };
        assert_eq!(whom(2, Some(1)), "keys for node-2 (1-2 choose, 0 is who leads):");
        assert_eq!(whom(10, Some(0)), "keys for node-1 (1-9 choose, 0 is who leads):");
        assert_eq!(whom(10, None), "keys for the leader (1-9 choose another node):");
    }

    #[test]
    fn a_small_terminal_shows_the_latest_lines_and_the_rest_of_a_long_one_below_its_text() {
        let lines = ["0.100 s  the first words of a line that is long", "0.200 s  last"];
        let mut paused = following("node-1", Some(("node-1", 7)));
        let pause = PauseStatus { since: "today".to_owned(), until: None };
        paused.answer.as_mut().unwrap().pause = Some(pause);
        let picture = Picture {
            title: &["a title of more words than there is room for".to_owned()],
            asked: &[paused],
            conditions: &[Condition::Frozen],
            chosen: None,
            lines: &lines.map(str::to_owned),
            flags: &ClusterFlags::default(),
        };
        let shown = |height| picture.text(40, height);
        let above = "\
a title of more words than there is room
           for

    NODE    STATE   LEADER  EPOCH  UP  …
 1  node-1  frozen  node-1  7      1m 1…

node-1 leads in epoch 7; 1 more failure
           tolerated
paused: since today: nobody preempts the
           leader; `electd resume` ends
           that

keys for the leader (1-1 choose another
           node):
k kill   f freeze, thaw   r restart   s
           the leader resigns   q quit

";
        let happened =
            ["0.100 s  the first words of a line that", "           is long", "0.200 s  last"];
        for (height, from) in [(20, 0), (100, 0), (19, 1), (18, 2), (17, 3), (1, 3)] {
            let happened: String = happened[from..].iter().map(|it| format!("{it}\n")).collect();
            assert_eq!(shown(height), format!("{above}{happened}"), "{height}");
        }
    }

    #[test]
    fn a_picture_has_the_title_the_table_the_state_the_keys_and_what_happened() {
        let asked = [following("node-1", Some(("node-1", 7))), silent("node-2")];
        let conditions = [Condition::Runs, Condition::Frozen];
        let lines = ["first", "second"].map(str::to_owned);
        let title = ["a title".to_owned()];
        let picture = Picture {
            title: &title,
            asked: &asked,
            conditions: &conditions,
            chosen: None,
            lines: &lines,
            flags: &ClusterFlags::default(),
        };
        let shown = picture.text(200, 100);
        let lines: Vec<&str> = shown.lines().collect();
        let expected = [
            "a title",
            "",
            "    NODE    STATE      LEADER  EPOCH  UP     RTT  NOTE",
            " 1  node-1  following  node-1  7      1m 1s  -",
            " 2  node-2  frozen     -       -      -      -    f thaws it",
            "",
            "node-1 leads in epoch 7; 1 more failure tolerated",
            "",
            "keys for the leader (1-2 choose another node):",
            "k kill   f freeze, thaw   r restart   s the leader resigns   q quit",
            "",
            "first",
            "second",
        ];
        assert_eq!(lines, expected, "{shown}");
    }

    /// Other nodes answer at the addresses of a file.
    #[test]
    fn versions_that_differ_have_a_column() {
        let mut old = following("node-2", None);
        old.answer.as_mut().unwrap().version = "0.0.7".to_owned();
        let asked = [following("node-1", None), old];
        let conditions = [Condition::Runs, Condition::Runs];
        let picture = Picture {
            title: &[],
            asked: &asked,
            conditions: &conditions,
            chosen: None,
            lines: &[],
            flags: &ClusterFlags::default(),
        };
        let table = "    NODE    STATE     LEADER  EPOCH  UP     RTT  VERSION  NOTE
 1  node-1  electing  -       0      1m 1s  -    0.2.0
 2  node-2  electing  -       0      1m 1s  -    0.0.7
";
        assert_eq!(picture.table(), table);
    }
}

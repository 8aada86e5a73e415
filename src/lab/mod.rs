//! The simulator in a browser: a page, and the runs that it asks for. Nothing is kept between two questions: what a run
//! shows follows from its question.
//!
//! | file | room |
//! |---|---|
//! | `question` | the query of `GET /run` |
//! | `deeds` | what is done to the cluster, as the query names it |
//! | `answer` | what was seen, as JSON |
//! | `formula` | how many messages an election takes by the formulas of docs/algorithms.md |
//! | `page` | `GET /` |

mod answer;
mod deeds;
mod formula;
mod page;
mod question;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use crate::admin::{Request, Response};
use crate::sim::ExperimentError;
use question::LabQuestion;

/// The runs at one time: each takes a processor.
const MOST_RUNS: usize = 6;

/// Answers the page.
#[derive(Debug, Default)]
pub(crate) struct Lab {
    running: AtomicUsize,
}

impl Lab {
    /// The answer to a request.
    pub fn answer(&self, request: &Request) -> Response {
        match request.path.as_str() {
            "/" => page::answer(),
            "/run" => self.run(&request.query),
            path => {
                let sentence = format!("there is no {path} here; ask for one of the paths listed");
                let paths = ["GET /", "GET /run"];
                Response::json(404, &json!({ "error": sentence, "paths": paths }))
            }
        }
    }

    fn run(&self, query: &str) -> Response {
        let question = match LabQuestion::parse(query) {
            Ok(question) => question,
            Err(sentence) => return Response::error(400, sentence),
        };
        let Some(_place) = self.place() else {
            return Response::error(503, "too many runs are under way; try again in a moment");
        };
        match question.experiment().run() {
            Ok(observed) => Response::json(200, &answer::object(&question, &observed)),
            Err(trouble @ ExperimentError::Breach(_)) => Response::error(500, trouble.to_string()),
            Err(trouble) => Response::error(400, question.complaint(&trouble)),
        }
    }

    /// The place of a run, unless all are taken.
    fn place(&self) -> Option<RunPlace<'_>> {
        let place = RunPlace { running: &self.running };
        (self.running.fetch_add(1, Ordering::Relaxed) < MOST_RUNS).then_some(place)
    }
}

/// The place of a run that is under way. It is free again when the run is over, also if that panics.
struct RunPlace<'l> {
    running: &'l AtomicUsize,
}

impl Drop for RunPlace<'_> {
    fn drop(&mut self) {
        self.running.fetch_sub(1, Ordering::Relaxed);
    }
}

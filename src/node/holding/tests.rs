//! Real members, and the works that run while they hold their names.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use serde_json::json;

use super::*;
use crate::config::Builder;
use crate::node::{Node, example};
use crate::testing::within::{done_within, within};

/// Far longer than anything takes here.
const LONG: Duration = Duration::from_secs(100);

/// A step of a work.
const STEP: Duration = Duration::from_millis(5);

fn names(all: &[&str]) -> Vec<LockName> {
    all.iter().map(|name| LockName::new(name).unwrap()).collect()
}

#[test]
fn each_work_runs_under_its_name_and_a_name_whose_work_is_done_is_given_back() {
    let (config, _folder) = example::cluster().unwrap();
    done_within(LONG, "all works are done", move || {
        let begun = Mutex::new(BTreeMap::new());
        let outcome = while_holding(&config, "a", names(&["mail", "billing"]), |name, lead| {
            begun.lock().insert(name.as_str().to_owned(), lead.epoch());
            within(LONG, "both run at a time", || {
                assert!(lead.goes_on(STEP), "nobody wants the name");
                begun.lock().len() == 2
            });
        });
        assert!(outcome.is_ok(), "{outcome:?}");
        let last = begun.into_inner().into_values().max();
        let again = Node::start(&config, "a").expect("the first one is gone");
        let [mail] = &names(&["mail"])[..] else { panic!("one name") };
        let mail = again.handle().lock(mail.clone(), WANT).unwrap();
        within(LONG, "it is held anew", || {
            mail.leadership().is_some_and(|held| Some(held.epoch()) > last)
        });
        again.stop();
    });
}

#[test]
fn a_name_that_is_refused_has_the_member_stop() {
    let (config, _folder) = example::cluster().unwrap();
    let twice = names(&["mail", "mail"]);
    let refused = while_holding(&config, "a", twice, |_, _| ()).unwrap_err().to_string();
    assert!(refused.starts_with("the lock mail: this node wants the lock already"), "{refused}");
    Node::start(&config, "a").expect("it is gone").stop();
}

#[test]
fn a_work_that_panics_ends_the_others_and_the_member_and_the_caller_learns_it() {
    let (config, _folder) = example::cluster().unwrap();
    done_within(LONG, "it stops", move || {
        let run = Arc::new(AtomicUsize::new(0));
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            while_holding(&config, "a", names(&["mail", "billing"]), |name, lead| {
                run.fetch_add(1, Ordering::SeqCst);
                within(LONG, "both run", || run.load(Ordering::SeqCst) == 2);
                assert!(name.as_str() != "mail", "on purpose");
                while lead.goes_on(STEP) {}
            })
        }));
        let words = panicked.unwrap_err();
        assert_eq!(words.downcast_ref::<&str>(), Some(&"on purpose"));
        Node::start(&config, "a").expect("the member has stopped").stop();
    });
}

#[test]
fn work_that_fails_soon_twice_comes_to_another_member_and_the_other_name_stays() {
    let folder = tempfile::tempdir().unwrap();
    let ids = ["018db8ac-db45-4792-a0b9-9560d9932c98", "6810b99e-43f6-4461-9022-87f37f50ffb1"];
    let ports = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let [a, b] = ports.each_ref().map(|port| port.local_addr().unwrap().to_string());
    drop(ports);
    let builder = Builder::new("two", "majority", folder.path()).member("a", ids[0], &a);
    let builder = builder.member("b", ids[1], &b).set("timing", json!({ "failure": "1s" }));
    let config = builder.build().unwrap();
    let b = Node::start(&config, "b").unwrap();
    done_within(LONG, "the other member has the name", move || {
        let [mail, billing] = [AtomicUsize::new(0), AtomicUsize::new(0)];
        let other = Mutex::new(None);
        let outcome = while_holding(&config, "a", names(&["mail", "billing"]), |name, lead| {
            if name.as_str() == "billing" {
                billing.fetch_add(1, Ordering::SeqCst);
                within(LONG, "the other member holds the other name", || {
                    assert!(lead.goes_on(STEP), "nobody wants this one");
                    let other = other.lock();
                    other.as_ref().is_some_and(|it: &WantedLock| it.leadership().is_some())
                });
                *other.lock() = None;
                return Ok(());
            }
            let want = || b.handle().lock(name.clone(), WANT).unwrap();
            other.lock().get_or_insert_with(want);
            // Done once the other member has given it back.
            if mail.fetch_add(1, Ordering::SeqCst) < 2 { Err("no database") } else { Ok(()) }
        });
        assert!(outcome.is_ok(), "{outcome:?}");
        assert_eq!(billing.into_inner(), 1);
        assert_eq!(mail.into_inner(), 3, "twice it failed, and then it was done");
        b.stop();
    });
}

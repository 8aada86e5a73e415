//! The floors of the core. Its files add methods to three shared types, and a method needs no `use`: so calls are read by
//! their names. A file calls methods of its own floor's file and of the floors below, never of one above.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use syn::visit::{self, Visit};
use syn::{Expr, ExprMethodCall, ExprPath, ImplItem, Item, Type};

use super::{assert_none, sources};

/// The types that the files of the core add methods to, and the names by which these call each other.
const SHARED: &[&str] = &["Turn", "Context", "State"];
const BY: &[&str] = &["self", "cx", "state", "turn"];

/// From the roof down, one file or more a floor.
const FLOORS: &[&[&str]] = &[
    &["mod.rs", "turn.rs"],
    // A member that connects learns what it missed.
    &["admission.rs"],
    // What an operator asks for.
    &["forwarding.rs"],
    &["retiming.rs"],
    &["ranking.rs"],
    // The member list.
    &["membership/replication.rs"],
    &["membership/change.rs"],
    // The leader.
    &["heartbeat.rs"],
    &["leadership/ending.rs"],
    &["switchover.rs"],
    &["leadership/handover.rs"],
    // The election.
    &["leadership/announcement.rs"],
    &["leadership/tally.rs"],
    &["leadership/voting.rs"],
    &["leadership/nomination.rs"],
    &["leadership/call.rs"],
    &["leadership/becoming.rs", "objection.rs"],
    // What these rely on.
    &["membership/own.rs"],
    &["leadership/asking.rs"],
    &["leadership/judging.rs"],
    &["reach.rs"],
    &["leadership/promise.rs"],
    &["leadership/release.rs"],
    &["pause.rs"],
    &["answers.rs"],
    &["context.rs"],
    &["state.rs"],
];

/// The methods that a file adds to the shared types, and the names that each of them calls.
type Methods = BTreeMap<String, BTreeSet<String>>;

#[derive(Default)]
struct Calls(BTreeSet<String>);

/// Whether an expression is one of the shared objects, or the field of one that leads to another.
fn is_shared(expression: &Expr) -> bool {
    match expression {
        Expr::Path(path) => {
            path.path.get_ident().is_some_and(|name| BY.iter().any(|by| name == by))
        }
        Expr::Field(field) => {
            let leads = matches!(&field.member, syn::Member::Named(name) if name == "cx" || name == "state");
            leads && is_shared(&field.base)
        }
        Expr::Unary(unary) => is_shared(&unary.expr),
        Expr::Paren(paren) => is_shared(&paren.expr),
        Expr::Reference(reference) => is_shared(&reference.expr),
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Calls {
    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        if is_shared(&call.receiver) {
            self.0.insert(call.method.to_string());
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_path(&mut self, path: &'ast ExprPath) {
        let names: Vec<String> =
            path.path.segments.iter().map(|part| part.ident.to_string()).collect();
        if let [of, name] = &names[..]
            && (of == "Self" || SHARED.contains(&of.as_str()))
        {
            self.0.insert(name.clone());
        }
        visit::visit_expr_path(self, path);
    }
}

fn methods(text: &str) -> Methods {
    let file = syn::parse_file(text).expect("it compiles");
    let mut methods = Methods::new();
    for item in &file.items {
        let Item::Impl(block) = item else { continue };
        let Type::Path(of) = &*block.self_ty else { continue };
        let name = of.path.segments.last().expect("a type has a name").ident.to_string();
        if block.trait_.is_some() || !SHARED.contains(&name.as_str()) {
            continue;
        }
        for item in &block.items {
            if let ImplItem::Fn(method) = item {
                let mut calls = Calls::default();
                calls.visit_block(&method.block);
                methods.insert(method.sig.ident.to_string(), calls.0);
            }
        }
    }
    methods
}

/// The calls that go up, in words; and the files that have no floor.
fn upward(files: &BTreeMap<String, Methods>, floors: &[&[&str]]) -> Vec<String> {
    let floor = |file: &str| floors.iter().position(|floor| floor.contains(&file));
    let mut home: BTreeMap<&str, &str> = BTreeMap::new();
    for (file, methods) in files {
        methods.keys().for_each(|method| {
            home.insert(method, file);
        });
    }
    let mut broken = Vec::new();
    for (file, methods) in files.iter().filter(|(_, methods)| !methods.is_empty()) {
        let Some(from) = floor(file) else {
            broken.push(format!("{file} adds methods and is on no floor"));
            continue;
        };
        for (method, calls) in methods {
            for call in calls {
                let Some(to) = home.get(call.as_str()).filter(|to| *to != file) else { continue };
                if floor(to).is_some_and(|to| to <= from) {
                    broken.push(format!("{file}: {method} calls {call} of {to}"));
                }
            }
        }
    }
    broken
}

#[test]
fn no_call_in_the_core_goes_up_a_floor() {
    let mut files = BTreeMap::new();
    for file in sources(&["src/core"]) {
        let text = fs::read_to_string(&file.path).expect("it was read before");
        let name = file.path.trim_start_matches("src/core/").to_owned();
        files.insert(name, methods(&text));
    }
    let shared: usize = files.values().map(BTreeMap::len).sum();
    assert!(shared > 100, "only {shared} methods were found: is the test still right?");
    assert_none(
        &upward(&files, FLOORS),
        "move the method to a floor below its callers, or the caller up: FLOORS in this file is the plan",
    );
}

/// The test itself: a call that goes up, one that stays on its floor, and a file without a floor are seen.
#[test]
fn a_call_that_goes_up_is_seen() {
    let file = |text: &str| methods(text);
    let low = "impl State { fn low(&self) { self.high(); } fn own(&self) { self.low(); } }";
    let high =
        "impl Context<'_> { fn high(&mut self) { self.state.low(); State::own(self.state); } }";
    let files = BTreeMap::from([
        ("low.rs".to_owned(), file(low)),
        ("high.rs".to_owned(), file(high)),
        ("astray.rs".to_owned(), file("impl Turn<'_> { fn astray(&self) {} }")),
    ]);
    let broken = upward(&files, &[&["high.rs"], &["low.rs"]]);
    let expected =
        ["astray.rs adds methods and is on no floor", "low.rs: low calls high of high.rs"];
    assert_eq!(broken, expected);
}

//! The floors of the core and of the simulator. A file calls the functions of the floors below, as in
//! `call::lost(turn, id)`, and never of one above. Some files add methods to shared types; a method needs no `use`, so its
//! calls are read by their names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use syn::visit::{self, Visit};
use syn::{Block, Expr, ExprMethodCall, ExprPath, Ident, ImplItem, Item, Type};

use super::{assert_none, sources};

/// The types to which methods are added, and the names by which these are called.
const SHARED: &[&str] = &["Turn", "Context", "State", "World", "BrokenWorld"];
const BY: &[&str] = &["self", "cx", "state", "turn", "world", "broken"];

/// The fields of one of them that lead to another.
const LEADS: &[&str] = &["cx", "state", "world"];

/// The core from the roof down, one file or more a floor.
const FLOORS: &[&[&str]] = &[
    &["mod.rs"],
    &["inputs.rs"],
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
    // The algorithms; the floors below call them through one trait.
    &["algorithm/bully.rs", "algorithm/halting/mod.rs", "algorithm/ring/mod.rs"],
    &["leadership/handover.rs"],
    // The election.
    &["leadership/announcement.rs"],
    &["leadership/tally.rs"],
    &["leadership/voting.rs"],
    &["leadership/nomination.rs"],
    &["leadership/certified.rs"],
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

/// The simulator from the roof down: all its files that reach into its world.
const SIM_FLOORS: &[&[&str]] = &[
    // Whole runs.
    &["crashes.rs"],
    &["run.rs", "scenario.rs", "experiment.rs", "play.rs", "failovers.rs", "slow.rs"],
    &["stay/mod.rs"],
    &["stay/tried.rs"],
    &["stay/comings.rs"],
    &["stay/doings.rs", "stay/hasty.rs"],
    &["stay/ills.rs", "stay/files.rs", "stay/promise.rs", "stay/worst.rs"],
    &["stay/broken.rs"],
    &["settle.rs"],
    // What befalls a world: drawn before it happens, then done to it.
    &["sources.rs", "faults.rs", "deeds.rs"],
    &["storm.rs", "retiming.rs", "trouble.rs", "joining.rs", "model.rs", "operators.rs"],
    &["draft.rs", "orders.rs"],
    &["plan.rs", "pause.rs"],
    // Time goes on.
    &["events.rs"],
    &["transit.rs"],
    &["half_open.rs"],
    &["arrival.rs", "guards.rs"],
    &["connected.rs", "turn.rs"],
    // What a turn comes to.
    &["speech.rs"],
    &["process.rs"],
    &["named.rs"],
    &["members.rs", "waiting.rs"],
    &["network.rs"],
    // All nodes, the traffic between them, and what is written down of it.
    &["drawn.rs"],
    &["world.rs"],
    &["node.rs"],
    &["assured.rs", "jobs.rs"],
];

/// What is called: a method of a shared type by its name, or a function by its file and its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Call {
    Method(String),
    Function(String, String),
}

/// The functions of a file, and the methods that it adds to the shared types.
#[derive(Default)]
struct Contents {
    methods: BTreeSet<String>,
    /// What each of them calls, by its name.
    calls: BTreeMap<String, BTreeSet<Call>>,
}

#[derive(Default)]
struct Calls(BTreeSet<Call>);

/// Whether an expression is one of the shared objects, or the field of one that leads to another.
fn is_shared(expression: &Expr) -> bool {
    match expression {
        Expr::Path(path) => {
            path.path.get_ident().is_some_and(|name| BY.iter().any(|by| name == by))
        }
        Expr::Field(field) => {
            let leads = |name: &Ident| LEADS.iter().any(|leads| name == leads);
            matches!(&field.member, syn::Member::Named(name) if leads(name))
                && is_shared(&field.base)
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
            self.0.insert(Call::Method(call.method.to_string()));
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_path(&mut self, path: &'ast ExprPath) {
        let names: Vec<String> =
            path.path.segments.iter().map(|part| part.ident.to_string()).collect();
        if let [.., of, name] = &names[..] {
            self.0.insert(match of == "Self" || SHARED.contains(&of.as_str()) {
                true => Call::Method(name.clone()),
                false => Call::Function(of.clone(), name.clone()),
            });
        }
        visit::visit_expr_path(self, path);
    }
}

fn contents(text: &str) -> Contents {
    let file = syn::parse_file(text).expect("it compiles");
    let mut contents = Contents::default();
    let mut add = |name: &Ident, block: &Block| {
        let mut calls = Calls::default();
        calls.visit_block(block);
        contents.calls.entry(name.to_string()).or_default().extend(calls.0);
    };
    for item in &file.items {
        match item {
            Item::Fn(function) => add(&function.sig.ident, &function.block),
            Item::Impl(block) => {
                let Type::Path(of) = &*block.self_ty else { continue };
                let of = of.path.segments.last().expect("a type has a name").ident.to_string();
                let shared = block.trait_.is_none() && SHARED.contains(&of.as_str());
                for item in &block.items {
                    let ImplItem::Fn(method) = item else { continue };
                    add(&method.sig.ident, &method.block);
                    if shared {
                        contents.methods.insert(method.sig.ident.to_string());
                    }
                }
            }
            _ => {}
        }
    }
    contents
}

/// The name by which other files call the functions of a file.
fn module(file: &str) -> &str {
    let path = file.trim_end_matches(".rs").trim_end_matches("/mod");
    path.rsplit('/').next().unwrap_or(path)
}

/// The calls that go up, in words; and the files that add methods and have no floor.
fn upward(files: &BTreeMap<String, Contents>, floors: &[&[&str]]) -> Vec<String> {
    let floor = |file: &str| floors.iter().position(|floor| floor.contains(&file));
    let home = |call: &Call| {
        files.iter().find(|(file, contents)| match call {
            Call::Method(name) => contents.methods.contains(name),
            Call::Function(of, name) => module(file) == of && contents.calls.contains_key(name),
        })
    };
    let mut broken = Vec::new();
    for (file, contents) in files {
        let Some(from) = floor(file) else {
            if !contents.methods.is_empty() {
                broken.push(format!("{file} adds methods and is on no floor"));
            }
            continue;
        };
        for (caller, calls) in &contents.calls {
            for call in calls {
                let Some((to, _)) = home(call).filter(|(to, _)| *to != file) else { continue };
                if floor(to).is_some_and(|to| to <= from) {
                    let (Call::Method(name) | Call::Function(_, name)) = call;
                    broken.push(format!("{file}: {caller} calls {name} of {to}"));
                }
            }
        }
    }
    broken
}

/// Fails if a call in this room goes up.
fn check(room: &str, floors: &[&[&str]]) {
    let mut files = BTreeMap::new();
    for file in sources(&[room]) {
        let text = fs::read_to_string(&file.path).expect("it was read before");
        let name = file.path[room.len()..].trim_start_matches('/').to_owned();
        files.insert(name, contents(&text));
    }
    for file in floors.iter().flat_map(|floor| floor.iter()) {
        let calls = &files.get(*file).unwrap_or_else(|| panic!("there is no {file}")).calls;
        assert!(!calls.is_empty(), "{file} has no function: is the test still right?");
    }
    assert_none(
        &upward(&files, floors),
        "move the function to a floor below its callers, or the caller up: this file has the floors",
    );
}

#[test]
fn no_call_in_the_core_goes_up_a_floor() {
    check("src/election/core", FLOORS);
}

#[test]
fn no_call_in_the_simulator_goes_up_a_floor() {
    check("src/model/sim", SIM_FLOORS);
}

/// The test itself: calls that go up, one that stays on its floor, and a file without a floor are seen.
#[test]
fn a_call_that_goes_up_is_seen() {
    let low = "fn low(state: &State) { high::high(state); state.called(); } fn own(state: &State) { low(state); }";
    let high = "fn high(cx: &mut Context) { low::low(cx.state); State::called(cx.state); }
        impl Context<'_> { fn called(&self) { low::own(self.state); } }";
    let files = BTreeMap::from([
        ("room/low.rs".to_owned(), contents(low)),
        ("high.rs".to_owned(), contents(high)),
        ("astray.rs".to_owned(), contents("impl Turn<'_> { fn astray(&self) {} }")),
    ]);
    let broken = upward(&files, &[&["high.rs"], &["room/low.rs"]]);
    let expected = [
        "astray.rs adds methods and is on no floor",
        "room/low.rs: low calls called of high.rs",
        "room/low.rs: low calls high of high.rs",
    ];
    assert_eq!(broken, expected);
}

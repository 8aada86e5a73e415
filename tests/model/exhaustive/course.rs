//! An undisturbed course of a cluster: single steps that bring it to the moment where a search starts.

use electd_election::core::message::Kind;
use electd_election::core::{Input, Phase};

use super::book::Book;
use super::process::Event;
use super::step::Step;
use super::world::{Flying, World};

/// Where a message of this kind to this member is.
pub fn on_its_way(world: &World, book: &Book, to: usize, kind: Kind) -> usize {
    let fits = |flying: Flying| flying.to() == to && is_of_kind(book, flying, kind);
    let found = world.flight().find(|(_, flying, _)| fits(*flying));
    found.expect("it was sent").0
}

pub fn is_of_kind(book: &Book, flying: Flying, kind: Kind) -> bool {
    match book.event(flying.event) {
        Event::Input(Input::Message { envelope, .. }) => envelope.message.kind() == kind,
        _ => false,
    }
}

pub fn arrive(world: &mut World, book: &mut Book, to: usize, kind: Kind) {
    let at = on_its_way(world, book, to, kind);
    take(world, book, Step::Deliver { at, early: false });
}

/// The shortest time passes.
pub fn pass(world: &mut World, book: &mut Book) {
    let next = Step::all(world, book).into_iter().find(|step| matches!(step, Step::Pass { .. }));
    take(world, book, next.expect("nobody is due"));
}

pub fn is_quiet(world: &World, book: &Book) -> bool {
    let waits = world.places().any(|member| world.process(book, member).waiting() > 0);
    world.flight().next().is_none() && !waits
}

pub fn take(world: &mut World, book: &mut Book, step: Step) {
    world.step(book, step).expect("nothing is broken before the search begins");
}

pub fn phase(world: &World, book: &Book, member: usize) -> Option<Phase> {
    world.process(book, member).core.as_ref().map(|core| core.phase())
}

/// Whatever may happen without a fault happens, in a fixed order, and then time passes.
pub fn run_until(world: &mut World, book: &mut Book, reached: impl Fn(&World, &Book) -> bool) {
    run(world, book, None, reached);
}

/// The same, while all that two members say to each other is lost.
pub fn run_apart(
    world: &mut World,
    book: &mut Book,
    apart: [usize; 2],
    reached: impl Fn(&World, &Book) -> bool,
) {
    run(world, book, Some(apart), reached);
}

fn run(
    world: &mut World,
    book: &mut Book,
    apart: Option<[usize; 2]>,
    reached: impl Fn(&World, &Book) -> bool,
) {
    for _ in 0..1000 {
        let lost = |flying: Flying| apart.is_some_and(|pair| flying.is_between(pair));
        let find = |world: &World| world.flight().find(|(_, flying, _)| lost(*flying));
        while let Some((at, ..)) = find(world) {
            world.left.losses = 1;
            take(world, book, Step::Lose { at });
        }
        if reached(world, book) {
            return;
        }
        let steps = Step::all(world, book);
        let calm =
            |step: &&Step| matches!(step, Step::Deliver { .. } | Step::Tick(_) | Step::Written(_));
        let passes = |step: &&Step| matches!(step, Step::Pass { .. });
        let next = steps.iter().find(calm).or(steps.iter().rfind(passes));
        take(world, book, *next.expect("time passes for ever"));
    }
    panic!("the start of a search was not reached");
}

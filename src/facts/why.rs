//! Why a member leads, and why another does not, in sentences with what to do about it: for `electd why`.

mod nobody;
mod of_member;
#[cfg(test)]
mod tests;
mod view;

use std::fmt::Write;

use serde_json::{Value, json};

use super::judge::Verdict;
use view::WhyAnswer;
pub use view::WhyView;

impl WhyView<'_> {
    /// Why nobody leads, if nobody does; and why this member leads or does not, or each of all.
    fn reasons<'m>(
        &'m self,
        member: Option<&'m str>,
    ) -> (Option<WhyAnswer>, Vec<(&'m str, WhyAnswer)>) {
        let names = self.names.iter().copied().filter(|name| member.is_none_or(|it| it == *name));
        let members = names.map(|name| (name, of_member::why(name, self))).collect();
        (self.leader.is_none().then(|| nobody::why(self)), members)
    }

    /// For people, of this member or of all.
    #[must_use]
    pub fn text(&self, member: Option<&str>) -> String {
        let (nobody, members) = self.reasons(member);
        text_of(self, nobody.as_ref(), &members, member.is_some())
    }

    /// For programs, of this member or of all.
    #[must_use]
    pub fn object(&self, member: Option<&str>) -> Value {
        let (nobody, members) = self.reasons(member);
        object_of(self, nobody.as_ref(), &members)
    }
}

/// A sentence each, and below it what to do. What only changes who leads, although nothing is wrong, is for
/// whoever asked about this member (`chosen`).
fn text_of(
    view: &WhyView,
    nobody: Option<&WhyAnswer>,
    members: &[(&str, WhyAnswer)],
    chosen: bool,
) -> String {
    let mut text = String::new();
    let judgement = &view.judgement;
    if judgement.verdict == Verdict::TwoLeaders || !judgement.cut_off.is_empty() {
        let _ = writeln!(text, "{}", judgement.headline()); // a string takes everything
    }
    let sentences = members.iter().map(|(name, why)| (why.begin(name), why));
    // A node that hears nobody cannot know that nobody leads.
    let nobody = nobody.filter(|_| judgement.verdict != Verdict::CutOff);
    let nobody = nobody.map(|why| ("nobody leads".to_owned(), why));
    for (begin, WhyAnswer { reason, remedy, cause }) in nobody.into_iter().chain(sentences) {
        let _ = writeln!(text, "{begin}: {reason}");
        if let Some(remedy) = remedy.as_ref().filter(|_| chosen || !cause.is_as_ranked()) {
            let _ = writeln!(text, "  => {remedy}");
        }
    }
    for difference in &judgement.differences {
        let _ = writeln!(text, "{difference}");
    }
    text
}

fn object_of(view: &WhyView, nobody: Option<&WhyAnswer>, members: &[(&str, WhyAnswer)]) -> Value {
    let words = |why: &WhyAnswer| json!({ "cause": why.cause.name(), "reason": why.reason, "remedy": why.remedy });
    let members = members.iter().map(|(name, why)| {
        let mut object = words(why);
        object["name"] = (*name).into();
        object["leads"] = why.leads().into();
        object
    });
    json!({
        "leader": view.leader.map(|leader| &leader.name),
        "epoch": view.leader.map(|leader| leader.epoch),
        "nobody_leads": nobody.map(words),
        "members": members.collect::<Vec<_>>(),
    })
}

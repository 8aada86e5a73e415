//! A node as it stands still before a job begins.

use super::*;

/// A node that leads for this much longer, or does not, and is asked for nothing that it can give.
#[derive(Default)]
pub(super) struct Node {
    pub leads: Option<Duration>,
    pub is_gone: bool,
    pub was_asked: Mutex<Vec<String>>,
}

impl Leader for Node {
    type Hold = ();

    fn changes(&self) -> impl Deref<Target = Receiver<Change>> {
        Box::new(never())
    }

    fn leadership(&self) -> Option<Leadership> {
        self.leads.map(|left| leadership(left, None))
    }

    fn hold(&self, most: Duration) -> Option<()> {
        self.was_asked.lock().push(format!("hold for {most:?}"));
        None
    }

    fn equip(&self, _: &mut Self::Hold) -> io::Result<Equipment> {
        Ok(equipment())
    }

    fn hand_over(&self) {
        self.was_asked.lock().push("hand over".to_owned());
    }

    fn stand_back(&self, reason: &str) {
        self.was_asked.lock().push(reason.to_owned());
    }

    fn is_gone(&self) -> bool {
        self.is_gone
    }
}

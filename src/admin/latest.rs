//! What is asked of all members, once for all clients that want to know it at about the same time.
//!
//! One question is out at a time, and whoever comes meanwhile waits for its answer, so that a crowd of browsers costs no
//! more than one.

use std::time::Instant;

use parking_lot::Mutex;

use super::limits;

/// The answer that was found last.
#[derive(Debug)]
pub struct Latest<T>(Mutex<Option<T>>);

impl<T> Default for Latest<T> {
    fn default() -> Latest<T> {
        Latest(Mutex::default())
    }
}

impl<T: Clone> Latest<T> {
    /// The last answer, if it `fits` somebody who came at this moment, or else what is found now; none if the wait for that
    /// takes too long.
    pub fn get(
        &self,
        fits: impl FnOnce(&T, Instant) -> bool,
        find: impl FnOnce() -> T,
    ) -> Option<T> {
        let came = Instant::now();
        let mut last = self.0.try_lock_for(limits::WAIT)?;
        if let Some(known) = last.as_ref().filter(|known| fits(known, came)) {
            return Some(known.clone());
        }
        Some(last.insert(find()).clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_given_to_all_whom_it_fits_and_found_anew_for_others() {
        let latest = Latest::default();
        let get = |fits: bool, next: u8| latest.get(|_, _| fits, || next);
        assert_eq!(get(true, 1), Some(1), "nothing is known yet");
        assert_eq!(get(true, 2), Some(1));
        assert_eq!(get(false, 3), Some(3));
        assert_eq!(get(true, 4), Some(3));
    }
}

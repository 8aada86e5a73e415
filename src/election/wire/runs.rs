//! The JSON of runs under names that are held once in each period.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Serialize};

use super::bounds::bounded;
use crate::core::locks::periods::{OncePer, PeriodRun, RunEnd, WallTime};
use crate::core::locks::table::LockName;
use crate::core::types::NodeId;

/// The form of periods: whose length and begin are no periods is not read.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "OncePerParts")]
pub(super) struct OncePerForm {
    length_ms: u64,
    begin_ms: u64,
    retry: bool,
}

#[derive(Deserialize)]
struct OncePerParts {
    #[serde(deserialize_with = "bounded")]
    length_ms: u64,
    #[serde(deserialize_with = "bounded")]
    begin_ms: u64,
    retry: bool,
}

impl TryFrom<OncePerParts> for OncePerForm {
    type Error = String;

    fn try_from(parts: OncePerParts) -> Result<OncePerForm, String> {
        let OncePerParts { length_ms, begin_ms, retry } = parts;
        let millis = Duration::from_millis;
        let once = OncePer::new(millis(length_ms), millis(begin_ms), retry);
        once.map(OncePerForm::from).map_err(|why| why.to_string())
    }
}

impl From<OncePer> for OncePerForm {
    fn from(once: OncePer) -> OncePerForm {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let (length_ms, begin_ms) = (millis(once.length()), millis(once.offset()));
        OncePerForm { length_ms, begin_ms, retry: once.retry }
    }
}

impl From<OncePerForm> for OncePer {
    fn from(form: OncePerForm) -> OncePer {
        let OncePerForm { length_ms, begin_ms, retry } = form;
        let millis = Duration::from_millis;
        // What makes no periods is no form.
        OncePer::new(millis(length_ms), millis(begin_ms), retry).unwrap_or(OncePer::DAILY)
    }
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EndForm {
    Unused,
    Code(u8),
}

impl From<RunEnd> for EndForm {
    fn from(end: RunEnd) -> EndForm {
        match end {
            RunEnd::Unused => EndForm::Unused,
            RunEnd::Code(code) => EndForm::Code(code),
        }
    }
}

impl From<EndForm> for RunEnd {
    fn from(form: EndForm) -> RunEnd {
        match form {
            EndForm::Unused => RunEnd::Unused,
            EndForm::Code(code) => RunEnd::Code(code),
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct RunForm {
    name: LockName,
    once: OncePerForm,
    #[serde(deserialize_with = "bounded")]
    until_ms: u64,
    #[serde(deserialize_with = "bounded")]
    token: u64,
    by: NodeId,
    #[serde(deserialize_with = "bounded")]
    begun_ms: u64,
    end: Option<EndForm>,
}

impl From<(&LockName, &PeriodRun)> for RunForm {
    fn from((name, run): (&LockName, &PeriodRun)) -> RunForm {
        RunForm {
            name: name.clone(),
            once: run.once.into(),
            until_ms: run.until.0,
            token: run.token,
            by: run.by,
            begun_ms: run.begun.0,
            end: run.end.map(EndForm::from),
        }
    }
}

/// How runs ended, as they are written.
pub(super) fn ends(ended: &BTreeMap<LockName, RunEnd>) -> Vec<(LockName, EndForm)> {
    ended.iter().map(|(name, end)| (name.clone(), EndForm::from(*end))).collect()
}

/// How runs ended, as they are read.
pub(super) fn ended_of(forms: Vec<(LockName, EndForm)>) -> BTreeMap<LockName, RunEnd> {
    forms.into_iter().map(|(name, end)| (name, RunEnd::from(end))).collect()
}

/// The runs of a table.
pub(super) fn runs_of<E: Error>(forms: Vec<RunForm>) -> Result<BTreeMap<LockName, PeriodRun>, E> {
    let count = forms.len();
    let run = |form: RunForm| {
        let run = PeriodRun {
            once: form.once.into(),
            until: WallTime(form.until_ms),
            token: form.token,
            by: form.by,
            begun: WallTime(form.begun_ms),
            end: form.end.map(RunEnd::from),
        };
        (form.name, run)
    };
    let runs: BTreeMap<LockName, PeriodRun> = forms.into_iter().map(run).collect();
    if runs.len() == count { Ok(runs) } else { Err(E::custom("a run is there twice")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_that_are_none_are_read_by_nobody() {
        let read = |text: &str| serde_json::from_str::<OncePerForm>(text).map(OncePer::from);
        let day = read(r#"{"length_ms":86400000,"begin_ms":0,"retry":false}"#);
        assert_eq!(day.expect("it is one"), OncePer::DAILY);
        for wrong in ["0", "999", "18446744073709551615", "31622400001"] {
            let text = format!(r#"{{"length_ms":{wrong},"begin_ms":0,"retry":false}}"#);
            assert!(read(&text).is_err(), "{wrong}");
        }
    }
}

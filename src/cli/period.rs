//! The options of `electd exec` for a command that runs once in each period.

use std::time::Duration;

use clap::Args;

use super::args::duration;
use super::error::CliError;
use super::exit::Exit;
use super::job::JobArgs;
use crate::exec::period::PeriodWish;
use crate::limits::quote;
use crate::node::locks::OncePer;

/// Seconds of a day.
const DAY: i64 = 24 * 3600;

#[derive(Args, Debug)]
pub struct PeriodArgs {
    /// Run CMD once in each period of this length, such as 24h, on one of the hosts where this is started: from cron, or
    /// with --restart always without it. Exits with 75 if the period has had its run. 1s to 366d.
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "lock")]
    once_per: Option<Duration>,

    /// When a period begins: a time of the day, in UTC or with its distance from it, such as 03:00 or 03:00+01:00.
    /// [default: 00:00]
    #[arg(long, value_name = "HH:MM", value_parser = time_of_day, requires = "once_per", allow_hyphen_values = true)]
    at: Option<i64>,

    /// Run CMD again, here or on another host, until it has ended with 0 once in the period. Without it a run that is
    /// broken off is the run of its period.
    #[arg(long, requires = "once_per")]
    retry: bool,
}

impl PeriodArgs {
    /// What the node is asked for. A job that is tried again restarts here if it fails.
    ///
    /// # Errors
    /// If there are no such periods, or another flag asks for something else.
    pub fn wish(&self, job: &mut JobArgs) -> Result<Option<PeriodWish>, CliError> {
        let Some(length) = self.once_per else { return Ok(None) };
        if job.is_restarted_on_failure() && !self.retry {
            let what = "--once-per: say --retry rather than --restart on-failure";
            return Err(CliError::new(Exit::Usage, what));
        }
        // An absolute value of seconds below a day, of a length of at least a second.
        let seconds = i128::from(self.at.unwrap_or(0)) * 1000;
        let begin = seconds.rem_euclid(i128::try_from(length.as_millis()).unwrap_or(1).max(1));
        let begin = Duration::from_millis(u64::try_from(begin).unwrap_or(0));
        let once = OncePer::new(length, begin, self.retry)
            .map_err(|why| CliError::new(Exit::Usage, format!("--once-per: {why}")))?;
        let stays = job.is_restarted() || job.wait().is_some();
        if self.retry {
            job.restart_on_failure();
        }
        Ok(Some(PeriodWish::from((once, stays))))
    }

    /// Refuses the options where there are no periods.
    ///
    /// # Errors
    /// If one is given.
    pub fn refuse(&self, here: &str) -> Result<(), CliError> {
        match self.once_per {
            Some(_) => Err(CliError::new(Exit::Usage, format!("--once-per is not for use {here}"))),
            None => Ok(()),
        }
    }
}

/// The seconds from midnight UTC to this time of the day; it may be the day before or after.
fn time_of_day(text: &str) -> Result<i64, String> {
    let wrong =
        || format!("\"{}\" is no time of the day: say 03:00, 03:00Z or 03:00+01:00", quote(text));
    let (clock, zone) = text.split_at_checked(5).ok_or_else(wrong)?;
    let seconds = clock_time(clock).ok_or_else(wrong)?;
    let ahead = match zone.split_at_checked(1) {
        None => 0,
        Some(("+", zone)) => clock_time(zone).ok_or_else(wrong)?,
        Some(("-", zone)) => -clock_time(zone).ok_or_else(wrong)?,
        Some(_) if ["Z", "UTC"].contains(&zone) => 0,
        Some(_) => {
            return Err(format!(
                "{}; a zone with summer time has days of 23 and of 25 hours, so give its distance from UTC",
                wrong()
            ));
        }
    };
    Ok((seconds - ahead).rem_euclid(DAY))
}

/// The seconds of HH:MM.
fn clock_time(text: &str) -> Option<i64> {
    let (hours, minutes) = text.split_once(':')?;
    let number = |text: &str, most: i64| {
        let digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        let number: i64 = digits.then(|| text.parse().ok())??;
        (number <= most).then_some(number)
    };
    Some(number(hours, 23)? * 3600 + number(minutes, 59)? * 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_the_day_is_that_of_utc_unless_it_says_how_far_from_it() {
        for (text, hours) in [
            ("00:00", 0.0),
            ("03:30", 3.5),
            ("23:00Z", 23.0),
            ("23:00UTC", 23.0),
            ("03:00+01:00", 2.0),
            ("00:30+02:00", 22.5),
            ("22:00-05:30", 3.5),
        ] {
            let seconds = time_of_day(text).unwrap();
            assert_eq!(seconds as f64, hours * 3600.0, "{text}");
        }
        for text in ["", "3:00", "25:00", "24:00", "12:60", "03:00+1", "+3:00", "0300", "ü3:00"] {
            let wrong = time_of_day(text).unwrap_err();
            assert!(wrong.contains("is no time of the day"), "{wrong}");
        }
        let zone = time_of_day("03:00 Europe/Berlin").unwrap_err();
        assert!(zone.ends_with("so give its distance from UTC"), "{zone}");
    }
}

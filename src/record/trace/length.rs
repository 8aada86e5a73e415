//! Lengths of time as people read them.

use std::time::Duration;

use jiff::SignedDuration;

use crate::core::types::Time;

/// A length of time in the largest unit that says enough: "0.4 ms", "355 ms", "6.5 s", "1m 5s".
#[must_use]
pub fn length(time: Duration) -> String {
    let (millis, micros) = (time.as_millis(), time.subsec_micros() % 1000);
    let tenths = (time + Duration::from_millis(50)).as_millis() / 100;
    match millis {
        0..10 if micros >= 50 => format!("{:.1} ms", time.as_secs_f64() * 1000.0),
        0..1000 => format!("{millis} ms"),
        _ if tenths >= 600 => {
            let seconds = i64::try_from(time.as_secs().max(60)).unwrap_or(i64::MAX);
            format!("{:#}", SignedDuration::from_secs(seconds))
        }
        _ if tenths.is_multiple_of(10) => format!("{} s", tenths / 10),
        _ => format!("{}.{} s", tenths / 10, tenths % 10),
    }
}

/// A time of a drawing.
pub(super) fn clock(time: Time) -> String {
    let tenths = time.0 / 100_000;
    match (tenths / 10, tenths % 10) {
        (whole, 0) => format!("{whole} ms"),
        (whole, tenth) => format!("{whole}.{tenth} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_read_few_digits() {
        for (micros, expected) in [
            (0, "0 ms"),
            (49, "0 ms"),
            (50, "0.1 ms"),
            (420, "0.4 ms"),
            (9_949, "9.9 ms"),
            (10_050, "10 ms"),
            (2000, "2 ms"),
            (29_600, "29 ms"),
            (355_000, "355 ms"),
            (999_999, "999 ms"),
            (1_000_000, "1 s"),
            (1_049_999, "1 s"),
            (1_050_000, "1.1 s"),
            (6_449_999, "6.4 s"),
            (6_459_000, "6.5 s"),
            (12_040_000, "12 s"),
            (59_940_000, "59.9 s"),
            (59_949_999, "59.9 s"),
            (59_950_000, "1m"),
            (60_000_000, "1m"),
            (61_900_000, "1m 1s"),
            (3_661_000_000, "1h 1m 1s"),
        ] {
            assert_eq!(length(Duration::from_micros(micros)), expected);
        }
        for (nanos, expected) in [
            (0, "0 ms"),
            (99_999, "0 ms"),
            (100_000, "0.1 ms"),
            (12_000_000, "12 ms"),
            (12_349_999, "12.3 ms"),
        ] {
            assert_eq!(clock(Time(nanos)), expected);
        }
    }
}

//! How fast this host's processor is: the cores that this process may use, times their clock.

use std::fs;
use std::path::Path;
use std::thread;

use super::{Sample, SampleResult, measured};

/// The clock that the processor can reach, in kHz. Its present speed goes up and down.
const TOP: &str = "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq";
/// Where virtual machines tell their clock.
const INFO: &str = "proc/cpuinfo";

/// Reads the files of the system below `root`.
pub fn sample(root: &Path) -> SampleResult {
    let cores = thread::available_parallelism()
        .map_err(|error| format!("the number of cores cannot be read: {error}"))?;
    Ok(speed(cores.get(), root))
}

fn speed(cores: usize, root: &Path) -> Sample {
    let cores = i64::try_from(cores).unwrap_or(i64::MAX);
    let noun = if cores == 1 { "core" } else { "cores" };
    match top(&root.join(TOP)).or_else(|| present(&root.join(INFO))) {
        Some((mhz, file)) => Sample {
            value: measured(cores.saturating_mul(mhz)),
            from: format!("{cores} {noun} at {mhz} MHz (/{file})"),
        },
        None => Sample {
            value: cores,
            from: format!("{cores} {noun}; no clock is told in /{TOP} or /{INFO}"),
        },
    }
}

fn top(file: &Path) -> Option<(i64, &'static str)> {
    let khz: i64 = fs::read_to_string(file).ok()?.trim().parse().ok()?;
    Some((khz / 1000, TOP)).filter(|(mhz, _)| *mhz > 0)
}

/// The greatest clock that any core tells.
fn present(file: &Path) -> Option<(i64, &'static str)> {
    let text = fs::read_to_string(file).ok()?;
    let clocks = text.lines().filter_map(|line| {
        let (key, value) = line.split_once(':')?;
        let whole = value.trim().split('.').next()?;
        whole.parse::<i64>().ok().filter(|mhz| key.trim() == "cpu MHz" && *mhz > 0)
    });
    Some((clocks.max()?, INFO))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The description of four cores in a system with these files.
    fn four(files: &[(&str, &str)]) -> Sample {
        cores(4, files)
    }

    fn cores(count: usize, files: &[(&str, &str)]) -> Sample {
        let root = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        speed(count, root.path())
    }

    const CPUINFO: &str = "processor\t: 0\nmodel name\t: X @ 3.00GHz\ncpu MHz\t\t: 2100.5\n\n\
                           processor\t: 1\ncpu MHz\t\t: 2999.998\nbogomips\t: 5999.99\n";

    #[test]
    fn the_best_file_that_is_there_is_read() {
        let sample = four(&[(TOP, "3600000\n"), (INFO, CPUINFO)]);
        assert_eq!(
            (sample.value, sample.from),
            (4 * 3600, format!("4 cores at 3600 MHz (/{TOP})"))
        );
        assert_eq!(four(&[(TOP, "1000"), (INFO, CPUINFO)]).value, 4);
        assert_eq!(four(&[(INFO, "cpu MHz : 1.9")]).value, 4);
        let sample = four(&[(TOP, "<unknown>\n"), (INFO, CPUINFO)]);
        assert_eq!(TOP, "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
        assert_eq!(
            (sample.value, sample.from),
            (4 * 2999, "4 cores at 2999 MHz (/proc/cpuinfo)".into())
        );
    }

    #[test]
    fn without_a_clock_the_cores_alone_count_and_that_is_told() {
        for files in [
            &[][..],
            &[(INFO, "processor\t: 0\nBogoMIPS\t: 48.00\n")],
            &[(TOP, "999")],
            &[(INFO, "cpu MHz : 0.9\ncpu MHz : x\n")],
        ] {
            let sample = four(files);
            assert_eq!(sample.value, 4);
            assert_eq!(sample.from, format!("4 cores; no clock is told in /{TOP} or /{INFO}"));
        }
        assert!(cores(1, &[]).from.starts_with("1 core; "));
        let one = cores(1, &[(TOP, "3600000\n")]);
        assert_eq!((one.value, one.from), (3600, format!("1 core at 3600 MHz (/{TOP})")));
    }

    #[test]
    fn this_host_has_a_speed() {
        assert!(super::sample(Path::new("/")).unwrap().value > 0);
    }
}

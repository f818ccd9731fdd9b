//! The observed load of a device as a job file for fio.

use std::fmt::Write;

use crate::analysis::{BusyMean, DeviceReport, DirectionReport, Pattern, number};
use crate::sanitize::sanitize;

/// How long the job runs by default, in seconds.
const RUNTIME_S: u32 = 60;
/// What fio is asked to do at the most at once.
const MOST_DEPTH: f64 = 4096.0;
/// A rate below this is not well told by a whole number of requests.
const LOW_RATE: f64 = 20.0;
/// Less than one request in so many seconds is no load to repeat.
const LEAST_RATE: f64 = 0.1;
/// Sizes this near to a multiple of a page are taken for it: many disks do nothing smaller.
const NEAR_PAGE: f64 = 0.1;
const PAGE: f64 = 4096.0;
const SECTOR: f64 = 512.0;
/// Larger requests than this the kernel splits anyway.
const MOST_BYTES: f64 = 16.0 * 1024.0 * 1024.0;

/// Appends a job file for fio that repeats what the device did while it worked: a job for reads and one for writes.
/// fio refuses it until the environment variable FILE names a file. Of a device that did nothing it says so, and
/// has no job, which fio refuses too.
pub fn fio_job(report: &DeviceReport, out: &mut Vec<u8>) {
    let device = sanitize(&report.device);
    let jobs: Vec<String> =
        [job(&report.read, ["read", "randread"]), job(&report.write, ["write", "randwrite"])]
            .into_iter()
            .flatten()
            .collect();
    let text = if jobs.is_empty() {
        format!("# {device} had no load that could be repeated.\n")
    } else {
        format!("{}{}", global(&device), jobs.concat())
    };
    out.extend_from_slice(text.as_bytes());
}

/// What both jobs have in common.
fn global(device: &str) -> String {
    format!(
        "# The load that {device} had while it worked. Name a file on the disk to be tested, which will be\n\
         # overwritten, and run: FILE=/path/to/a/file fio THIS\n\
         [global]\n\
         filename=${{FILE}}\n\
         size=1g\n\
         ioengine=libaio\n\
         direct=1\n\
         time_based\n\
         runtime={RUNTIME_S}\n"
    )
}

/// The job of a direction; `None` where it had no load.
fn job(of: &DirectionReport, [sequential, random]: [&str; 2]) -> Option<String> {
    let seen = of.while_working.filter(|seen| seen.iops >= LEAST_RATE && seen.iops.is_finite())?;
    let (pattern, note) = match of.pattern {
        Pattern::Sequential => (sequential, ""),
        Pattern::Random => (random, ""),
        Pattern::Unknown => (random, "; whether it was random or sequential is not known"),
    };
    let bytes = block_bytes(seen.size_kib);
    let queue = seen.queue.map_or(String::new(), |queue| format!(", a mean queue of {}", number(queue)));
    let mut text = format!(
        "\n# seen for {} s: {}/s of {} KiB{queue}{note}\n[{sequential}s]\nrw={pattern}\nbs={bytes}\niodepth={}\n",
        number(seen.seconds),
        number(seen.iops),
        number(seen.size_kib),
        depth(&seen),
    );
    // fio takes whole numbers: a low rate is told better in bytes a second.
    let _ = if seen.iops < LOW_RATE {
        writeln!(text, "rate={:.0}", seen.iops * bytes)
    } else {
        writeln!(text, "rate_iops={:.0}", seen.iops)
    };
    Some(text)
}

/// The block size in bytes: a multiple of a sector, or of a page where it is about that.
fn block_bytes(size_kib: f64) -> f64 {
    let bytes = (size_kib * 1024.0).clamp(SECTOR, MOST_BYTES);
    let near = |unit: f64| (bytes / unit).round().max(1.0) * unit;
    if (near(PAGE) / bytes - 1.0).abs() <= NEAR_PAGE { near(PAGE) } else { near(SECTOR) }
}

/// The mean queue and a quarter more: requests do not come evenly, and with just the mean any that is late would
/// cost rate.
fn depth(seen: &BusyMean) -> f64 {
    const ROOM: f64 = 1.25;
    (seen.queue.unwrap_or(1.0) * ROOM).ceil().clamp(1.0, MOST_DEPTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn direction(iops: f64, size_kib: f64, queue: f64, pattern: Pattern) -> DirectionReport {
        let while_working = Some(BusyMean { seconds: 20.0, iops, size_kib, queue: Some(queue) });
        DirectionReport { while_working, pattern, ..DirectionReport::default() }
    }

    fn job_of(read: DirectionReport, write: DirectionReport) -> String {
        let report = DeviceReport { device: "sda\n[x]".into(), read, write, ..DeviceReport::default() };
        let mut out = Vec::new();
        fio_job(&report, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_direction_has_its_own_job() {
        let text = job_of(
            direction(800.2, 8.0, 0.09, Pattern::Random),
            direction(300.0, 512.3, 3.2, Pattern::Sequential),
        );
        assert!(text.contains("[global]\nfilename=${FILE}\n") && !text.contains("\n[x]"), "{text}");
        assert!(text.contains("[reads]\nrw=randread\nbs=8192\niodepth=1\nrate_iops=800\n"), "{text}");
        assert!(text.contains("[writes]\nrw=write\nbs=524288\niodepth=4\nrate_iops=300\n"), "{text}");
    }

    #[test]
    fn a_rate_of_a_few_a_second_is_told_in_bytes() {
        let text = job_of(direction(1.4, 4.0, 0.0, Pattern::Random), DirectionReport::default());
        assert!(text.contains("rate=5734\n") && !text.contains("[writes]"), "{text}");
    }

    #[test]
    fn block_sizes_are_whole_sectors() {
        assert_eq!([0.1, 0.6, 5.3, 7.9, 129.0].map(block_bytes), [512.0, 512.0, 5632.0, 8192.0, 131_072.0]);
    }

    #[test]
    fn no_load_is_said_to_be_none() {
        let text = job_of(DirectionReport::default(), direction(0.01, 4.0, 0.0, Pattern::Random));
        assert_eq!(text, "# sda\\n[x] had no load that could be repeated.\n");
    }
}

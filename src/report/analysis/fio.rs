//! The observed load of a device as a job file for fio.

use std::fmt::Write;

use crate::judge::{BusyMean, DeviceReport, DirectionReport, Pattern};
use crate::report::layout::sentence_numbers::{duration, number, queue};
use crate::sanitize::sanitize;

/// Default run time of the job in seconds.
const RUNTIME_S: u32 = 60;
/// The highest queue depth of a job.
const MAX_IODEPTH: f64 = 4096.0;
/// The factor by which the mean queue is multiplied: requests do not come evenly, and with just the mean, each late one
/// would lower the rate.
const IODEPTH_RATIO: f64 = 1.25;
/// Requests per second below which a whole number of requests is too coarse.
const MIN_RATE_IOPS: f64 = 20.0;
/// Requests per second below which a load is not worth repeating.
const MIN_LOAD_IOPS: f64 = 0.1;
/// Relative distance from a multiple of a page within which a size is rounded to that multiple: many disks do nothing
/// smaller.
const PAGE_TOLERANCE: f64 = 0.1;
const PAGE_BYTES: f64 = 4096.0;
const SECTOR_BYTES: f64 = 512.0;
/// The largest block in bytes: the kernel splits larger requests.
const MAX_BLOCK_BYTES: f64 = 16.0 * 1024.0 * 1024.0;

/// Appends a job file for fio that repeats the load of the device while it was busy: a job for reads and one for
/// writes. fio refuses it until the environment variable FILE names a file. A device without load gets a comment but no
/// job, which fio also refuses.
pub fn fio_job(report: &DeviceReport, out: &mut Vec<u8>) {
    let device = sanitize(&report.device);
    let jobs: Vec<String> = [
        job(&report.read, ["read", "randread"]),
        job(&report.write, ["write", "randwrite"]),
    ]
    .into_iter()
    .flatten()
    .collect();
    let text = if jobs.is_empty() {
        format!("# {device} had no load to repeat.\n")
    } else {
        format!(
            "# The load of {device} while it was busy. Choose a file on the disk to test; it will be overwritten:\n\
             # FILE=/path/to/file fio THIS\n\
             [global]\n\
             filename=${{FILE}}\n\
             size=1g\n\
             ioengine=libaio\n\
             direct=1\n\
             time_based\n\
             runtime={RUNTIME_S}\n{}",
            jobs.concat()
        )
    };
    out.extend_from_slice(text.as_bytes());
}

/// The job of a direction; `None` without load.
fn job(of: &DirectionReport, [sequential, random]: [&str; 2]) -> Option<String> {
    let busy = of
        .busy
        .filter(|busy| busy.iops >= MIN_LOAD_IOPS && busy.iops.is_finite())?;
    let (pattern, note) = match of.pattern {
        Pattern::Sequential => (sequential, ""),
        Pattern::Random => (random, ""),
        Pattern::Unknown => (random, "; access pattern unknown"),
    };
    let bytes = block_bytes(busy.size_kib);
    let queue = busy.queue.map_or(String::new(), |mean| {
        format!(", mean queue {}", queue(mean))
    });
    let mut text = format!(
        "\n# seen for {}: {}/s of {} KiB{queue}{note}\n[{sequential}s]\nrw={pattern}\nbs={bytes}\niodepth={}\n",
        duration(busy.seconds),
        number(busy.iops),
        number(busy.size_kib),
        iodepth(&busy),
    );
    // fio accepts only whole numbers: bytes are more exact for a low rate.
    let _ = if busy.iops < MIN_RATE_IOPS {
        writeln!(text, "rate={:.0}", busy.iops * bytes)
    } else {
        writeln!(text, "rate_iops={:.0}", busy.iops)
    };
    Some(text)
}

/// The block size in bytes: a multiple of a sector, or of a page if it is near one.
fn block_bytes(size_kib: f64) -> f64 {
    let bytes = (size_kib * 1024.0).clamp(SECTOR_BYTES, MAX_BLOCK_BYTES);
    let pages = multiple_near(bytes, PAGE_BYTES);
    if (pages / bytes - 1.0).abs() <= PAGE_TOLERANCE {
        return pages;
    }
    multiple_near(bytes, SECTOR_BYTES)
}

fn multiple_near(bytes: f64, unit: f64) -> f64 {
    (bytes / unit).round().max(1.0) * unit
}

fn iodepth(busy: &BusyMean) -> f64 {
    (busy.queue.unwrap_or(1.0) * IODEPTH_RATIO)
        .ceil()
        .clamp(1.0, MAX_IODEPTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn direction(iops: f64, size_kib: f64, queue: f64, pattern: Pattern) -> DirectionReport {
        let busy = Some(BusyMean {
            seconds: 20.0,
            iops,
            size_kib,
            queue: Some(queue),
        });
        DirectionReport {
            busy,
            pattern,
            ..DirectionReport::default()
        }
    }

    fn job_of(read: DirectionReport, write: DirectionReport) -> String {
        let report = DeviceReport {
            device: "sda\n[x]".into(),
            read,
            write,
            ..DeviceReport::default()
        };
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
        assert!(
            text.contains("[global]\nfilename=${FILE}\n") && !text.contains("\n[x]"),
            "{text}"
        );
        assert!(
            text.contains("[reads]\nrw=randread\nbs=8192\niodepth=1\nrate_iops=800\n"),
            "{text}"
        );
        assert!(
            text.contains("[writes]\nrw=write\nbs=524288\niodepth=4\nrate_iops=300\n"),
            "{text}"
        );
    }

    #[test]
    fn a_low_rate_is_given_in_bytes() {
        let text = job_of(
            direction(1.4, 4.0, 0.0, Pattern::Random),
            DirectionReport::default(),
        );
        assert!(
            text.contains("rate=5734\n") && !text.contains("[writes]"),
            "{text}"
        );
    }

    #[test]
    fn block_sizes_are_whole_sectors() {
        assert_eq!(
            [0.1, 0.6, 5.3, 7.9, 129.0].map(block_bytes),
            [512.0, 512.0, 5632.0, 8192.0, 131_072.0]
        );
    }

    #[test]
    fn a_device_without_load_has_a_comment_and_no_job() {
        let text = job_of(
            DirectionReport::default(),
            direction(0.01, 4.0, 0.0, Pattern::Random),
        );
        assert_eq!(text, "# sda\\n[x] had no load to repeat.\n");
    }
}

//! Every report on a capture of many devices, and those that keep a history on one of a long time: from the file to the
//! output, per line of input. The captures have 20 columns.

use std::ffi::OsString;
use std::io::{self, Write};

use blkstat::clock::{ManualClock, WaitOutcome};
use blkstat::commands::{plan, run};
use blkstat::console::RunContext;
use blkstat::exit::Exit;
use criterion::{Criterion, Throughput};
use jiff::Timestamp;

use crate::synthetic::capture;

const REPORTS: [(&str, &str); 12] = [
    ("iostat -d", "iostat -d --from"),
    ("iostat -dx", "iostat -dx --from"),
    ("iostat -dx -o JSON", "iostat -dx -o JSON --from"),
    ("pt-diskstats --group-by disk", "pt-diskstats --group-by disk"),
    ("pt-diskstats --group-by sample", "pt-diskstats --group-by sample"),
    ("pt-diskstats --group-by all", "pt-diskstats --group-by all"),
    ("blkstat", "--from"),
    ("blkstat --json", "--json --from"),
    ("blkstat --csv", "--csv --from"),
    ("blkstat --top 5", "--top 5 --from"),
    ("blkstat analyze", "analyze --from"),
    ("blkstat analyze --json", "analyze --json --from"),
];

const HISTORIES: [(&str, &str); 3] = [
    ("blkstat --json", "--json --from"),
    ("blkstat analyze --json", "analyze --json --from"),
    ("blkstat report", "report -o - --from"),
];

pub(crate) fn bench(criterion: &mut Criterion) {
    bench_reports(criterion, "50 devices for 100 s, per line", 50, 100, &REPORTS);
    bench_reports(criterion, "one device for 5,000 s, per line", 1, 5_000, &HISTORIES);
}

fn bench_reports(
    criterion: &mut Criterion,
    group: &str,
    devices: usize,
    samples: u64,
    reports: &[(&str, &str)],
) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&capture(devices, samples, 20, 1)).unwrap();
    let mut group = criterion.benchmark_group(group);
    group.throughput(Throughput::Elements(devices as u64 * samples));
    for (name, words) in reports {
        let words = ["blkstat"].into_iter().chain(words.split(' ')).map(OsString::from);
        let words = words.chain([file.path().into()]);
        let utc = |name: &str| (name == "TZ").then(|| "UTC".into());
        let plan = plan(words, &utc).unwrap();
        let clock = ManualClock::new(Timestamp::UNIX_EPOCH, |_| WaitOutcome::Due);
        group.bench_function(*name, |bencher| {
            bencher.iter(|| {
                let (mut out, mut err) = (io::sink(), io::stderr());
                let mut context = RunContext {
                    clock: &clock,
                    environment: &utc,
                    out: &mut out,
                    err: &mut err,
                    is_terminal: false,
                    err_is_terminal: false,
                    may_lock_memory: false,
                };
                assert_eq!(run(&plan, &mut context), Exit::Success);
            });
        });
    }
    group.finish();
}

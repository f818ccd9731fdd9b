//! Every report on a capture with 100 samples, 20 columns and 50 busy devices: from the file to the output, per line of
//! input.

use std::ffi::OsString;
use std::io::{self, Write};

use blkstat::clock::{ManualClock, WaitOutcome};
use blkstat::exit::Exit;
use blkstat::run::{RunContext, run};
use criterion::{Criterion, Throughput};
use jiff::Timestamp;

use crate::synthetic::capture;

const DEVICES: usize = 50;
const SAMPLES: u64 = 100;

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

pub(crate) fn bench(criterion: &mut Criterion) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&capture(DEVICES, SAMPLES, 20, 1)).unwrap();
    let mut group = criterion.benchmark_group("reports per line");
    group.throughput(Throughput::Elements(DEVICES as u64 * SAMPLES));
    for (name, words) in REPORTS {
        let words = ["blkstat"].into_iter().chain(words.split(' ')).map(OsString::from);
        let words = words.chain([file.path().into()]);
        let utc = |name: &str| (name == "TZ").then(|| "UTC".into());
        let plan = blkstat::cli::plan(words, &utc).unwrap();
        let clock = ManualClock::new(Timestamp::UNIX_EPOCH, |_| WaitOutcome::Due);
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let (mut out, mut err) = (io::sink(), io::stderr());
                let mut context = RunContext {
                    clock: &clock,
                    out: &mut out,
                    err: &mut err,
                    is_terminal: false,
                    may_lock_memory: false,
                };
                assert_eq!(run(&plan, &mut context), Exit::Success);
            });
        });
    }
    group.finish();
}

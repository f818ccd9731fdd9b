//! The quantities of a device.

use super::Requests::{All, Data, Discards, Flushes, Reads, ReadsAndWrites, Writes};
use super::Unit::{
    Count, Kib, KibPerSecond, Mean, Milliseconds, PerSecond, RequestPercent, TimePercent, Times,
};
use super::{Quantity, Requests, Unit};
use crate::judge::Judged;
use crate::metrics::DataFlag;

/// What is said of requests: its unit, and its value, which is `None` if it is not known.
type Measure = (Unit, fn(Requests, &Judged) -> Option<f64>);

const RATE: Measure = (PerSecond, |requests, judged| {
    requests.completed(judged).per_s()
});
const THROUGHPUT: Measure = (KibPerSecond, |requests, judged| {
    requests.completed(judged).kib_per_s()
});
const MERGES: Measure = (PerSecond, |requests, judged| {
    requests.completed(judged).merges_per_s()
});
const MERGED: Measure = (RequestPercent, |requests, judged| {
    requests.completed(judged).merge_pct()
});
const LATENCY: Measure = (Milliseconds, |requests, judged| {
    requests.completed(judged).await_ms()
});
const MEAN_SIZE: Measure = (Kib, |requests, judged| {
    requests.completed(judged).size_kib()
});
const MEAN_QUEUE: Measure = (Mean, |requests, judged| requests.completed(judged).queue());
const SLOWDOWN: Measure = (Times, Requests::saturation);

// Of all requests of the device.
const LONGEST: Measure = (Milliseconds, |_, judged| {
    max([Reads, Writes, Discards].map(|kind| kind.completed(judged).await_ms()))
});
const HIGHEST: Measure = (Times, |_, judged| {
    max([Reads, Writes, Flushes].map(|kind| kind.saturation(judged)))
});
const ALL_QUEUED: Measure = (Mean, |_, judged| judged.interval.queue());
const AT_END: Measure = (Count, |_, judged| Some(judged.interval.in_flight? as f64));
const UTIL: Measure = (TimePercent, |_, judged| judged.interval.util_pct());
const PLAUSIBLE: Measure = (TimePercent, |_, judged| {
    judged.interval.util_pct().filter(|_| !is_doubtful(judged))
});
const DOUBTFUL: Measure = (TimePercent, |_, judged| {
    judged.interval.util_pct().filter(|_| is_doubtful(judged))
});
const UPPER_BOUND: Measure = (TimePercent, |_, judged| {
    judged.interval.util_upper_bound_pct()
});

fn max(parts: [Option<f64>; 3]) -> Option<f64> {
    parts.into_iter().flatten().reduce(f64::max)
}

fn is_doubtful(judged: &Judged) -> bool {
    DataFlag::of_util(&judged.interval).is_some()
}

/// Makes a [`Quantity`] of each row: its constant, name, title, requests, measure and meaning.
macro_rules! quantities {
    ($($constant:ident $name:literal $title:literal $requests:ident $measure:ident $meaning:literal)*) => {
        $(pub const $constant: Quantity = Quantity {
            name: $name,
            title: $title,
            meaning: $meaning,
            unit: $measure.0,
            requests: $requests,
            formula: $measure.1,
        };)*
        /// All of them.
        static ALL: &[&Quantity] = &[$(&$constant),*];
    };
}

quantities! {
    READS_PER_S          "reads_per_s"          "r/s"      Reads          RATE        "reads completed per second"
    READ_KIB_PER_S       "read_kib_per_s"       "rMiB/s"   Reads          THROUGHPUT  "data read per second"
    READ_MERGES_PER_S    "read_merges_per_s"    "rrqm/s"   Reads          MERGES      "reads merged into others per second"
    READ_MERGE_PCT       "read_merge_pct"       "rmrg"     Reads          MERGED      "share of the reads that were merged into others before they were issued"
    READ_AWAIT_MS        "read_await_ms"        "r_await"  Reads          LATENCY     "mean latency of the reads completed"
    READ_SIZE_KIB        "read_size_kib"        "r_sz"     Reads          MEAN_SIZE   "mean size of a read"
    READ_QUEUE           "read_queue"           "r_qu"     Reads          MEAN_QUEUE  "mean number of reads in the queue or being served"
    READ_SATURATION      "read_saturation"      "r_sat"    Reads          SLOWDOWN    "read saturation: latency as a multiple of the highest latency that the unloaded device may have for requests of that size; in an interval of several samples, only if it is known for 90% of the reads"

    WRITES_PER_S         "writes_per_s"         "w/s"      Writes         RATE        "writes completed per second"
    WRITE_KIB_PER_S      "write_kib_per_s"      "wMiB/s"   Writes         THROUGHPUT  "data written per second"
    WRITE_MERGES_PER_S   "write_merges_per_s"   "wrqm/s"   Writes         MERGES      "writes merged into others per second"
    WRITE_MERGE_PCT      "write_merge_pct"      "wmrg"     Writes         MERGED      "share of the writes that were merged into others before they were issued"
    WRITE_AWAIT_MS       "write_await_ms"       "w_await"  Writes         LATENCY     "mean latency of the writes completed"
    WRITE_SIZE_KIB       "write_size_kib"       "w_sz"     Writes         MEAN_SIZE   "mean size of a write"
    WRITE_QUEUE          "write_queue"          "w_qu"     Writes         MEAN_QUEUE  "mean number of writes in the queue or being served"
    WRITE_SATURATION     "write_saturation"     "w_sat"    Writes         SLOWDOWN    "write saturation, defined like read saturation"

    DISCARDS_PER_S       "discards_per_s"       "d/s"      Discards       RATE        "discards completed per second"
    DISCARD_KIB_PER_S    "discard_kib_per_s"    "dMiB/s"   Discards       THROUGHPUT  "data discarded per second"
    DISCARD_MERGES_PER_S "discard_merges_per_s" "drqm/s"   Discards       MERGES      "discards merged into others per second"
    DISCARD_MERGE_PCT    "discard_merge_pct"    "dmrg"     Discards       MERGED      "share of the discards that were merged into others before they were issued"
    DISCARD_AWAIT_MS     "discard_await_ms"     "d_await"  Discards       LATENCY     "mean latency of the discards completed"
    DISCARD_SIZE_KIB     "discard_size_kib"     "d_sz"     Discards       MEAN_SIZE   "mean size of a discard"
    DISCARD_QUEUE        "discard_queue"        "d_qu"     Discards       MEAN_QUEUE  "mean number of discards in the queue or being served"

    FLUSHES_PER_S        "flushes_per_s"        "f/s"      Flushes        RATE        "flushes completed per second"
    FLUSH_AWAIT_MS       "flush_await_ms"       "f_await"  Flushes        LATENCY     "mean latency of the flushes completed"
    FLUSH_SATURATION     "flush_saturation"     "f_sat"    Flushes        SLOWDOWN    "latency of flushes as a multiple of the lowest seen"

    IOPS                 "iops"                 "r+w/s"    ReadsAndWrites RATE        "reads and writes completed per second"
    KIB_PER_S            "kib_per_s"            "MiB/s"    ReadsAndWrites THROUGHPUT  "data read and written per second"
    AWAIT_MS             "await_ms"             "rw_await" ReadsAndWrites LATENCY     "mean latency of the reads and writes completed"
    CONCURRENCY          "concurrency"          "rw_qu"    ReadsAndWrites MEAN_QUEUE  "mean number of reads and writes in the queue or being served"

    REQUESTS_PER_S       "requests_per_s"       "tps"      Data           RATE        "reads, writes and discards completed per second"
    LONGEST_AWAIT_MS     "longest_await_ms"     "await"    Data           LONGEST     "the longest of the mean latencies of reads, writes and discards"

    SATURATION           "saturation"           "sat"      All            HIGHEST     "the highest saturation of reads, writes and flushes"
    QUEUE                "queue"                "queue"    All            ALL_QUEUED  "mean number of requests of all kinds in the queue or being served"
    IN_FLIGHT            "in_flight"            "inflt"    All            AT_END      "requests in flight at the end of the interval; no value if the kernel miscounted them"
    UTIL_PCT             "util_pct"             "util"     All            UTIL        "share of the time with a request in flight, as the kernel counts it; 100% is not a limit by itself, as most devices serve several requests at once; no value for intervals below 100 ms"
    PLAUSIBLE_UTIL_PCT   "util_pct"             "util"     All            PLAUSIBLE   "util that is not above its upper bound"
    DOUBTFUL_UTIL_PCT    "doubtful_util_pct"    "util?"    All            DOUBTFUL    "util above its upper bound, which cannot be true"
    UTIL_UPPER_BOUND_PCT "util_upper_bound_pct" "≤util"    All            UPPER_BOUND "upper bound of the true util: request times in the interval plus requests still in flight, at most 100%; no value if the kernel miscounted the requests in flight"
}

/// The quantities that a history keeps, for charts.
pub static CHARTED: [Quantity; 25] = [
    READ_AWAIT_MS,
    WRITE_AWAIT_MS,
    FLUSH_AWAIT_MS,
    AWAIT_MS,
    READS_PER_S,
    WRITES_PER_S,
    IOPS,
    FLUSHES_PER_S,
    DISCARDS_PER_S,
    READ_KIB_PER_S,
    WRITE_KIB_PER_S,
    DISCARD_KIB_PER_S,
    QUEUE,
    CONCURRENCY,
    IN_FLIGHT,
    PLAUSIBLE_UTIL_PCT,
    DOUBTFUL_UTIL_PCT,
    UTIL_UPPER_BOUND_PCT,
    READ_SATURATION,
    WRITE_SATURATION,
    FLUSH_SATURATION,
    READ_SIZE_KIB,
    WRITE_SIZE_KIB,
    READ_MERGE_PCT,
    WRITE_MERGE_PCT,
];

/// Names of iostat that are not titles here, with ours in JSON.
const IOSTAT_NAMES: [(&str, &str); 24] = [
    ("rMB/s", "read_kib_per_s"),
    ("wMB/s", "write_kib_per_s"),
    ("dMB/s", "discard_kib_per_s"),
    ("MB/s", "kib_per_s"),
    ("rkB/s", "read_kib_per_s"),
    ("wkB/s", "write_kib_per_s"),
    ("dkB/s", "discard_kib_per_s"),
    ("kB/s", "kib_per_s"),
    ("kB_read/s", "read_kib_per_s"),
    ("kB_wrtn/s", "write_kib_per_s"),
    ("kB_dscd/s", "discard_kib_per_s"),
    ("MB_read/s", "read_kib_per_s"),
    ("MB_wrtn/s", "write_kib_per_s"),
    ("MB_dscd/s", "discard_kib_per_s"),
    ("%rrqm", "read_merge_pct"),
    ("%wrqm", "write_merge_pct"),
    ("%drqm", "discard_merge_pct"),
    ("rareq-sz", "read_size_kib"),
    ("wareq-sz", "write_size_kib"),
    ("dareq-sz", "discard_size_kib"),
    ("aqu-sz", "queue"),
    ("avgqu-sz", "queue"),
    ("%util", "util_pct"),
    ("util%", "util_pct"),
];

/// Returns the quantity that a word names in any case: by its title, its name in JSON, or iostat's name.
pub fn find(word: &str) -> Option<&'static Quantity> {
    let iostat = IOSTAT_NAMES
        .iter()
        .find(|(theirs, _)| theirs.eq_ignore_ascii_case(word));
    let ours = iostat.map_or(word, |(_, ours)| ours);
    let by_title = ALL.iter().find(|one| one.title.eq_ignore_ascii_case(word));
    let by_name = ALL.iter().find(|one| one.name.eq_ignore_ascii_case(ours));
    by_title.or(by_name).copied()
}

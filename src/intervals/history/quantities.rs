//! The quantities whose history is kept, by the names of their fields in JSON and CSV, if they have one.

use crate::intervals::device_interval::DeviceActivity;
use crate::judge::IoDirection;
use crate::metrics::{Completed, DataFlag, HostStats};

/// A name and the value in an interval; `None` if that is not known.
type Quantity<Of, Value> = (&'static str, fn(&Of) -> Option<Value>);

/// The quantities of a device, with their weights: the number of requests for a mean over requests, otherwise seconds.
pub const DEVICE_QUANTITIES: [Quantity<DeviceActivity, (f64, f64)>; 25] = [
    ("read_await_ms", |a| {
        per_io(&a.judged.interval.reads, a.judged.interval.reads.await_ms())
    }),
    ("write_await_ms", |a| {
        per_io(
            &a.judged.interval.writes,
            a.judged.interval.writes.await_ms(),
        )
    }),
    ("flush_await_ms", |a| {
        per_io(
            &a.judged.interval.flushes,
            a.judged.interval.flushes.await_ms(),
        )
    }),
    ("await_ms", |a| {
        let both = a.judged.interval.reads.beside(&a.judged.interval.writes);
        per_io(&both, both.await_ms())
    }),
    ("reads_per_s", |a| {
        over_time(a, a.judged.interval.reads.per_s())
    }),
    ("writes_per_s", |a| {
        over_time(a, a.judged.interval.writes.per_s())
    }),
    ("iops", |a| {
        over_time(
            a,
            sum(
                a.judged.interval.reads.per_s(),
                a.judged.interval.writes.per_s(),
            ),
        )
    }),
    ("flushes_per_s", |a| {
        over_time(a, a.judged.interval.flushes.per_s())
    }),
    ("discards_per_s", |a| {
        over_time(a, a.judged.interval.discards.per_s())
    }),
    ("read_kib_per_s", |a| {
        over_time(a, a.judged.interval.reads.kib_per_s())
    }),
    ("write_kib_per_s", |a| {
        over_time(a, a.judged.interval.writes.kib_per_s())
    }),
    ("discard_kib_per_s", |a| {
        over_time(a, a.judged.interval.discards.kib_per_s())
    }),
    ("queue", |a| over_time(a, a.judged.interval.queue())),
    ("concurrency", |a| {
        over_time(
            a,
            sum(
                a.judged.interval.reads.queue(),
                a.judged.interval.writes.queue(),
            ),
        )
    }),
    ("in_flight", |a| {
        over_time(a, a.judged.interval.in_flight.map(|count| count as f64))
    }),
    ("util_pct", |a| {
        over_time(a, a.judged.interval.util_pct().filter(|_| !is_doubtful(a)))
    }),
    (DOUBTFUL_UTIL, |a| {
        over_time(a, a.judged.interval.util_pct().filter(|_| is_doubtful(a)))
    }),
    ("util_upper_bound_pct", |a| {
        over_time(a, a.judged.interval.util_upper_bound_pct())
    }),
    ("read_saturation", |a| {
        per_io(
            &a.judged.interval.reads,
            a.judged.saturation(IoDirection::Reads),
        )
    }),
    ("write_saturation", |a| {
        per_io(
            &a.judged.interval.writes,
            a.judged.saturation(IoDirection::Writes),
        )
    }),
    ("flush_saturation", |a| {
        per_io(
            &a.judged.interval.flushes,
            a.judged.saturation(IoDirection::Flushes),
        )
    }),
    ("read_size_kib", |a| {
        per_io(&a.judged.interval.reads, a.judged.interval.reads.size_kib())
    }),
    ("write_size_kib", |a| {
        per_io(
            &a.judged.interval.writes,
            a.judged.interval.writes.size_kib(),
        )
    }),
    ("read_merge_pct", |a| merged_pct(&a.judged.interval.reads)),
    ("write_merge_pct", |a| merged_pct(&a.judged.interval.writes)),
];

/// The util in percent that cannot be right; that of an idle device is not doubted.
pub(super) const DOUBTFUL_UTIL: &str = "doubtful_util_pct";

/// The quantities of the host.
pub const HOST_QUANTITIES: [Quantity<HostStats, f64>; 10] = [
    ("cpu_user_pct", |host| {
        host.cpu.map(|cpu| cpu.user + cpu.nice)
    }),
    ("cpu_system_pct", |host| host.cpu.map(|cpu| cpu.system)),
    ("cpu_steal_pct", |host| host.cpu.map(|cpu| cpu.steal)),
    ("cpu_available_pct", |host| {
        host.cpu.map(|cpu| cpu.available())
    }),
    ("io_pressure_some_pct", |host| host.pressure_some_pct),
    ("io_pressure_full_pct", |host| host.pressure_full_pct),
    ("blocked", |host| host.blocked.map(|count| count as f64)),
    ("memory_pressure_some_pct", |host| {
        host.memory_pressure_some_pct
    }),
    ("dirty_kib", |host| host.dirty_kib.map(|kib| kib as f64)),
    ("writeback_kib", |host| {
        host.writeback_kib.map(|kib| kib as f64)
    }),
];

/// A mean over requests is weighted by their number.
fn per_io(requests: &Completed, value: Option<f64>) -> Option<(f64, f64)> {
    Some((value?, requests.ios as f64))
}

/// A mean over time is weighted by seconds.
fn over_time(activity: &DeviceActivity, value: Option<f64>) -> Option<(f64, f64)> {
    Some((value?, activity.judged.interval.seconds()))
}

fn merged_pct(requests: &Completed) -> Option<(f64, f64)> {
    Some((
        requests.merge_pct()?,
        requests.ios as f64 + requests.merges? as f64,
    ))
}

fn sum(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    Some(a? + b.unwrap_or(0.0))
}

fn is_doubtful(activity: &DeviceActivity) -> bool {
    activity.flag == Some(DataFlag::UtilTooHigh)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Assessment;
    use crate::metrics::Interval;

    #[test]
    fn latencies_are_weighted_by_requests_and_rates_by_time() {
        let (reads, writes) = (
            Completed::example(2.0, 300, 4.0),
            Completed::example(2.0, 100, 68.0),
        );
        let stats = Interval {
            reads,
            writes,
            ..Interval::unknown(2.0).with_util(40.0)
        };
        let mut activity = DeviceActivity::example(stats, Assessment::default());
        let observed = |name: &str, activity: &DeviceActivity| {
            let (_, value) = DEVICE_QUANTITIES
                .iter()
                .find(|(one, _)| *one == name)
                .unwrap();
            value(activity)
        };
        assert_eq!(observed("read_await_ms", &activity), Some((4.0, 300.0)));
        assert_eq!(observed("await_ms", &activity), Some((20.0, 400.0)));
        assert_eq!(observed("iops", &activity), Some((200.0, 2.0)));
        assert_eq!(observed("concurrency", &activity), Some((4.0, 2.0)));
        assert_eq!(observed("flush_await_ms", &activity), None);
        assert_eq!(observed("util_pct", &activity), Some((40.0, 2.0)));
        activity.flag = Some(DataFlag::UtilTooHigh);
        assert_eq!(observed("util_pct", &activity), None);
        assert_eq!(observed("doubtful_util_pct", &activity), Some((40.0, 2.0)));
    }
}

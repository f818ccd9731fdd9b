//! What a recording says of itself on the terminal that errors go to.

use std::time::Duration;

use super::recorder::Recorder;
use crate::plan::Record;
use crate::run::RunContext;

/// Shorter recordings need no progress.
const SHORT: Duration = Duration::from_secs(5);

/// Whether it takes long, errors go to a terminal, and nothing else writes there.
pub(super) fn is_wanted(
    plan: &Record,
    every: Duration,
    recorder: &Recorder<'_>,
    world: &RunContext<'_>,
) -> bool {
    let count = plan.schedule.count.map(|count| u32::try_from(count).unwrap_or(u32::MAX));
    let is_long = count.is_none_or(|count| every.saturating_mul(count) > SHORT);
    is_long && plan.stderr_is_tty && !recorder.is_shown_on_terminal(world)
}

/// How far it is.
pub(super) fn how_far(recorder: &Recorder<'_>) -> String {
    format!("{} samples, {}", recorder.samples, size(recorder.bytes))
}

/// Says what was recorded.
pub(super) fn conclude(plan: &Record, recorder: &Recorder<'_>, world: &mut RunContext<'_>) {
    if !plan.stderr_is_tty || recorder.is_shown_on_terminal(world) {
        return;
    }
    let plural = |n: u64| if n == 1 { "" } else { "s" };
    let (samples, devices) = (recorder.samples, recorder.devices());
    let _ = writeln!(
        world.err,
        "recorded {samples} sample{} of {devices} device{} in {}, {}",
        plural(samples),
        plural(devices as u64),
        recorder.name,
        size(recorder.bytes)
    );
}

/// Bytes as people read them.
fn size(bytes: u64) -> String {
    let scaled = |unit: f64| bytes as f64 / unit;
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", scaled(1e3)),
        1_000_000..1_000_000_000 => format!("{:.1} MB", scaled(1e6)),
        _ => format!("{:.1} GB", scaled(1e9)),
    }
}

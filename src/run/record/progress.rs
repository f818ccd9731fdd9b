//! The progress and the summary of a recording, on the terminal that receives errors.

use std::time::Duration;

use super::recorder::Recorder;
use crate::plan::Record;
use crate::report::layout::number_format::bytes;
use crate::run::RunContext;

/// A recording must be longer than this to show its progress.
const MIN_DURATION: Duration = Duration::from_secs(5);

/// Returns whether to show progress: if the recording is long, errors go to a terminal, and the recording does not.
pub(super) fn shows_progress(
    plan: &Record,
    interval: Duration,
    recorder: &Recorder<'_>,
    context: &RunContext<'_>,
) -> bool {
    let count = plan.schedule.count.map(|count| u32::try_from(count).unwrap_or(u32::MAX));
    let is_long = count.is_none_or(|count| interval.saturating_mul(count) > MIN_DURATION);
    is_long && plan.stderr_is_tty && !recorder.writes_to_terminal(context)
}

/// Returns the status of a recording, such as `120 samples, 1.2 MB`.
pub(super) fn status(recorder: &Recorder<'_>) -> String {
    format!("{} samples, {}", recorder.samples, bytes(recorder.bytes))
}

/// Prints the summary of a recording.
pub(super) fn print_summary(plan: &Record, recorder: &Recorder<'_>, context: &mut RunContext<'_>) {
    if !plan.stderr_is_tty || recorder.writes_to_terminal(context) {
        return;
    }
    let plural = |n: u64| if n == 1 { "" } else { "s" };
    let (samples, devices) = (recorder.samples, recorder.device_count());
    let _ = writeln!(
        context.err,
        "recorded {samples} sample{} of {devices} device{} in {}, {}",
        plural(samples),
        plural(devices as u64),
        recorder.name,
        bytes(recorder.bytes)
    );
}

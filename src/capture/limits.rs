//! Limits that keep a hostile capture from filling the memory.

/// The longest line that is read; longer ones are skipped. The kernel's lines are at most a tenth as long.
pub(super) const MAX_LINE_BYTES: usize = 64 * 1024;

/// The maximum number of devices in a sample, far more than hosts have: a few bytes of compressed data must not fill
/// the memory.
pub(super) const MAX_DEVICES_PER_SAMPLE: usize = 100_000;

/// The longest name of a device with a recorded baseline; the kernel's names have at most 32 bytes.
pub(super) const MAX_BASELINE_NAME_BYTES: usize = 256;

/// The maximum number of baselines of a recording.
pub(super) const MAX_BASELINES: usize = 10_000;

/// The maximum number of bytes in the device lines of a sample, because names may be as long as a line.
pub(super) const MAX_SAMPLE_BYTES: usize = 32 * 1024 * 1024;

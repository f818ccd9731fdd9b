//! Hindsight: a source is read twice, first for what it teaches. What cannot be read twice, a pipe or the running system, is kept
//! in a temporary file without a name.

use std::cell::RefCell;
use std::io::{self, Write};

use anyhow::{Context, Result};
use jiff::tz::TimeZone;

use super::follow::Progress;
use super::record::samples::Recorder;
use crate::capture::RecordFilter;
use crate::console::{RunContext, Warnings};
use crate::counters::Sample;
use crate::intervals::{Detail, DeviceSelection, Intervals, Learned};
use crate::known_baselines::BaselineStore;
use crate::source::{Input, KeptFile, Live, is_rereadable};
use crate::time_range::TimeRange;

/// A source that has been read once.
pub(super) struct ReadOnce {
    /// The input that can be read again.
    pub(super) input: Input,
    pub(super) learned: Learned,
    /// The number of the signal that ended the first run; `None` if the source ended.
    pub(super) signal: Option<u8>,
    /// What was kept; `None` if the source can be read twice.
    _kept: Option<KeptFile>,
}

/// Reads a source for the first time. `doing` is the text for what the program does until Ctrl-C without a COUNT. Warnings are
/// reported only about the running system: those about a capture come again. Returns `None` if the first sample of the running
/// system lacks a requested device: then nothing more is read.
///
/// # Errors
/// When the source cannot be read, or not be kept.
pub(super) fn read_once(
    input: &Input,
    selection: &DeviceSelection,
    detail: Detail,
    baselines: &BaselineStore,
    doing: &str,
    context: &mut RunContext<'_>,
) -> Result<Option<ReadOnce>> {
    let mut input = input.clone();
    let mut kept = None;
    let mut copy_signal = None;
    if let Some(from) = input.from.as_deref()
        && input.more.is_empty()
        && !is_rereadable(from)
    {
        let (copy, received) = KeptFile::copy_capture(from, context.clock)?;
        context.clock.clear_signal();
        copy_signal = received;
        input.kept = Some(copy.place.clone());
        kept = Some(copy);
    }
    let failure: RefCell<Option<io::Error>> = RefCell::new(None);
    let whole = whole(&input);
    let mut intervals = Intervals::open(&whole, selection, detail, baselines, context.clock)?;
    let is_live = intervals.is_live();
    if is_live {
        let samples = KeptFile::create(intervals.source_name())?;
        let mut writer = samples
            .file
            .try_clone()
            .context("cannot keep the samples")?;
        let interval = intervals.requested_interval().unwrap_or_default();
        let filter = RecordFilter::default();
        let mut recorder = Recorder::new(&input.root, filter, baselines, interval, TimeZone::UTC);
        let failure = &failure;
        intervals.tap(Box::new(move |sample: &mut Sample, live: &Live<'_>| {
            let text = recorder.block(sample, live, &mut |_| {}).text();
            if let Err(error) = writer.write_all(&text) {
                failure.borrow_mut().get_or_insert(error);
            }
        }));
        kept = Some(samples);
    }
    let is_unlimited = is_live && !intervals.has_count();
    let mut lacks_device = false;
    let mut count = 0u64;
    let mut progress = Progress::new(context.err_is_terminal, context.clock.monotonic());
    let mut warnings = Warnings::about(&intervals.source_name());
    let shared = RefCell::new(&mut *context);
    let signal = intervals.learn(
        &mut |warning| {
            if is_live {
                warnings.warn_capture(warning, shared.borrow_mut().err);
            }
        },
        &mut |intervals| {
            lacks_device = is_live && intervals.not_found().is_some();
            if is_unlimited && !lacks_device {
                shared
                    .borrow_mut()
                    .print_error(format_args!("{doing} until Ctrl-C (no COUNT given)"));
            }
            !lacks_device
        },
        &mut || {
            count += 1;
            progress.show(|| format!("{count} intervals"), &mut shared.borrow_mut());
        },
    );
    progress.clear(context);
    warnings.finish(context.err);
    let signal = match signal {
        Ok(signal) => copy_signal.or(signal),
        Err(error) if is_live => return Err(error),
        // The second run fails where this one does, unless that is beyond what it reads.
        Err(_) => None,
    };
    if let Some(error) = failure.borrow_mut().take() {
        return Err(error).context("cannot keep the samples, to read them twice");
    }
    if lacks_device {
        return Ok(None);
    }
    // What was read before a signal is analyzed.
    context.clock.clear_signal();
    input.kept = kept.as_ref().map(|kept| kept.place.clone());
    let learned = intervals.into_learned();
    Ok(Some(ReadOnce {
        input,
        learned,
        signal,
        _kept: kept,
    }))
}

/// Opens the source of a view. A file is read before for what it teaches, and judged with hindsight; a pipe and the running system
/// are judged as they come. Warnings and errors are those of the second run, which come in the order of the intervals.
///
/// # Errors
/// When the source cannot be opened.
pub(super) fn open_view<'a, 'c: 'a>(
    input: &'a Input,
    selection: &'a DeviceSelection,
    baselines: &'a BaselineStore,
    context: &mut RunContext<'c>,
) -> Result<Intervals<'a>> {
    let intervals = Intervals::open(input, selection, Detail::Report, baselines, context.clock)?;
    let mut files = input.from.iter().chain(&input.more).peekable();
    let is_file = files.peek().is_some() && files.all(|file| is_rereadable(file));
    if input.as_live || !is_file {
        return Ok(intervals);
    }
    let whole = whole(input);
    let mut first_run =
        Intervals::open(&whole, selection, Detail::Report, baselines, context.clock)?;
    let mut progress = Progress::new(context.err_is_terminal, context.clock.monotonic());
    let mut count = 0u64;
    // The second run fails where this one does, unless that is beyond what it reads.
    let _ = first_run.learn(&mut |_| {}, &mut |_| true, &mut || {
        count += 1;
        progress.show(|| format!("{count} intervals"), context);
    });
    progress.clear(context);
    Ok(intervals.with_hindsight(first_run.into_learned()))
}

/// The whole of a capture, of which only a part may be shown: all of it teaches. The running system is read once.
fn whole(input: &Input) -> Input {
    let input = input.clone();
    if input.from.is_none() {
        return input;
    }
    Input {
        range: TimeRange::default(),
        count: None,
        interval: None,
        strict: false,
        ..input
    }
}

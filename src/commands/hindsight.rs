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
use crate::intervals::{BaselineStore, Detail, DeviceSelection, Intervals, Learned, NextInterval};
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
        && !is_of_files(&input)
    {
        let (copy, received) = KeptFile::copy_capture(from, context.clock)?;
        context.clock.clear_signal();
        copy_signal = received;
        input.kept = Some(copy.place.clone());
        kept = Some(copy);
    }
    let failure: RefCell<Option<io::Error>> = RefCell::new(None);
    let whole = whole(&input);
    let mut intervals =
        Intervals::open(&whole, selection, detail, baselines, context.clock)?.to_learn();
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
            let text = recorder.block(sample, live).text();
            if let Err(error) = writer.write_all(&text) {
                failure.borrow_mut().get_or_insert(error);
            }
        }));
        kept = Some(samples);
    }
    let signal = match learn(&mut intervals, doing, context) {
        Ok(signal) => copy_signal.or(signal),
        Err(error) if is_live => return Err(error),
        // The second run fails where this one does, unless that is beyond what it reads.
        Err(_) => None,
    };
    if let Some(error) = failure.borrow_mut().take() {
        return Err(error).context("cannot keep the samples, to read them twice");
    }
    if is_live && intervals.not_found().is_some() {
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

/// Opens the source of a view. A file is read twice: first to learn from it, then to judge it with hindsight and to print warnings
/// and errors in the order of the intervals. A pipe and the running system are read once.
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
    if input.as_live || !is_of_files(input) {
        return Ok(intervals);
    }
    let whole = whole(input);
    let mut first_run =
        Intervals::open(&whole, selection, Detail::Report, baselines, context.clock)?.to_learn();
    // The second run fails where this one does, unless that is beyond what it reads.
    let _ = learn(&mut first_run, "", context);
    Ok(intervals.with_hindsight(first_run.into_learned()))
}

/// Reads all intervals for what they teach, and shows the progress. Returns the number of the signal that ended the run; `None` if
/// the source ended, or if the first sample of the running system lacks a requested device.
///
/// # Errors
/// When the source cannot be read.
fn learn(
    intervals: &mut Intervals<'_>,
    doing: &str,
    context: &mut RunContext<'_>,
) -> Result<Option<u8>> {
    let is_live = intervals.is_live();
    let mut warnings = match is_live {
        true => Warnings::about(&intervals.source_name()),
        false => Warnings::silent(),
    };
    let mut progress = Progress::new(context.err_is_terminal, context.clock.monotonic());
    let mut count = 0u64;
    let has_sample = intervals.start(&mut |warning| warnings.warn_capture(warning, context.err))?;
    if !has_sample || is_live && intervals.not_found().is_some() {
        return Ok(None);
    }
    if is_live && !intervals.has_count() {
        context.print_error(format_args!("{doing} until Ctrl-C (no COUNT given)"));
    }
    let ended = loop {
        match intervals.next(&mut |warning| warnings.warn_capture(warning, context.err)) {
            Ok(NextInterval::Rows(_)) => {
                count += 1;
                progress.show(|| format!("{count} intervals"), context);
            }
            Ok(NextInterval::Break) => {}
            Ok(NextInterval::End) => break Ok(None),
            Ok(NextInterval::Signal(number)) => break Ok(Some(number)),
            Err(error) => break Err(error),
        }
    };
    progress.clear(context);
    warnings.finish(context.err);
    ended
}

/// Returns whether the source is files, which can be read twice.
fn is_of_files(input: &Input) -> bool {
    let mut files = input.from.iter().chain(&input.more);
    input.from.is_some() && files.all(|file| is_rereadable(file))
}

/// The whole of a capture, even if only a part is shown: the judge learns from all of it. The running system is read once.
fn whole(input: &Input) -> Input {
    let mut whole = input.clone();
    if input.from.is_some() {
        whole.range = TimeRange::default();
        whole.count = None;
        whole.interval = None;
        whole.strict = false;
    }
    whole
}

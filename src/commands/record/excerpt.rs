//! `record --from`: writes a capture, or an excerpt of one, as a recording. With `--anonymous` its names are replaced.

use std::io::Write;

use anyhow::{Context, Result, anyhow, bail};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::Record;
use crate::capture::{Anonymizer, CaptureWarning, RecordFilter, write_line};
use crate::console::{RunContext, Warnings, require_counters, require_text};
use crate::counters::Sample;
use crate::exit::{Exit, NoData};
use crate::report::layout::sentence_numbers::counted;
use crate::sanitize::sanitize;
use crate::sink::{OutputError, RecordingFile, is_same_file};
use crate::source::{KeptFile, Replay, is_rereadable, open_range};
use crate::time_range::{Place, RangeFilter, TimeRange};

/// The least number of bytes of a file that are written at a time.
const BLOCK_BYTES: usize = 256 * 1024;

impl Record {
    /// Writes the samples of the captures `--from` that lie in the range to the file, whose name in messages is `name`.
    ///
    /// # Errors
    /// If a capture cannot be read or lacks the range, or the file cannot be written. The samples before that point are
    /// in the file.
    pub(super) fn copy_captures(
        &self,
        range: &TimeRange,
        name: &str,
        context: &mut RunContext<'_>,
    ) -> Result<Exit> {
        if self.from.iter().any(|from| is_same_file(from, &self.file)) {
            bail!("{name} is the capture itself; write to another file");
        }
        let zone = context.time_zone();
        // Of a pipe, a recording would be gone once its first sample had shown that it is one.
        let mut kept = None;
        if let [from] = self.from.as_slice()
            && !is_rereadable(from)
            && (self.anonymous || !range.is_everything())
        {
            kept = Some(KeptFile::copy_capture(from, context.clock)?.0);
        }
        let mut replay = self.open_captures(kept.as_ref(), context)?;
        let from_name = sanitize(replay.name()).into_owned();
        let mut warnings = Warnings::about(&from_name);
        let first = read_first(&mut replay, &mut warnings, context)?;
        if replay.header().is_some() && !replay.is_file() {
            bail!("{from_name}: this is a recording already; save it as it is");
        }
        let mut places = Places {
            filter: open_range(range, &replay)?,
            capture: &from_name,
        };
        let mut output = Output {
            record: self,
            name,
            anonymizer: self.anonymous.then(Anonymizer::default),
            file: None,
            out: &mut *context.out,
        };
        if !self.force {
            // It is refused at once if it exists. One to be replaced stays until there is something to replace it with.
            output.open()?;
        }
        let copied = match replay.header() {
            Some(_) => {
                replay.copy_excerpt(&mut |at| places.place(at), &mut |text| output.write(text))
            }
            None => copy_samples(
                first,
                &mut replay,
                &mut places,
                &zone,
                &mut |found| warnings.warn_all(found, context.err),
                &mut |text| output.write(text),
            ),
        };
        let left_out = output.finish()?;
        let samples = copied?;
        places.finish()?;
        let mut notes = Vec::from_iter(places.filter.take_note());
        if left_out > 0 {
            let lines = counted(left_out, "line");
            notes.push(format!("{lines} left out, because they may hold names"));
        }
        for note in notes {
            warnings.warn_input(&note, context.err);
        }
        warnings.finish(context.err);
        if samples == 0 {
            return Err(NoData(format!("{from_name}: no interval lies in this range")).into());
        }
        Ok(Exit::Success)
    }

    fn open_captures<'c>(
        &self,
        kept: Option<&KeptFile>,
        context: &RunContext<'c>,
    ) -> Result<Replay<'c>> {
        match (kept, self.from.as_slice()) {
            (Some(kept), _) => Replay::open_kept(&kept.place, self.every, context.clock),
            (None, [first, more @ ..]) => Replay::open_all(first, more, self.every, context.clock),
            (None, []) => bail!("no capture"),
        }
    }
}

/// Reads the first sample. Nothing is written before the capture has proved to be one.
///
/// # Errors
/// If the capture cannot be read, or has no samples of counters.
fn read_first(
    replay: &mut Replay<'_>,
    warnings: &mut Warnings,
    context: &mut RunContext<'_>,
) -> Result<Sample> {
    let mut first = Sample::default();
    let found = replay.next(&Sample::default(), &mut first);
    require_counters(Some(replay))?;
    warnings.warn_all(&replay.take_warnings(), context.err);
    if !found? {
        require_text(replay)?;
        let name = sanitize(replay.name());
        return Err(NoData(format!("{name}: {}", replay.no_samples_reason())).into());
    }
    Ok(first)
}

/// Says of each sample where it lies.
struct Places<'a> {
    filter: RangeFilter,
    /// The name of the capture in messages.
    capture: &'a str,
}

impl Places<'_> {
    fn place(&mut self, at: Timestamp) -> Result<Place> {
        let place = self.filter.place(at);
        place.map_err(|error| anyhow!("{}: {error}", self.capture))
    }

    /// Takes the end of the excerpt.
    ///
    /// # Errors
    /// If the capture lacks the range.
    fn finish(&self) -> Result<()> {
        let reached = self.filter.finish();
        reached.map_err(|error| anyhow!("{}: {error}", self.capture))
    }
}

/// The file that is written, or standard output.
struct Output<'a> {
    record: &'a Record,
    /// Its name in messages.
    name: &'a str,
    anonymizer: Option<Anonymizer>,
    /// `None` until it is opened, and for standard output.
    file: Option<RecordingFile>,
    out: &'a mut (dyn Write + Send),
}

impl Output<'_> {
    /// Opens the file, if it is one and not open.
    fn open(&mut self) -> Result<()> {
        if self.file.is_none() && !self.record.writes_to_output() {
            self.file = Some(self.record.open_file(None, self.name)?);
        }
        Ok(())
    }

    /// Writes whole lines.
    fn write(&mut self, text: &[u8]) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let anonymous;
        let mut text = text;
        if let Some(anonymizer) = &mut self.anonymizer {
            anonymous = anonymizer.rewrite(text);
            text = &anonymous;
        }
        self.open()?;
        match &mut self.file {
            Some(file) => file.write(text).map(drop),
            None => self
                .out
                .write_all(text)
                .and_then(|()| self.out.flush())
                .context(OutputError),
        }
    }

    /// Completes the file, and returns the number of lines that were left out.
    fn finish(mut self) -> Result<u64> {
        if let Some(file) = &mut self.file {
            file.remove_if_empty();
            file.finish()?;
            file.sync()?;
        }
        Ok(self.anonymizer.map_or(0, |anonymizer| anonymizer.left_out))
    }
}

/// Writes the sample `first` and those that follow it, as far as they lie in the range or right before it. Returns the
/// number of those in the range.
fn copy_samples(
    first: Sample,
    replay: &mut Replay<'_>,
    places: &mut Places<'_>,
    zone: &TimeZone,
    on_warnings: &mut dyn FnMut(&[CaptureWarning]),
    write: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<u64> {
    let mut previous = Sample::default();
    let mut sample = first;
    let mut place = Place::Within;
    let mut text = Vec::new();
    let mut samples = 0;
    loop {
        let place_before = place;
        if let Some(at) = sample.at.wall {
            place = places.place(at)?;
        }
        match place {
            Place::Preceding => {}
            Place::Within => {
                if place_before == Place::Preceding {
                    append_sample(&previous, zone, &mut text);
                }
                append_sample(&sample, zone, &mut text);
                samples += 1;
            }
            Place::Following => break,
        }
        // A stream may end at any time.
        if text.len() >= BLOCK_BYTES || !replay.is_file() {
            write(&text)?;
            text.clear();
        }
        std::mem::swap(&mut previous, &mut sample);
        let found = replay.next(&previous, &mut sample);
        on_warnings(&replay.take_warnings());
        let is_recording = replay.header().is_some();
        if !matches!(found, Ok(true)) || is_recording {
            write(&text)?;
            if is_recording {
                bail!(
                    "{}: a recording follows other samples; save it to a file of its own",
                    sanitize(replay.name())
                );
            }
            return found.map(|_| samples);
        }
    }
    write(&text)?;
    Ok(samples)
}

/// Appends a sample as it is in a recording.
fn append_sample(sample: &Sample, zone: &TimeZone, out: &mut Vec<u8>) {
    let mut diskstats = Vec::new();
    for device in &sample.devices {
        write_line(device, &mut diskstats);
    }
    RecordFilter::default().write_sample(sample, &diskstats, zone, out);
}

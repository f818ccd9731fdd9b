//! A capture: readings one after the other, each begun by a `TS` line.

use std::io::{self, ErrorKind, Read};
use std::time::Duration;

use jiff::Timestamp;

use super::fault::{CaptureWarning, CaptureWarningKind};
use super::idle::IdleLines;
use super::line::{LineError, parse_line};
use super::lines::{Lines, Next};
use super::note::{Annotation, AnnotationError, RecordingHeader};
use super::slot;
use super::special::{LineKind, TimestampLine, glued_note};
use super::timeline::Timeline;
use crate::counters::{Columns, Counters, Device, HostState, Sample};
use crate::topology::{Node, Topology};
use crate::units::SampleTime;

/// The most devices of a sample, far above what machines have: what a few bytes of compressed data unpack to must not
/// fill the memory.
const MOST_DEVICES: usize = 100_000;

/// The same for names, which are as long as a line lets them be: bytes of all lines of a sample.
const LONGEST_SAMPLE: usize = 32 * 1024 * 1024;

/// So many faults are kept until they are asked for; of the others only the number.
const MOST_FAULTS: usize = 1000;

/// Reads the samples of a capture, one after the other, in memory bounded by the largest sample.
///
/// A recording of our own tells more: its samples say that they are whole, and when they were taken by a clock that
/// nobody sets.
pub struct Reader<R> {
    lines: Lines<R>,
    place: Place,
    timeline: Timeline,
    recorded: Option<RecordingHeader>,
    idle: IdleLines,
    /// Devices that the sample has so far.
    used: usize,
    /// More devices of a stack that its recording has in lines of their own.
    more_nodes: Vec<Node>,
    keeps_cut_sample: bool,
    /// Bytes of the lines that were read since the last sample, and whether they were too many.
    length: usize,
    has_too_many: bool,
    /// The first line before the first `TS` line. That is a fault only of a file that has one.
    untimed: Option<u64>,
    /// What stands before the first `TS` line is no text.
    has_other_than_text: bool,
    faults: Vec<CaptureWarning>,
}

/// Where in the capture the reader is.
enum Place {
    /// No `TS` line came yet.
    Before,
    /// Behind the end of a sample, or at the beginning of a recording.
    Between,
    /// In lines that have no time and are passed over: behind a bad `TS` line, or none.
    Unusable,
    /// In a sample.
    In(Open),
}

/// What is known of the sample that the reader is in, but for its devices.
struct Open {
    time: Timestamp,
    written_time: Option<String>,
    /// The number of its `TS` line.
    line: u64,
    /// Where it is known already: in a recording of our own it takes the monotonic time.
    segment: Option<u64>,
    monotonic: Option<Duration>,
    uptime: Option<u64>,
    /// The line that should have told that it is whole cannot be read.
    has_bad_note: bool,
}

impl<R: Read> Reader<R> {
    /// A reader at the start of a capture.
    pub fn new(input: R) -> Self {
        Self {
            lines: Lines::new(input),
            place: Place::Before,
            timeline: Timeline::default(),
            recorded: None,
            idle: IdleLines::default(),
            used: 0,
            more_nodes: Vec::new(),
            keeps_cut_sample: false,
            length: 0,
            has_too_many: false,
            untimed: None,
            has_other_than_text: false,
            faults: Vec::new(),
        }
    }

    /// Has a sample that was cut off handed out with the lines that are whole, or seem so, as pt-diskstats does.
    pub fn keep_cut_sample(&mut self) {
        self.keeps_cut_sample = true;
    }

    /// What was found wrong since the last call.
    pub fn take_warnings(&mut self) -> Vec<CaptureWarning> {
        std::mem::take(&mut self.faults)
    }

    /// What a recording of our own says of the machine at the time of the sample that was handed out last; `None`
    /// for any other capture.
    pub fn recorded(&self) -> Option<&RecordingHeader> {
        self.recorded.as_ref()
    }

    /// Reads the next sample into `sample`, reusing its memory; `before` is the sample read before it, which
    /// tells whether the last line of the file is whole. `false` at the end of the capture.
    ///
    /// # Errors
    /// What the stream gives, but for compressed data that ends early: that is a cut file. The samples before
    /// the error were handed out.
    pub fn next(&mut self, before: &Sample, sample: &mut Sample) -> io::Result<bool> {
        self.used = 0;
        (self.length, self.has_too_many) = (0, false);
        clear_machine(sample);
        loop {
            let line = match self.lines.next() {
                Ok(line) => line,
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(self.end(sample, true)),
                Err(error) => return Err(error),
            };
            let (bytes, ended) = match line {
                Next::Line { bytes, ended } => (bytes, ended),
                Next::TooLong => {
                    self.fault(CaptureWarningKind::TooLong);
                    continue;
                }
                Next::End => return Ok(self.end(sample, false)),
            };
            let in_sample = matches!(self.place, Place::In(_));
            if let Some(special) = LineKind::of(bytes, ended, ended || self.keeps_cut_sample, in_sample) {
                if self.special(special, sample) {
                    return Ok(true);
                }
                continue;
            }
            match self.place {
                Place::In(_) => {}
                Place::Before => {
                    let is_blank = bytes.trim_ascii().is_empty();
                    self.has_other_than_text |= bytes.contains(&0) || std::str::from_utf8(bytes).is_err();
                    if !is_blank {
                        self.untimed.get_or_insert(self.lines.number);
                    }
                    continue;
                }
                Place::Between if !bytes.trim_ascii().is_empty() => {
                    self.place = Place::Unusable;
                    self.fault(CaptureWarningKind::AfterEnd);
                    continue;
                }
                Place::Between | Place::Unusable => continue,
            }
            self.length += bytes.len();
            if self.used == MOST_DEVICES || self.length > LONGEST_SAMPLE {
                if !self.has_too_many {
                    self.has_too_many = true;
                    self.fault(CaptureWarningKind::TooManyDevices);
                }
                continue;
            }
            let ended = ended || self.keeps_cut_sample;
            let used = self.used;
            let device = slot(&mut sample.devices, used);
            if ended && self.idle.recall(used, bytes, device) {
                self.used += 1;
                continue;
            }
            let cut = match parse_line(bytes, device) {
                Ok(()) => {
                    self.used += 1;
                    self.idle.remember(used, bytes, device, before.devices.get(used));
                    !ended && is_cut(&sample.devices[used], &sample.devices[..used], before)
                }
                Err(_) if bytes.trim_ascii().is_empty() => !ended,
                Err(LineError::ColumnCount(_) | LineError::NotANumber { .. }) if !ended => true,
                Err(fault) => {
                    let note = glued_note(bytes);
                    self.fault(CaptureWarningKind::Line(fault));
                    if note.is_some_and(|note| self.note(note, sample)) {
                        return Ok(true);
                    }
                    false
                }
            };
            if cut {
                return Ok(self.end(sample, true));
            }
        }
    }

    /// Acts on a line that is none of a device. Whether a sample is handed out.
    fn special(&mut self, special: LineKind, sample: &mut Sample) -> bool {
        match special {
            LineKind::Remark => false,
            LineKind::Stamp(stamp, note) => {
                let is_handed_out = self.begin(stamp, sample);
                if let Some(note) = note {
                    // Whatever began here has no more lines.
                    self.note(note, &mut Sample::default());
                }
                is_handed_out
            }
            LineKind::Cpu(cpu, note) => {
                sample.cpu = cpu.or(sample.cpu);
                note.is_some_and(|note| self.note(note, sample))
            }
            LineKind::Annotation(note) => self.note(note, sample),
            LineKind::Notes(first, second) => {
                if self.note(first, sample) {
                    self.note(second, &mut Sample::default());
                    return true;
                }
                self.note(second, sample)
            }
            LineKind::BadNote(fault, ended) => {
                self.bad_note(fault, ended);
                false
            }
        }
    }

    /// Whether nothing but something else than text was read: no `TS` line came.
    pub fn is_not_text(&self) -> bool {
        self.has_other_than_text && self.untimed.is_some()
    }

    fn fault(&mut self, kind: CaptureWarningKind) {
        self.fault_at(self.lines.number, kind);
    }

    fn fault_at(&mut self, line: u64, kind: CaptureWarningKind) {
        // Of these there is one a sample at most, and pt-diskstats tells no other.
        let is_kept = kind.is_of_the_clock() || self.faults.len() < MOST_FAULTS;
        match self.faults.last_mut() {
            Some(last) if !is_kept => last.more += 1,
            _ => self.faults.push(CaptureWarning { line, kind, more: 0 }),
        }
    }

    /// Whether a sample that is whole says so.
    fn is_own(&self) -> bool {
        self.recorded.is_some()
    }

    /// A `TS` line begins a sample. Whether the one before it is handed out.
    fn begin(&mut self, stamp: TimestampLine, sample: &mut Sample) -> bool {
        if let Some(line) = self.untimed.take() {
            self.fault_at(line, CaptureWarningKind::BeforeFirstStamp);
        }
        let place = std::mem::replace(&mut self.place, Place::Unusable);
        let is_handed_out = self.leave(place, sample);
        let Some(time) = stamp.time else {
            // A file that ends in a TS line: that sample has nothing but perhaps half a time.
            self.fault(if stamp.ended {
                CaptureWarningKind::BadStamp(stamp.found)
            } else {
                CaptureWarningKind::Cut
            });
            return is_handed_out;
        };
        let mut open = Open {
            time,
            written_time: stamp.written_time,
            line: self.lines.number,
            segment: None,
            monotonic: None,
            uptime: None,
            has_bad_note: false,
        };
        if !self.is_own() {
            open.segment = Some(self.segment(&open));
        }
        self.place = Place::In(open);
        is_handed_out
    }

    /// Another sample or recording begins. Whether the sample that ends by this is handed out.
    fn leave(&mut self, place: Place, sample: &mut Sample) -> bool {
        match place {
            Place::In(open) => self.close(open, false, sample),
            Place::Before | Place::Between | Place::Unusable => false,
        }
    }

    /// The segment of a sample that is to be handed out.
    fn segment(&mut self, open: &Open) -> u64 {
        let (segment, fault) = self.timeline.place(open.moment());
        if let Some(kind) = fault {
            self.fault_at(open.line, kind);
        }
        segment
    }

    /// A line of our own. Whether the sample that it ends is handed out.
    fn note(&mut self, mut note: Annotation, sample: &mut Sample) -> bool {
        if let Some(recorded) = note.take_recorded() {
            let between = if matches!(self.place, Place::Before) { Place::Before } else { Place::Between };
            let place = std::mem::replace(&mut self.place, between);
            let is_handed_out = self.leave(place, sample);
            self.begin_recording(recorded);
            return is_handed_out;
        }
        self.take_nodes(note.take_devices());
        let Place::In(open) = &mut self.place else { return false };
        open.monotonic = note.monotonic_ns.map(Duration::from_nanos).or(open.monotonic);
        open.uptime = note.uptime_cs.or(open.uptime);
        if !note.is_complete() {
            return false;
        }
        sample.host = note.machine();
        sample.missed_samples = note.missed.unwrap_or(0);
        match std::mem::replace(&mut self.place, Place::Between) {
            Place::In(open) => self.close(open, true, sample),
            _ => false,
        }
    }

    /// More devices of the recording's stack. They are put together once, when the stack is asked for.
    fn take_nodes(&mut self, nodes: Vec<Node>) {
        let Some(recorded) = &self.recorded else { return };
        let room = MOST_DEVICES.saturating_sub(recorded.stack.nodes().len() + self.more_nodes.len());
        self.more_nodes.extend(nodes.into_iter().take(room));
    }

    fn complete_stack(&mut self) {
        if let Some(recorded) = self.recorded.as_mut().filter(|_| !self.more_nodes.is_empty()) {
            recorded.stack = Topology::new([recorded.stack.nodes(), &self.more_nodes].concat());
            self.more_nodes.clear();
        }
    }

    /// A recording begins, or goes on: in the same segment unless it is of another machine or another boot of it.
    fn begin_recording(&mut self, recorded: RecordingHeader) {
        let fault = self.recorded.as_ref().and_then(|before| {
            let is_other_host = before.is_other_host(&recorded);
            let is_other_boot = before.is_other_boot(&recorded).then_some(CaptureWarningKind::Rebooted);
            is_other_host.then_some(CaptureWarningKind::AnotherMachine).or(is_other_boot)
        });
        if let Some(kind) = fault {
            self.timeline.break_here();
            self.fault(kind);
        }
        self.more_nodes.clear();
        self.recorded = Some(recorded);
    }

    fn bad_note(&mut self, fault: AnnotationError, ended: bool) {
        let in_own_sample = self.is_own() && matches!(self.place, Place::In(_));
        let why = match fault {
            AnnotationError::Cut if !ended || in_own_sample => return,
            AnnotationError::Cut => "it is cut off".to_owned(),
            AnnotationError::Bad(why) => why,
        };
        if let Place::In(open) = &mut self.place {
            open.has_bad_note = true;
        }
        self.fault(CaptureWarningKind::BadNote(why));
    }

    /// The stream is at its end: the sample being read is whole, unless the file was cut.
    fn end(&mut self, sample: &mut Sample, cut: bool) -> bool {
        let Place::In(open) = std::mem::replace(&mut self.place, Place::Unusable) else { return false };
        let is_cut = cut || self.is_own() && !open.has_bad_note;
        if is_cut && !self.keeps_cut_sample {
            self.fault(CaptureWarningKind::Cut);
            return false;
        }
        self.close(open, true, sample)
    }

    /// A sample has no more lines: it is handed out, unless its recording should have said that it is whole and did
    /// not.
    fn close(&mut self, open: Open, is_complete: bool, sample: &mut Sample) -> bool {
        let used = std::mem::take(&mut self.used);
        let is_whole = is_complete || open.has_bad_note || !self.is_own();
        if !is_whole && !self.keeps_cut_sample {
            self.fault_at(open.line, CaptureWarningKind::CutInside);
            clear_machine(sample);
            return false;
        }
        self.complete_stack();
        sample.segment = open.segment.unwrap_or_else(|| self.segment(&open));
        sample.at = open.moment();
        sample.devices.truncate(used);
        sample.written_time = open.written_time;
        true
    }
}

impl Open {
    fn moment(&self) -> SampleTime {
        SampleTime { monotonic: self.monotonic, wall: Some(self.time), uptime: self.uptime }
    }
}

/// Forgets what was read of the machine for another sample.
fn clear_machine(sample: &mut Sample) {
    sample.cpu = None;
    sample.host = HostState::default();
    sample.missed_samples = 0;
}

/// Whether a last line without a newline lost its end: it has fewer columns than the device had before (or, for
/// a new device, than its neighbours), or its last number is smaller, as a number that lost digits is.
fn is_cut(device: &Device, neighbours: &[Device], before: &Sample) -> bool {
    let counters = &device.counters;
    match before.device(&device.name) {
        Some(Device { counters: earlier, .. }) => {
            counters.columns < earlier.columns || last_number(counters) < last_number(earlier)
        }
        None => neighbours.iter().any(|other| other.counters.columns > counters.columns),
    }
}

fn last_number(counters: &Counters) -> u64 {
    match counters.columns {
        Columns::Partition => counters.writes.sectors,
        Columns::Basic => counters.weighted_ms,
        Columns::Discards => counters.discards.ms,
        Columns::Flushes => counters.flush_ms,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All samples as (seconds, segment, devices) and all faults as (line, message).
    #[allow(clippy::type_complexity)]
    fn read(text: &[u8]) -> (Vec<(i64, u64, Vec<String>)>, Vec<(u64, String)>) {
        let mut reader = Reader::new(text);
        let (mut before, mut sample) = (Sample::default(), Sample::default());
        let mut samples = Vec::new();
        while reader.next(&before, &mut sample).unwrap() {
            let devices =
                sample.devices.iter().map(|d| format!("{} {}", d.name, d.counters.reads.ios)).collect();
            samples.push((sample.at.wall.unwrap().as_second(), sample.segment, devices));
            std::mem::swap(&mut before, &mut sample);
        }
        (samples, reader.take_warnings().into_iter().map(|f| (f.line, f.kind.to_string())).collect())
    }

    fn line(name: &str, reads: u32) -> String {
        format!("   8       0 {name} {reads} 0 8 1 0 0 0 0 0 1 321\n")
    }

    fn sample(second: u32, devices: &[(&str, u32)]) -> String {
        let lines: String = devices.iter().map(|(name, reads)| line(name, *reads)).collect();
        format!("TS {second}.000000000 2026-11-20 18:22:11\n{lines}")
    }

    fn devices(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn samples_follow_one_another() {
        let text = sample(10, &[("sda", 1), ("sdb", 2)]) + &sample(11, &[("sda", 3), ("sdb", 4)]);
        let expected = vec![(10, 0, devices(&["sda 1", "sdb 2"])), (11, 0, devices(&["sda 3", "sdb 4"]))];
        assert_eq!(read(text.as_bytes()), (expected.clone(), vec![]));
        assert_eq!(read(text.replace('\n', "\r\n").as_bytes()), (expected.clone(), vec![]));
        assert_eq!(read(text.trim_end().as_bytes()), (expected, vec![]));
    }

    #[test]
    fn a_bad_line_costs_that_line_only() {
        let text = sample(10, &[("sda", 1)])
            + "8 0 sdb x 0 0 0 0 0 0 0 0 0 0\n"
            + &line("sdc", 7)
            + &sample(11, &[]);
        let (samples, faults) = read(text.as_bytes());
        assert_eq!(samples[0].2, devices(&["sda 1", "sdc 7"]));
        assert_eq!(faults, [(3, "'reads completed' is 'x', not a number; the line is left out".to_owned())]);
    }

    #[test]
    fn an_empty_sample_is_a_sample() {
        let text = sample(10, &[("sda", 1)]) + &sample(11, &[]) + &sample(12, &[("sda", 2)]);
        let (samples, faults) = read(text.as_bytes());
        assert_eq!(samples.iter().map(|s| s.2.len()).collect::<Vec<_>>(), [1, 0, 1]);
        assert_eq!(faults, []);
    }

    #[test]
    fn a_cut_at_any_byte_of_the_last_sample_never_gives_other_numbers() {
        let whole = sample(10, &[("sda", 1), ("sdb", 2)]) + &sample(11, &[("sda", 3), ("sdb", 4)]);
        let (all, _) = read(whole.as_bytes());
        let second = whole.rfind("TS").unwrap();
        for end in second..whole.len() {
            let (samples, faults) = read(&whole.as_bytes()[..end]);
            assert_eq!(samples[0], all[0], "cut at {end}");
            let whole_lines = ["", "sda 3", "sdb 4"];
            if let Some(last) = samples.get(1) {
                assert!(last.2.iter().zip(&whole_lines[1..]).all(|(a, b)| a == b), "cut at {end}: {last:?}");
                assert!(whole[end - 1..=end].contains('\n'), "cut inside a line at {end}");
            } else if end > second {
                assert!(whole[..end].ends_with('T') || faults.len() == 1, "cut at {end}: {faults:?}");
            }
        }
    }

    #[test]
    fn a_clock_that_stands_or_goes_back_begins_a_new_stretch_at_its_line() {
        let text = sample(10, &[("sda", 1)])
            + &sample(10, &[("sda", 2)])
            + &sample(5, &[("sda", 3)])
            + &sample(6, &[]);
        let (samples, faults) = read(text.as_bytes());
        assert_eq!(samples.iter().map(|s| s.1).collect::<Vec<_>>(), [0, 1, 2, 2]);
        assert_eq!(faults.iter().map(|f| f.0).collect::<Vec<_>>(), [3, 5]);
        assert_eq!(
            faults[0].1,
            "the clock stands still at 1970-01-01T00:00:10Z; no interval is reported across this"
        );
        assert!(faults[1].1.starts_with("the clock goes back to 1970-01-01T00:00:05Z;"), "{}", faults[1].1);
    }

    #[test]
    fn a_sample_without_a_time_is_left_out_whole() {
        let text = line("sda", 9)
            + &sample(10, &[("sda", 1)])
            + "TS soon\n"
            + &line("sda", 2)
            + &sample(12, &[("sda", 3)]);
        let (samples, faults) = read(text.as_bytes());
        assert_eq!(samples.iter().map(|s| s.0).collect::<Vec<_>>(), [10, 12]);
        assert_eq!(
            faults[0],
            (1, "what stands before the first 'TS' line has no time; it is left out".to_owned())
        );
        assert_eq!(
            faults[1],
            (4, "'TS' is followed by 'soon', not by seconds; the sample is left out".to_owned())
        );
    }

    #[test]
    fn words_at_the_end_of_a_capture_do_not_cost_its_last_sample() {
        let text = sample(10, &[("sda", 1)]) + &sample(11, &[("sda", 2)]) + "Terminated";
        let (samples, faults) = read(text.as_bytes());
        assert_eq!((samples.len(), faults.len()), (2, 1));
    }

    #[test]
    fn a_cpu_line_belongs_to_its_sample() {
        let text = format!("{}cpu  1 2 3 4\ncpu0 1 2 3 4\nTS 11\n", sample(10, &[("sda", 1)]));
        let mut reader = Reader::new(text.as_bytes());
        let mut sample = Sample::default();
        assert!(reader.next(&Sample::default(), &mut sample).unwrap());
        assert_eq!(sample.cpu.map(|cpu| cpu.idle), Some(4));
    }

    #[test]
    fn of_very_many_faults_the_first_are_kept_and_the_others_counted() {
        let text = sample(10, &[("sda", 1)]) + &"rubbish\n".repeat(5000) + &sample(9, &[("sda", 2)]);
        let mut reader = Reader::new(text.as_bytes());
        assert!(reader.next(&Sample::default(), &mut Sample::default()).unwrap());
        let faults = reader.take_warnings();
        assert_eq!(faults.iter().map(|fault| 1 + fault.more).sum::<u64>(), 5001);
        assert_eq!((faults.len(), faults[999].line, faults[1000].line), (1001, 1002, 5003));
        assert!(
            matches!(faults[1000].kind, CaptureWarningKind::ClockBack { .. }),
            "breaks of time are always told"
        );
    }

    #[test]
    fn more_devices_than_any_machine_has_are_left_out() {
        let text = sample(10, &vec![("sda", 1); MOST_DEVICES + 5]) + &sample(11, &[("sda", 2)]);
        let (samples, faults) = read(text.as_bytes());
        assert_eq!(samples.iter().map(|sample| sample.2.len()).collect::<Vec<_>>(), [MOST_DEVICES, 1]);
        let said = "the sample has more devices than any machine; the others are left out".to_owned();
        assert_eq!(faults, [(MOST_DEVICES as u64 + 2, said.clone())]);
        let long = "x".repeat(60_000);
        let text = sample(10, &vec![(long.as_str(), 1); 600]) + &sample(11, &[("sda", 2)]);
        let (samples, faults) = read(text.as_bytes());
        assert_eq!((samples[0].2.len(), samples[1].2.len()), (LONGEST_SAMPLE / line(&long, 1).len(), 1));
        assert_eq!(faults[0].1, said);
    }

    #[test]
    fn a_line_without_an_end_is_named_and_passed_over() {
        let text = sample(10, &[("sda", 1)]) + &"9".repeat(200_000) + "\n" + &sample(11, &[("sda", 2)]);
        let (samples, faults) = read(text.as_bytes());
        assert_eq!(samples.len(), 2);
        assert_eq!(faults, [(3, "the line is longer than 65536 bytes; it is left out".to_owned())]);
    }
}

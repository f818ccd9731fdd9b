//! A capture: readings one after the other, each begun by a `TS` line.

use std::io::{self, ErrorKind, Read};

use jiff::Timestamp;

use super::line::{LineFault, excerpt, parse_line};
use super::lines::{LONGEST_LINE, Lines, Next};
use super::stamp::{is_stamp, parse_stamp, stamp_word, written_time};
use super::{parse_cpu_line, slot};
use crate::counters::{Columns, Counters, Device, Sample};
use crate::units::Moment;

/// Something in a capture that was left out, or that breaks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The line, counted from 1.
    pub line: u64,
    /// What is wrong with it.
    pub kind: FaultKind,
}

/// What is wrong with a line of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// No line of diskstats, or a bad one.
    Line(LineFault),
    /// Longer than any line that is read.
    TooLong,
    /// A `TS` line without a time; the sample that it begins has none.
    BadStamp(String),
    /// Lines before the first `TS` line have no time.
    BeforeFirstStamp,
    /// The clock did not advance.
    ClockBack {
        /// The time of the sample before.
        before: Timestamp,
        /// The time of this one.
        now: Timestamp,
    },
    /// The file ends in the middle of its last sample.
    Cut,
}

impl std::fmt::Display for FaultKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FaultKind::Line(fault) => fault.fmt(f),
            FaultKind::TooLong => write!(f, "the line is longer than {LONGEST_LINE} bytes; it is left out"),
            FaultKind::BadStamp(found) => {
                write!(f, "'TS' is followed by '{found}', not by seconds; the sample is left out")
            }
            FaultKind::BeforeFirstStamp => {
                write!(f, "what stands before the first 'TS' line has no time; it is left out")
            }
            FaultKind::ClockBack { before, now } => {
                let how = if before == now { "stands still at" } else { "goes back to" };
                write!(f, "the clock {how} {now}; no interval is reported across this")
            }
            FaultKind::Cut => write!(f, "the last sample is cut off in the middle; it is left out"),
        }
    }
}

/// Reads the samples of a capture, one after the other, in memory bounded by the largest sample.
pub struct Reader<R> {
    lines: Lines<R>,
    /// The `TS` line of the sample to come, once it was read.
    next: Stamp,
    next_written_time: Option<String>,
    last_time: Option<Timestamp>,
    stretch: u64,
    keeps_cut_sample: bool,
    faults: Vec<Fault>,
}

/// What the reader knows of the sample that it is in.
#[derive(Clone, Copy)]
enum Stamp {
    /// No `TS` line came yet.
    Before,
    /// Its lines have no time and are passed over: a bad `TS` line, or none.
    Unusable,
    At {
        time: Timestamp,
        stretch: u64,
    },
}

impl<R: Read> Reader<R> {
    /// A reader at the start of a capture.
    pub fn new(input: R) -> Self {
        Self {
            lines: Lines::new(input),
            next: Stamp::Before,
            next_written_time: None,
            keeps_cut_sample: false,
            last_time: None,
            stretch: 0,
            faults: Vec::new(),
        }
    }

    /// Has a sample that was cut off handed out with the lines that are whole, or seem so, as pt-diskstats does.
    pub fn keep_cut_sample(&mut self) {
        self.keeps_cut_sample = true;
    }

    /// What was found wrong since the last call.
    pub fn take_faults(&mut self) -> Vec<Fault> {
        std::mem::take(&mut self.faults)
    }

    /// Reads the next sample into `sample`, reusing its memory; `before` is the sample read before it, which
    /// tells whether the last line of the file is whole. `false` at the end of the capture.
    ///
    /// # Errors
    /// What the stream gives, but for compressed data that ends early: that is a cut file. The samples before
    /// the error were handed out.
    pub fn next(&mut self, before: &Sample, sample: &mut Sample) -> io::Result<bool> {
        let mut used = 0;
        sample.cpu = None;
        loop {
            let line = match self.lines.next() {
                Ok(line) => line,
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    return Ok(self.end(sample, used, true));
                }
                Err(error) => return Err(error),
            };
            let (bytes, ended) = match line {
                Next::Line { bytes, ended } => (bytes, ended),
                Next::TooLong => {
                    self.fault(FaultKind::TooLong);
                    continue;
                }
                Next::End => return Ok(self.end(sample, used, false)),
            };
            if is_stamp(bytes) {
                let written_time = written_time(bytes);
                let stamp = if ended || self.keeps_cut_sample { parse_stamp(bytes) } else { None };
                let fault = match stamp {
                    // A file that ends in a TS line: that sample has nothing but perhaps half a time.
                    None if !ended => Some(FaultKind::Cut),
                    None => Some(FaultKind::BadStamp(excerpt(stamp_word(bytes)))),
                    Some(now) => self.last_time.filter(|before| now <= *before).map(|before| {
                        self.stretch += 1;
                        FaultKind::ClockBack { before, now }
                    }),
                };
                self.last_time = stamp.or(self.last_time);
                fault.into_iter().for_each(|kind| self.fault(kind));
                let stretch = self.stretch;
                let to_come = stamp.map_or(Stamp::Unusable, |time| Stamp::At { time, stretch });
                let written_time = std::mem::replace(&mut self.next_written_time, written_time);
                if let Stamp::At { time, stretch } = std::mem::replace(&mut self.next, to_come) {
                    sample.written_time = written_time;
                    finish(sample, used, time, stretch);
                    return Ok(true);
                }
                used = 0;
                continue;
            }
            match self.next {
                Stamp::At { .. } => {}
                Stamp::Before if !bytes.trim_ascii().is_empty() => {
                    self.next = Stamp::Unusable;
                    self.fault(FaultKind::BeforeFirstStamp);
                    continue;
                }
                Stamp::Before | Stamp::Unusable => continue,
            }
            if bytes.starts_with(b"cpu") {
                // Without its end the line's last number may be wrong, and nothing tells.
                sample.cpu = parse_cpu_line(bytes).filter(|_| ended).or(sample.cpu);
                continue;
            }
            let ended = ended || self.keeps_cut_sample;
            let device = slot(&mut sample.devices, used);
            let cut = match parse_line(bytes, device) {
                Ok(()) => {
                    used += 1;
                    !ended && is_cut(&sample.devices[used - 1], &sample.devices[..used - 1], before)
                }
                Err(_) if bytes.trim_ascii().is_empty() => !ended,
                Err(_) if bytes.starts_with(b"#") => false,
                Err(LineFault::ColumnCount(_) | LineFault::NotANumber { .. }) if !ended => true,
                Err(fault) => {
                    self.fault(FaultKind::Line(fault));
                    false
                }
            };
            if cut {
                return Ok(self.end(sample, used, true));
            }
        }
    }

    fn fault(&mut self, kind: FaultKind) {
        self.faults.push(Fault { line: self.lines.number, kind });
    }

    /// The stream is at its end: the sample being read is whole, unless the file was cut.
    fn end(&mut self, sample: &mut Sample, used: usize, cut: bool) -> bool {
        match std::mem::replace(&mut self.next, Stamp::Unusable) {
            Stamp::At { .. } if cut && !self.keeps_cut_sample => self.fault(FaultKind::Cut),
            Stamp::At { time, stretch } => {
                sample.written_time = self.next_written_time.take();
                finish(sample, used, time, stretch);
                return true;
            }
            Stamp::Before | Stamp::Unusable => {}
        }
        false
    }
}

fn finish(sample: &mut Sample, used: usize, time: Timestamp, stretch: u64) {
    sample.devices.truncate(used);
    sample.stretch = stretch;
    sample.at = Moment { wall: Some(time), ..Moment::default() };
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

    /// All samples as (seconds, stretch, devices) and all faults as (line, message).
    #[allow(clippy::type_complexity)]
    fn read(text: &[u8]) -> (Vec<(i64, u64, Vec<String>)>, Vec<(u64, String)>) {
        let mut reader = Reader::new(text);
        let (mut before, mut sample) = (Sample::default(), Sample::default());
        let mut samples = Vec::new();
        while reader.next(&before, &mut sample).unwrap() {
            let devices =
                sample.devices.iter().map(|d| format!("{} {}", d.name, d.counters.reads.ios)).collect();
            samples.push((sample.at.wall.unwrap().as_second(), sample.stretch, devices));
            std::mem::swap(&mut before, &mut sample);
        }
        (samples, reader.take_faults().into_iter().map(|f| (f.line, f.kind.to_string())).collect())
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
    fn a_line_without_an_end_is_named_and_passed_over() {
        let text = sample(10, &[("sda", 1)]) + &"9".repeat(200_000) + "\n" + &sample(11, &[("sda", 2)]);
        let (samples, faults) = read(text.as_bytes());
        assert_eq!(samples.len(), 2);
        assert_eq!(faults, [(3, "the line is longer than 65536 bytes; it is left out".to_owned())]);
    }
}

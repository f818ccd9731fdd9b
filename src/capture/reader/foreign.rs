//! Captures that were made by other programs than pt-diskstats and blkstat: copies of /proc/diskstats with their times
//! before them, in each of their lines, or nowhere.

use std::collections::HashSet;
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::capture::diskstats_line::{DeviceLineStart, device_line_start};
use crate::capture::time_form::{FoundTime, TimeForm, find_time};

/// The meaning of a line.
#[derive(Debug, PartialEq)]
pub(super) enum ForeignLine {
    /// It tells the time of the copy that follows.
    Time(Timestamp),
    /// It is the first device of a copy, whose time it tells itself, or that has the next of equally distant times.
    FirstDevice(Timestamp),
    /// A device, whose line begins at this byte.
    Device(usize),
    /// A device of a copy whose time is not known.
    UntimedDevice,
    Other,
}

/// Finds the copies in such a capture, and their times.
pub(super) struct ForeignLines {
    pub(super) zone: TimeZone,
    /// The distance of copies, if they have no times.
    pub(super) every: Option<Duration>,
    pub(super) form: Option<TimeForm>,
    latest: Option<Timestamp>,
    /// The whole days or years to add to times without a date or a year, once midnight or the new year has passed.
    carried: SignedDuration,
    /// The devices of the copy so far.
    names: HashSet<String>,
    /// The number of words before a device in the line before.
    words_before: usize,
    /// These are the raw data of collectl: copies of many files of /proc.
    pub(super) is_collectl: bool,
}

impl ForeignLines {
    pub(super) fn new(zone: TimeZone, every: Option<Duration>) -> Self {
        Self {
            zone,
            every,
            form: None,
            latest: None,
            carried: SignedDuration::ZERO,
            names: HashSet::new(),
            words_before: 0,
            is_collectl: false,
        }
    }

    /// Begins the next file, whose times may have another form; equally distant times go on.
    pub(super) fn begin_file(&mut self) {
        let latest = self.latest.filter(|_| self.form.is_none());
        *self = Self { latest, ..Self::new(self.zone.clone(), self.every) };
    }

    /// Takes the next line. `has_time` is true if it follows a time.
    pub(super) fn read(&mut self, line: &[u8], has_time: bool) -> ForeignLine {
        let Ok(text) = std::str::from_utf8(line) else { return ForeignLine::Other };
        if let Some(time) = collectl_time(text, &self.zone) {
            // The header before it has other times.
            (self.is_collectl, self.form) = (true, Some(TimeForm::Epoch));
            self.names.clear();
            return ForeignLine::Time(time);
        }
        if self.is_collectl {
            let device = text.strip_prefix("disk ").and_then(|line| device_line_start(line, 0));
            return match device.filter(|device| has_time && device.words_before == 0) {
                Some(device) if self.names.insert(device.name.to_owned()) => {
                    ForeignLine::Device("disk ".len() + device.at)
                }
                _ => ForeignLine::Other,
            };
        }
        let Some(DeviceLineStart { at, name, words_before }) = device_line_start(text, self.words_before)
        else {
            let time = find_time(text, &self.zone).and_then(|found| self.accept(found));
            let Some(time) = time.filter(|_| !has_time || !self.names.is_empty()) else {
                return ForeignLine::Other;
            };
            self.names.clear();
            return ForeignLine::Time(time);
        };
        self.words_before = words_before;
        if has_time && !self.names.contains(name) {
            self.names.insert(name.to_owned());
            return ForeignLine::Device(at);
        }
        let time = match find_time(&text[..at], &self.zone) {
            Some(found) => self.accept(found),
            None if self.form.is_none() => self.every.map(|every| match self.latest {
                Some(latest) => latest.saturating_add(every).unwrap_or(latest),
                None => Timestamp::UNIX_EPOCH,
            }),
            None => None,
        };
        self.names.clear();
        let Some(time) = time else { return ForeignLine::UntimedDevice };
        self.latest = Some(time);
        ForeignLine::FirstDevice(time)
    }

    /// Returns a time if it has the form of those before it.
    fn accept(&mut self, found: FoundTime) -> Option<Timestamp> {
        const HOUR: i64 = 3600;
        if *self.form.get_or_insert(found.form) != found.form {
            return None;
        }
        // The longest time back that is not the next day or year.
        let (back, period) = match found.form {
            TimeForm::TimeOfDay => (12 * HOUR, 24 * HOUR),
            TimeForm::DayOfYear => (180 * 24 * HOUR, 366 * 24 * HOUR),
            _ => (i64::MAX, 0),
        };
        let time = found.time.saturating_add(self.carried).unwrap_or(found.time);
        let is_over = self.latest.is_some_and(|latest| latest.duration_since(time).as_secs() > back);
        let period = SignedDuration::from_secs(if is_over { period } else { 0 });
        self.carried += period;
        self.latest = Some(time.saturating_add(period).unwrap_or(time));
        self.latest
    }
}

/// The time of a copy in the raw data of collectl: `>>> 1502000000.001 <<<`.
fn collectl_time(line: &str, zone: &TimeZone) -> Option<Timestamp> {
    let found = find_time(line.strip_prefix(">>> ")?.split_once(" <<<")?.0, zone)?;
    (found.form == TimeForm::Epoch).then_some(found.time)
}

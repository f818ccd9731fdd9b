//! Episodes: seconds of one device with one cause.
//!
//! The second bad step of three begins one, which is dated back to the first; five good steps end it, or two of five seconds and
//! more. A step in which requests wait and take three times as long as before is not good yet. What the kernel states, and stalls,
//! last from their first second to their last.

use std::sync::Arc;

use super::device::{Device, Row};
use super::second_cause::SecondCause;
use crate::judge::{MIN_CONFIRMATIONS, PATIENCE_S, PATIENCE_STEPS, Verdict, VerdictTimes};

/// Good steps that end an episode, where a step is as long as the patience of the judge.
const LONG_GOOD_STEPS: usize = 2;
/// Bad steps further apart are no beginning.
const MAX_BEGIN_S: f64 = 60.0;
/// The fewest bad seconds in a rebuild that are an episode.
const MIN_SYNC_STEPS: usize = 3;
/// A latency of this multiple of that before is not good yet, while this many requests wait.
const STILL_UP: f64 = 3.0;
const STILL_UP_QUEUE: f64 = 0.5;
/// Before a stall, the device had work in so many of ten steps if it began with the last completion.
const MIN_WORK_STEPS: usize = 9;
const WORK_STEPS: usize = 10;
/// The most seconds whose words are kept one by one.
const MAX_KEPT: usize = 600;

#[derive(Clone, Debug)]
pub(super) struct Episode {
    /// Episodes are numbered in the order in which they are found.
    pub(super) id: u64,
    pub(super) device: Arc<str>,
    pub(super) cause: SecondCause,
    /// The bad seconds, by the seconds of the run at which they end.
    pub(super) bad: Vec<(f64, Verdict)>,
    /// The number and the times of earlier bad seconds, which are no longer in `bad`.
    pub(super) earlier_count: usize,
    pub(super) earlier: VerdictTimes,
    begin_s: Option<f64>,
    good_steps: usize,
    pub(super) is_open: bool,
    /// The latency of reads and writes before it.
    await_before_ms: [Option<f64>; 2],
}

impl Episode {
    pub(super) fn begin_s(&self) -> f64 {
        let first = self.bad.first().map_or(0.0, |(end_s, _)| *end_s);
        self.begin_s.unwrap_or(first)
    }

    pub(super) fn end_s(&self) -> f64 {
        self.bad.last().map_or(0.0, |(end_s, _)| *end_s)
    }

    pub(super) fn count(&self) -> usize {
        self.bad.len() + self.earlier_count
    }

    /// Returns whether it is more than an odd second.
    pub(super) fn is_certain(&self) -> bool {
        !matches!(self.cause, SecondCause::Sync(_)) || self.count() >= MIN_SYNC_STEPS
    }

    /// Adds bad seconds, which may lie before those that it has.
    pub(super) fn add(&mut self, end_s: f64, word: Verdict) {
        let at = self.bad.partition_point(|(other_s, _)| *other_s < end_s);
        match self.bad.get_mut(at) {
            Some((known_s, known)) if *known_s == end_s => *known = word,
            _ => self.bad.insert(at, (end_s, word)),
        }
        if self.bad.len() > MAX_KEPT {
            self.begin_s.get_or_insert(self.bad[0].0);
            let (_, word) = self.bad.remove(0);
            self.earlier_count += 1;
            self.earlier.add(Some(word), 1.0);
        }
    }
}

/// The episodes of all devices that go on, or may still be part of an incident.
#[derive(Clone, Debug, Default)]
pub(super) struct Episodes {
    pub(super) list: Vec<Episode>,
    count: u64,
    /// The end of the latest episode of each device and cause that is over: none begins before it.
    floors: Vec<(Arc<str>, SecondCause, f64)>,
}

impl Episodes {
    /// Takes the latest second of a device. `syncing` are the arrays that are being rebuilt, or were until lately.
    pub(super) fn observe(&mut self, device: &Device, syncing: &[Arc<str>]) {
        let Some(row) = device.rows.back() else {
            return;
        };
        let mut is_taken = false;
        for episode in &mut self.list {
            if episode.is_open && *episode.device == *device.names.device {
                is_taken |= episode.follow(device, row, syncing);
            }
        }
        self.close(&device.names.device);
        if let Some((word, cause)) = &row.class
            && !is_taken
        {
            self.begin(device, row.end_s, *word, cause);
        }
    }

    /// Notes where the closed episodes of a device end.
    fn close(&mut self, device: &str) {
        let closed = self.list.iter();
        for episode in closed.filter(|one| !one.is_open && *one.device == *device) {
            let known = self.floors.iter_mut();
            let mut known =
                known.filter(|(of, cause, _)| **of == *device && *cause == episode.cause);
            match known.next() {
                Some((_, _, floor_s)) => *floor_s = floor_s.max(episode.end_s()),
                None => {
                    let device = Arc::clone(&episode.device);
                    self.floors
                        .push((device, episode.cause.clone(), episode.end_s()));
                }
            }
        }
    }

    /// Begins an episode if the bad second of a device is one, or the second of three.
    fn begin(&mut self, device: &Device, end_s: f64, word: Verdict, cause: &SecondCause) {
        let mut bad = vec![(end_s, word)];
        if cause.is_of_load() {
            let floor_s = self.floor_s(&device.names.device, cause);
            let from = device.rows.len().saturating_sub(MIN_CONFIRMATIONS);
            let first = device.rows.range(from..).find(|row| {
                row.has(cause) && row.end_s > floor_s && end_s - row.end_s < MAX_BEGIN_S
            });
            let first_s = first.map_or(end_s, |row| row.end_s);
            let is_long = device
                .rows
                .back()
                .is_some_and(|row| row.seconds >= PATIENCE_S);
            if first_s == end_s && !is_long {
                return;
            }
            for row in device.rows_between(first_s, end_s) {
                bad.extend(row.word_for(cause).map(|word| (row.end_s, word)));
            }
        } else if matches!(cause, SecondCause::Stall | SecondCause::Suspended(_)) {
            bad.extend(seconds_since_last_completion(device, end_s));
        }
        if cause.is_stall()
            && let Some(row) = device.rows.back()
        {
            let late = device.rows_between(end_s - row.second.late_s, end_s);
            bad.extend(
                late.filter(|row| !row.is_bad())
                    .map(|row| (row.end_s, word)),
            );
        }
        let mut await_before_ms = [None; 2];
        for (index, before_ms) in await_before_ms.iter_mut().enumerate() {
            let mut values = Vec::new();
            for row in device.before(bad[bad.len() - 1].0.min(bad[0].0)) {
                values.extend(row.second.requests[index].await_ms.filter(|ms| *ms > 0.0));
            }
            *before_ms = super::cause::median(&mut values);
        }
        let episode = self.add(&device.names.device, cause);
        episode.await_before_ms = await_before_ms;
        for (end_s, word) in bad {
            episode.add(end_s, word);
        }
    }

    fn floor_s(&self, device: &str, cause: &SecondCause) -> f64 {
        for (of, one, floor_s) in &self.floors {
            if **of == *device && one == cause {
                return *floor_s;
            }
        }
        f64::NEG_INFINITY
    }

    /// Adds an episode without seconds.
    fn add(&mut self, device: &str, cause: &SecondCause) -> &mut Episode {
        self.count += 1;
        self.list.push(Episode {
            id: self.count,
            device: Arc::from(device),
            cause: cause.clone(),
            bad: Vec::new(),
            earlier_count: 0,
            earlier: VerdictTimes::default(),
            begin_s: None,
            good_steps: 0,
            is_open: true,
            await_before_ms: [None; 2],
        });
        let at = self.list.len() - 1;
        &mut self.list[at]
    }

    /// Gives seconds of a device another cause, which only several of them together show. An episode of which nothing is left
    /// has become that of the cause.
    pub(super) fn move_to(
        &mut self,
        device: &Device,
        cause: &SecondCause,
        word: Verdict,
        seconds_s: &[f64],
    ) {
        let Some(first_s) = seconds_s.first() else {
            return;
        };
        let name = &*device.names.device;
        let mut identity = None;
        for episode in &mut self.list {
            if *episode.device == *name && episode.cause != *cause {
                let count = episode.bad.len();
                episode.bad.retain(|(end_s, _)| !seconds_s.contains(end_s));
                if episode.bad.len() < count && episode.count() < 2 {
                    episode.bad.clear();
                    identity = identity.or(Some(episode.id));
                }
            }
        }
        self.list.retain(|episode| !episode.bad.is_empty());
        let gap_s = cause_gap_s(cause, device.step_s());
        let known = self.list.iter().position(|one| {
            *one.device == *name && one.cause == *cause && one.end_s() + gap_s >= *first_s
        });
        let at = match known {
            Some(at) => at,
            None => {
                self.add(name, cause);
                self.list.len() - 1
            }
        };
        let episode = &mut self.list[at];
        episode.is_open = true;
        if let Some(id) = identity.filter(|_| known.is_none()) {
            episode.id = id;
        }
        for end_s in seconds_s {
            episode.add(*end_s, word);
        }
    }

    /// Forgets episodes, and where earlier ones ended.
    pub(super) fn forget(&mut self, is_gone: impl Fn(&Episode) -> bool, before_s: f64) {
        self.list.retain(|episode| !is_gone(episode));
        self.floors.retain(|(_, _, floor_s)| *floor_s >= before_s);
    }

    /// Ends all episodes of a device, or of all devices.
    pub(super) fn interrupt(&mut self, device: Option<&str>) {
        for episode in &mut self.list {
            if device.is_none_or(|device| device == &*episode.device) {
                episode.is_open = false;
            }
        }
    }
}

impl Episode {
    /// Follows the device through its latest second. Returns whether its cause is the episode's, which then has it.
    fn follow(&mut self, device: &Device, row: &Row, syncing: &[Arc<str>]) -> bool {
        let word = row.word_for(&self.cause);
        if !self.cause.is_of_load() {
            let is_over = match &self.cause {
                SecondCause::Sync(array) => word.is_none() && !syncing.contains(array),
                cause => row.end_s - self.end_s() > cause_gap_s(cause, device.step_s()),
            };
            if is_over {
                self.is_open = false;
                return false;
            }
            if let Some(word) = word {
                self.add(row.end_s, word);
            }
            return word.is_some();
        }
        if let Some(word) = word {
            self.add(row.end_s, word);
            self.good_steps = 0;
        } else if row.is_stated() || !self.is_latency_still_up(row) {
            self.good_steps += 1;
        }
        let is_long = row.seconds >= PATIENCE_S;
        let most = if is_long {
            LONG_GOOD_STEPS
        } else {
            PATIENCE_STEPS
        };
        let mut earlier = device.rows.iter().rev().skip(1);
        let step_s = earlier.next().map_or(row.seconds, |before| before.seconds);
        let is_gap = row.seconds > PATIENCE_S.max(3.0 * step_s);
        if self.good_steps >= most || row.second.verdict == Verdict::Stalled || is_gap {
            self.is_open = false;
            self.drop_weak_end(device);
        }
        // A second without CPU belongs to its own cause, too.
        row.has(&self.cause)
    }

    /// An episode does not end with seconds in which only the CPU was missing.
    fn drop_weak_end(&mut self, device: &Device) {
        while let Some((end_s, _)) = self.bad.last()
            && self.bad.len() > 1
            && device.row(*end_s).is_some_and(|row| !row.has(&self.cause))
        {
            self.bad.pop();
        }
    }

    fn is_latency_still_up(&self, row: &Row) -> bool {
        row.second.queue >= STILL_UP_QUEUE
            && self
                .await_before_ms
                .iter()
                .zip(&row.second.requests)
                .any(|(before, now)| {
                    before.is_some_and(|ms| now.await_ms.unwrap_or(0.0) >= STILL_UP * ms)
                })
    }
}

impl Row {
    /// Returns whether the kernel states another cause for what is wrong.
    fn is_stated(&self) -> bool {
        self.class
            .as_ref()
            .is_some_and(|(_, cause)| cause.is_stated())
    }

    /// The word with which it is part of an episode of a cause; `None` if it is not. A second without CPU goes on with the queue
    /// that there was.
    fn word_for(&self, cause: &SecondCause) -> Option<Verdict> {
        let (word, own) = self.class.as_ref()?;
        let goes_on = *cause == SecondCause::Queue && *own == SecondCause::Cpu;
        (own == cause || goes_on).then_some(*word)
    }
}

/// The longest time between two bad seconds of a cause that is no load.
fn cause_gap_s(cause: &SecondCause, step_s: f64) -> f64 {
    let steps = match cause {
        SecondCause::Limit(_) => 5.6,
        SecondCause::Stall => 1.6,
        _ => 2.6,
    };
    step_s * steps
}

/// The seconds between the last completion and a stall that begins with this second, if the device always had work until then.
fn seconds_since_last_completion(device: &Device, end_s: f64) -> Vec<(f64, Verdict)> {
    let mut first = device.index_from(end_s);
    let is_empty = |row: &Row| row.second.iops == 0.0 && !row.is_bad();
    while first > 0 && is_empty(&device.rows[first - 1]) {
        first -= 1;
    }
    if first <= WORK_STEPS {
        return Vec::new();
    }
    let before = device.rows.range(first - WORK_STEPS..first);
    if before.filter(|row| row.second.iops > 0.0).count() < MIN_WORK_STEPS {
        return Vec::new();
    }
    let since = device.rows.range(first..device.index_from(end_s));
    since.map(|row| (row.end_s, Verdict::Stalled)).collect()
}

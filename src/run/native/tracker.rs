//! What is remembered of each device from one interval to the next.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use jiff::Timestamp;

use super::choose::{Chooser, Facts};
use super::feed::Feed;
use super::judging::Settler;
use super::leaves::Share;
use super::total::Total;
use crate::analysis::{Assessment, LiveVerdict, Verdict};
use crate::counters::Sample;
use crate::metrics::{DeviceMatch, IntervalStats, UtilCheck, in_flight};
use crate::report::native::{Judged, Line, State, Summary};
use crate::units::Interval;

/// Below this asked-for interval util is noise (formulas).
const SHORTEST_FOR_UTIL: Duration = Duration::from_millis(100);
/// The same for a measured interval, which may be a little shorter than the one asked for.
const SHORTEST_MEASURED: f64 = 0.09;

/// So many devices that went are remembered; of a stream of names that are always new, the others are forgotten.
const MOST_GONE: usize = 1000;

/// Devices, and what was seen of them.
pub(super) struct Tracker<'s> {
    settler: &'s Settler,
    pairs: DeviceMatch,
    facts: Vec<Facts>,
    order: Vec<usize>,
    memories: Vec<Memory>,
    /// What is remembered of devices that went, and what they were called, by the kernel's names.
    gone: BTreeMap<String, (String, Summary)>,
    knows_names: bool,
}

/// What was seen of one device.
#[derive(Clone, Debug, Default)]
struct Memory {
    history: UtilCheck,
    summary: Summary,
    /// Once it worked; most devices of a machine with many never do.
    judge: Option<Box<LiveVerdict>>,
}

/// What an interval shows.
pub(super) struct Shown<'a> {
    /// The lines, in order.
    pub(super) lines: Vec<Line<'a>>,
    /// What those that count in the total did together.
    pub(super) total: Option<State>,
}

impl<'s> Tracker<'s> {
    /// Nothing is known yet.
    pub(super) fn new(settler: &'s Settler) -> Self {
        Self {
            settler,
            pairs: DeviceMatch::Identical,
            facts: Vec::new(),
            order: Vec::new(),
            memories: Vec::new(),
            gone: BTreeMap::new(),
            knows_names: false,
        }
    }

    /// Takes note of the first sample after a break: there is nothing to compare it with.
    pub(super) fn begin(&mut self, feed: &mut Feed<'_>, chooser: &mut Chooser<'_>) {
        self.pair(feed);
        self.learn(feed, chooser);
        self.memories.iter_mut().for_each(Memory::interrupt);
    }

    /// Finds the devices of the sample before, and says which came and which went.
    pub(super) fn advance(&mut self, feed: &mut Feed<'_>, chooser: &mut Chooser<'_>) -> Vec<String> {
        let facts_before = if self.pair(feed) { std::mem::take(&mut self.facts) } else { Vec::new() };
        let changed = self.pairs != DeviceMatch::Identical;
        if changed || !self.knows_names || feed.stack_is_old() {
            self.learn(feed, chooser);
        }
        let mut news = if changed { self.news(feed, chooser, &facts_before) } else { Vec::new() };
        let passed_by = feed.passed_by().filter(|name| chooser.is_news_by_name(name));
        news.extend(passed_by.map(|name| format!("+ {name} came and vanished")));
        news
    }

    /// Whether the names changed; memories follow their devices.
    fn pair(&mut self, feed: &Feed<'_>) -> bool {
        let (older, newer) = (&feed.older.devices, &feed.newer.devices);
        self.pairs = feed.pairs();
        if self.pairs == DeviceMatch::Identical && self.memories.len() == newer.len() {
            return false;
        }
        let mut before = std::mem::take(&mut self.memories);
        before.resize(older.len(), Memory::default());
        let mut stayed = vec![false; older.len()];
        let earlier: Vec<Option<usize>> = (0..newer.len()).map(|at| self.pairs.previous_index(at)).collect();
        earlier.iter().flatten().for_each(|at| stayed[*at] = true);
        for (at, device) in older.iter().enumerate().filter(|(at, _)| !stayed[*at]) {
            let shown = self.facts.get(at).map_or(&device.name, |facts| &facts.shown);
            remember(&mut self.gone, &device.name, shown, before[at].summary);
        }
        let gone = &mut self.gone;
        let memory_of = |(at, earlier): (usize, &Option<usize>)| match earlier {
            Some(earlier) => std::mem::take(&mut before[*earlier]),
            // One that comes back goes on where it was.
            None => gone
                .remove(&newer[at].name)
                .map(|(_, summary)| summary)
                .map_or_else(Memory::default, |summary| Memory { summary, ..Memory::default() }),
        };
        self.memories = earlier.iter().enumerate().map(memory_of).collect();
        true
    }

    fn learn(&mut self, feed: &mut Feed<'_>, chooser: &mut Chooser<'_>) {
        let stack = feed.stack();
        let names = feed.names();
        (self.facts, self.order) = chooser.facts(feed.devices(), &stack, names.as_ref());
        self.knows_names = true;
    }

    fn news(&self, feed: &Feed<'_>, chooser: &Chooser<'_>, before: &[Facts]) -> Vec<String> {
        let (older, newer) = (&feed.older.devices, &feed.newer.devices);
        let mut stayed = vec![false; older.len()];
        (0..newer.len()).filter_map(|at| self.pairs.previous_index(at)).for_each(|at| stayed[at] = true);
        let gone = older.iter().zip(&stayed).filter(|(_, stayed)| !**stayed);
        let gone: HashSet<&str> = gone.map(|(device, _)| device.name.as_str()).collect();
        let mut news = Vec::new();
        let mut back = HashSet::new();
        let came = self.order.iter().copied().filter(|at| self.pairs.previous_index(*at).is_none());
        for at in came.filter(|at| chooser.is_news(&self.facts[*at])) {
            let (name, shown) = (newer[at].name.as_str(), &self.facts[at].shown);
            if gone.contains(name) {
                news.push(format!("- {shown} vanished and came back"));
                back.insert(name);
            } else {
                news.push(format!("+ {shown} came"));
            }
        }
        for ((device, facts), _) in older.iter().zip(before).zip(stayed).filter(|(_, stayed)| !stayed) {
            if chooser.is_news(facts) && !back.contains(device.name.as_str()) {
                news.push(format!("- {} vanished", facts.shown));
            }
        }
        news
    }

    /// The lines of the interval between the two samples of the feed.
    pub(super) fn shown<'a>(
        &'a mut self,
        feed: &'a Feed<'_>,
        chooser: &Chooser<'_>,
        interval: Interval,
        with_total: bool,
    ) -> Shown<'a> {
        let at = feed.newer.at.wall;
        let without_util = is_too_short_for_util(feed.every(), interval);
        let mut lines = Vec::new();
        let mut total = Total::NONE;
        for index in self.order.iter().copied() {
            let Some(earlier) = self.pairs.previous_index(index) else { continue };
            let (older, newer) = (&feed.older.devices[earlier], &feed.newer.devices[index]);
            let (facts, memory) = (&self.facts[index], &mut self.memories[index]);
            let is_counted = with_total && counts(facts, &feed.newer);
            let in_flight = (in_flight(&older.counters), in_flight(&newer.counters));
            // Most devices of a machine with many never work.
            if feed.stood_still(earlier, index)
                && !chooser.is_shown(facts, &newer.counters, None)
                && newer.counters.in_flight == 0
            {
                if !facts.accounting_off {
                    memory.idle(interval.seconds());
                }
                if is_counted && let Some(advance) = feed.advance(earlier, index, interval) {
                    total.add(&advance, in_flight);
                }
                continue;
            }
            let advance = feed.advance(earlier, index, interval);
            let mut figures =
                advance.map(|advance| IntervalStats::of(&advance, in_flight.0, in_flight.1, interval));
            if let Some(figures) = figures.as_mut().filter(|_| without_util) {
                (figures.util_pct, figures.util_bound_pct) = (None, None);
            }
            memory.history.see_in_flight(feed.most_in_flight(index));
            let judge = || LiveVerdict::new(&self.settler.settings(&newer.name));
            let state = memory.see(figures, facts.accounting_off, at, judge);
            let figures = if let State::Worked(judged) = &state { Some(&judged.figures) } else { None };
            match (advance, figures) {
                (Some(advance), Some(_)) if is_counted => total.add(&advance, in_flight),
                _ if is_counted => total.add_unknown(&state),
                _ => {}
            }
            if chooser.is_shown(facts, &newer.counters, figures)
                || matches!(state, State::Reset) && chooser.is_news(facts)
            {
                lines.push(Line {
                    device: &newer.name,
                    shown: &facts.shown,
                    mounts: facts.mounts.clone(),
                    state,
                });
            }
        }
        Shown { lines, total: total.state(interval) }
    }

    /// The summaries of the devices that were asked for, or all, in their order, those that went last.
    pub(super) fn summaries(&self, chooser: &Chooser<'_>) -> Vec<(String, Summary)> {
        let present = self.order.iter().filter_map(|at| {
            let facts = self.facts.get(*at).filter(|facts| chooser.is_news(facts))?;
            Some((facts.shown.clone(), self.memories.get(*at)?.summary))
        });
        let was_asked_for = |(name, (shown, _)): &(&String, &(String, Summary))| {
            chooser.is_news_by_name(name) || chooser.is_news_by_name(shown)
        };
        let gone = self.gone.iter().filter(was_asked_for).map(|(_, summary)| summary.clone());
        present.chain(gone).collect()
    }

    /// What is known of the devices of the last sample.
    pub(super) fn facts(&self) -> &[Facts] {
        &self.facts
    }
}

/// Keeps the summary of a device that went. One that did nothing only has its time, which matters should it come
/// back and work; it makes room for one that worked.
fn remember(gone: &mut BTreeMap<String, (String, Summary)>, name: &str, shown: &str, summary: Summary) {
    if gone.len() >= MOST_GONE && !summary.is_empty() {
        gone.retain(|_, (_, summary)| !summary.is_empty());
    }
    if gone.len() < MOST_GONE {
        gone.insert(name.to_owned(), (shown.to_owned(), summary));
    }
}

/// Whether a device counts in the total of an interval that ends with this sample.
fn counts(facts: &Facts, newer: &Sample) -> bool {
    match facts.share {
        Share::None => false,
        Share::Whole => true,
        Share::Unless(at) => newer.devices[at].counters.completed() == [0; 4],
    }
}

/// Whether util is left out: the interval asked for, or else measured, is too short.
fn is_too_short_for_util(asked_for: Option<Duration>, measured: Interval) -> bool {
    asked_for.is_some_and(|every| every < SHORTEST_FOR_UTIL) || measured.seconds() < SHORTEST_MEASURED
}

impl Memory {
    /// What comes next does not follow on what was seen.
    fn interrupt(&mut self) {
        self.history = UtilCheck::default();
        if let Some(judge) = &mut self.judge {
            judge.interrupt();
        }
    }

    /// Takes note of an interval in which nothing was done, at less cost than its figures.
    fn idle(&mut self, seconds: f64) {
        self.summary.idle(seconds);
        if let Some(judge) = &mut self.judge {
            judge.observe(&IntervalStats { seconds, ..IntervalStats::default() }, 0.0, None);
        }
    }

    /// Takes note of the figures of an interval, or that there are none.
    fn see(
        &mut self,
        figures: Option<IntervalStats>,
        accounting_off: bool,
        at: Option<Timestamp>,
        judge: impl FnOnce() -> LiveVerdict,
    ) -> State {
        let Some(figures) = figures else {
            self.interrupt();
            return State::Reset;
        };
        if accounting_off && figures.completed == 0 {
            return State::AccountingOff;
        }
        self.history.see(&figures);
        let stalled_s = self.history.stalled_s();
        self.summary.see(&figures, stalled_s, at);
        let judgement = match &mut self.judge {
            None if figures.is_idle() => Assessment { verdict: Some(Verdict::Idle), ..Assessment::default() },
            judge_of => judge_of.get_or_insert_with(|| Box::new(judge())).observe(&figures, stalled_s, None),
        };
        State::Worked(Box::new(Judged { figures, mark: self.history.mark(&figures), stalled_s, judgement }))
    }
}

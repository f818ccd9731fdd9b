//! Texts that replace a device's cells, and lines about devices that appear or disappear.

use super::columns::latency_figure;
use super::style::Emphasis;
use crate::analysis::MIN_STALL_S;
use crate::intervals::{DeviceActivity, DeviceEvent, DeviceState, EventKind};
use crate::report::layout::number_format::{duration, number, percent, time};

/// A text that replaces the cells.
pub(super) struct Message {
    /// The variants of the text, from the longest to the shortest; the first that fits is shown.
    pub(super) texts: Vec<String>,
    pub(super) emphasis: Emphasis,
}

impl Message {
    fn new<const N: usize>(texts: [&str; N], emphasis: Emphasis) -> Self {
        Self { texts: texts.map(str::to_owned).to_vec(), emphasis }
    }

    /// Returns the message of a device that shows no cells; `None` for one that shows them.
    pub(super) fn for_state(state: &DeviceState) -> Option<Self> {
        match state {
            DeviceState::Active(activity) => (activity.stalled_s > 0.0).then(|| Self::stall(activity)),
            DeviceState::Reset => {
                let long = "counters reset: no data for this interval";
                Some(Self::new([long, "counters reset"], Emphasis::Warning))
            }
            DeviceState::MemberReset => {
                let long = "counters of a device in the total reset: no data for this interval";
                Some(Self::new([long, "counters reset"], Emphasis::Warning))
            }
            DeviceState::AccountingOff(_) => {
                let long = "I/O accounting disabled (queue/iostats=0)";
                Some(Self::new([long, "accounting disabled"], Emphasis::Warning))
            }
            DeviceState::Event(kind) => Some(Self::new([kind_text(*kind)], Emphasis::Plain)),
        }
    }

    fn stall(activity: &DeviceActivity) -> Self {
        let is_stall = activity.stalled_s >= MIN_STALL_S;
        let (word, emphasis) =
            if is_stall { ("STALLED", Emphasis::Alert) } else { ("waiting", Emphasis::Plain) };
        let in_flight = activity.stats.in_flight.unwrap_or(0);
        let length = duration(activity.stalled_s);
        let texts = vec![
            format!("{word} for {length}: {in_flight} in flight, nothing completed"),
            format!("{word} {length}, {in_flight} in flight"),
            format!("{word} {length}"),
            format!("{word} {}", time(activity.stalled_s * 1e3)),
            word.to_owned(),
        ];
        Self { texts, emphasis }
    }

    /// Returns the message of a device that had only discards or flushes, if their columns are hidden.
    pub(super) fn for_hidden_activity(activity: &DeviceActivity) -> Self {
        let text = discards_and_flushes(activity);
        Self::new([&format!("no reads or writes; {text}"), &text, "no reads or writes"], Emphasis::Plain)
    }
}

pub(super) fn has_discards(activity: &DeviceActivity) -> bool {
    activity.stats.discards.ios > 0
}

pub(super) fn has_flushes(activity: &DeviceActivity) -> bool {
    activity.stats.flushes.ios > 0
}

/// Returns discards, flushes and util as a text.
fn discards_and_flushes(activity: &DeviceActivity) -> String {
    let stats = &activity.stats;
    let mut parts = Vec::new();
    let discards = &stats.discards;
    if has_discards(activity) {
        let rate = discards.per_s().map(number).unwrap_or_default();
        let data = discards.kib_per_s().map(|kib| number(kib / 1024.0)).unwrap_or_default();
        let mut text = format!("discards {rate}/s {data}MB/s ").into_bytes();
        latency_figure(discards).into_iter().for_each(|latency| latency.push(&mut text));
        parts.push(String::from_utf8(text).unwrap_or_default());
    }
    if let Some(rate) = stats.flushes.per_s().filter(|_| has_flushes(activity)) {
        let latency = stats.flushes.await_ms().map(time).unwrap_or_default();
        parts.push(format!("flushes {}/s {latency}", number(rate)));
    }
    parts.extend(stats.util_pct().map(|util| format!("util {}", percent(util))));
    parts.join(", ")
}

/// Returns the line of a device that appeared or disappeared.
pub(crate) fn event_text(event: &DeviceEvent) -> String {
    let sign = match event.kind {
        EventKind::Appeared | EventKind::AppearedBriefly => '+',
        EventKind::Disappeared | EventKind::Reappeared => '-',
    };
    format!("{sign} {} {}", event.names.label, kind_text(event.kind))
}

fn kind_text(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Appeared => "appeared",
        EventKind::Disappeared => "disappeared",
        EventKind::Reappeared => "disappeared and reappeared",
        EventKind::AppearedBriefly => "appeared briefly",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Interval;

    #[test]
    fn a_stall_has_a_text_for_every_width() {
        let stats = Interval { in_flight: Some(12), ..Interval::default() };
        let stalled = DeviceActivity { stats, stalled_s: 200.0, ..DeviceActivity::default() };
        let message = Message::for_state(&DeviceState::Active(Box::new(stalled))).unwrap();
        let expected = [
            "STALLED for 3 min 20 s: 12 in flight, nothing completed",
            "STALLED 3 min 20 s, 12 in flight",
            "STALLED 3 min 20 s",
            "STALLED 200s",
            "STALLED",
        ];
        assert_eq!(message.texts, expected);
    }
}

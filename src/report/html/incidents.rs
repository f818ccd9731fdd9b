//! The incidents, the worst first: groups of events with one cause, placed on the axis of time.

use super::time_axis::TimeAxis;
use crate::intervals::{Event, History, Incident};
use crate::report::analysis::{AnalysisReport, incidents_worst_first};

/// An event with its place in the charts.
pub(super) struct PlacedEvent<'a> {
    pub(super) event: &'a Event,
    /// Its beginning on the axis of time, possibly before the time that the page shows.
    pub(super) begin_s: f64,
    pub(super) end_s: f64,
}

impl<'a> PlacedEvent<'a> {
    fn new(event: &'a Event, history: &History) -> Self {
        let begin_s = history.clock.axis_s(event.begin.run_s);
        let end_s = history.clock.axis_end_s(event.end.run_s);
        Self { event, begin_s, end_s: end_s.max(begin_s) }
    }

    /// Returns whether it began before the time that the page shows.
    pub(super) fn is_cut(&self, axis: &TimeAxis) -> bool {
        /// More than the rounding error of a time, less than any interval.
        const TOLERANCE_S: f64 = 1e-3;
        self.begin_s < axis.span().start_s - TOLERANCE_S
    }
}

pub(super) struct PlacedIncident<'a> {
    /// The event that leads it.
    pub(super) main: PlacedEvent<'a>,
    /// The others, in the order of time.
    pub(super) others: Vec<PlacedEvent<'a>>,
}

impl<'a> PlacedIncident<'a> {
    fn new(incident: &Incident, events: &'a [Event], history: &History) -> Self {
        let place = |index: usize| PlacedEvent::new(&events[index], history);
        Self { main: place(incident.lead), others: incident.others.iter().copied().map(place).collect() }
    }

    /// Its events, the main one first.
    pub(super) fn events(&self) -> impl Iterator<Item = &PlacedEvent<'a>> {
        std::iter::once(&self.main).chain(&self.others)
    }
}

/// Returns the incidents, the worst first.
pub(super) fn place_incidents<'a>(
    analysis: &AnalysisReport<'a>,
    history: &History,
) -> Vec<PlacedIncident<'a>> {
    let events: &'a [Event] = &analysis.events.list;
    let placed = |incident: &Incident| PlacedIncident::new(incident, events, history);
    incidents_worst_first(analysis).into_iter().map(placed).collect()
}

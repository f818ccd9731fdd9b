//! The incidents: events on the axis of time, those with one cause together, the main trouble first.

use super::time_axis::TimeAxis;
use crate::analysis::Verdict;
use crate::intervals::{Event, History, Incident};
use crate::report::analysis::AnalysisReport;

/// An event leads its incident although another one was chosen by its place in the tree of devices, if its trouble is greater
/// by this factor.
const MUCH_GREATER: f64 = 1.25;

/// An event with its place in the charts.
pub(super) struct PlacedEvent<'a> {
    /// The event.
    pub(super) event: &'a Event,
    /// Its beginning on the axis of time, maybe before the time that the page shows.
    pub(super) begin_s: f64,
    /// Its end.
    pub(super) end_s: f64,
}

impl<'a> PlacedEvent<'a> {
    fn new(event: &'a Event, history: &History) -> Self {
        let begin_s = history.clock().axis_s(event.begin.run_s);
        let end_s = history.clock().axis_end_s(event.end.run_s);
        Self { event, begin_s, end_s: end_s.max(begin_s) }
    }

    /// Returns whether it began before the time that the page shows.
    pub(super) fn is_cut(&self, axis: &TimeAxis) -> bool {
        /// More than the rounding error of a time, less than any interval.
        const TOLERANCE_S: f64 = 1e-3;
        self.begin_s < axis.span().start_s - TOLERANCE_S
    }
}

/// The events of one incident.
pub(super) struct PlacedIncident<'a> {
    /// The event with the greatest trouble.
    pub(super) main: PlacedEvent<'a>,
    /// The others, in the order of time.
    pub(super) others: Vec<PlacedEvent<'a>>,
}

impl<'a> PlacedIncident<'a> {
    fn new(incident: &Incident, events: &'a [Event], history: &History) -> Self {
        let lead = incident.lead;
        let much = MUCH_GREATER * trouble(&events[lead]);
        let greatest = incident.others.iter().copied().filter(|other| trouble(&events[*other]) > much);
        let main =
            greatest.max_by(|a, b| trouble(&events[*a]).total_cmp(&trouble(&events[*b]))).unwrap_or(lead);
        let mut others: Vec<usize> =
            incident.others.iter().copied().chain([lead]).filter(|index| *index != main).collect();
        others.sort_unstable();
        let place = |index: usize| PlacedEvent::new(&events[index], history);
        Self { main: place(main), others: others.into_iter().map(place).collect() }
    }

    /// Its events, the main one first.
    pub(super) fn events(&self) -> impl Iterator<Item = &PlacedEvent<'a>> {
        std::iter::once(&self.main).chain(&self.others)
    }
}

/// Returns the incidents, that with the greatest trouble first.
pub(super) fn place_incidents<'a>(
    analysis: &AnalysisReport<'a>,
    history: &History,
) -> Vec<PlacedIncident<'a>> {
    let events: &'a [Event] = &analysis.events.list;
    let placed = analysis.incidents.iter().map(|incident| PlacedIncident::new(incident, events, history));
    let mut incidents: Vec<PlacedIncident<'a>> = placed.collect();
    incidents.sort_by(|a, b| {
        let (a, b) = (a.main.event, b.main.event);
        trouble(b).total_cmp(&trouble(a)).then(a.worst_first(b))
    });
    incidents
}

/// The trouble of an event: its seconds, weighted by the severity of its verdict. A stall of a second
/// matters less than half a minute at a limit, and one of half a minute more.
fn trouble(event: &Event) -> f64 {
    let known_s: f64 = event.course.iter().map(|one| one.duration_s).sum();
    let weighted_s: f64 = event.course.iter().map(|one| one.duration_s * weight(one.verdict)).sum();
    weighted_s + (event.duration_s - known_s).max(0.0) * weight(Verdict::Queueing)
}

/// The weight of a second with a verdict. During a stall nothing completes; at a limit or saturated, requests take several
/// times longer than unloaded; a slow device, or one that is queueing, still serves its load.
fn weight(verdict: Verdict) -> f64 {
    match verdict {
        Verdict::Stalled => 8.0,
        Verdict::Throttled | Verdict::Capped => 4.0,
        Verdict::Saturated => 3.0,
        Verdict::Slow => 2.0,
        Verdict::Queueing | Verdict::AccountingOff | Verdict::Ok | Verdict::Idle => 1.0,
    }
}

//! The result of an analysis: as text for people, as JSON, and as a fio job file. Here are the sentences that its text and its
//! page share, the order of incidents and devices, and times of day.

mod fio;
mod json;
mod text;

use std::cmp::Reverse;
use std::collections::HashMap;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

pub use self::fio::fio_job;
pub use self::json::json;
pub use self::text::text;
pub(super) use self::text::verdict_sentence;
use crate::incidents::{HostFact, Moment, Told};
use crate::intervals::{History, IncidentReport, IncidentTotal, RunClock};
use crate::judge::IoDirection::{Both, Reads, Writes};
use crate::judge::{
    CapacityReport, DeviceReport, DirectionReport, HostReport, IoDirection, LOW_AVAILABLE_CPU_PCT,
    LOW_IO_PRESSURE_PCT, LayerLink, MIN_NOTICED_PCT, MeanMinMax, OtherCause, PlateauInRun,
    QueueByLayer, Verdict, WaitLocation, not_the_disk,
};
use crate::report::evidence::{
    hidden_io_wait_causes, incident_sentence, knee_text, limit_suffix, plateau_evidence,
    plateau_rate,
};
use crate::report::layout::format_time;
use crate::report::layout::sentence_numbers::{
    duration, mib, multiple, named, number, per_second, percent, queue,
};
use crate::sanitize::sanitize;
use crate::topology::Topology;

/// Everything that the text, the document and the page show.
pub struct AnalysisReport {
    /// The devices, in the order in which they are shown.
    pub devices: Vec<DeviceReport>,
    /// The queue at each layer; `None` if no two devices are stacked.
    pub queue_by_layer: Option<QueueByLayer>,
    /// The devices of the host as far as they are known, including its swap devices.
    pub topology: Topology,
    /// True if other devices of the host were left out, so that nothing is known about them.
    pub is_selection: bool,
    /// The host over the same time.
    pub host: HostReport,
    pub incidents: IncidentReport,
    pub history: History,
    /// The time zone of printed times.
    pub time_zone: TimeZone,
    /// True if the text has all details of each device.
    pub has_details: bool,
    /// True if the terminal shows more than ASCII.
    pub is_unicode: bool,
}

/// Formats the moments of a run: as times of day, or as seconds from the start if there is no wall clock. Times have
/// their date unless the run has only one, and their offset from UTC if that changes during the run.
struct Times<'a> {
    clock: &'a RunClock,
    zone: &'a TimeZone,
    /// The only date of the run; `None` if it spans several.
    only_date: Option<Date>,
    has_offsets: bool,
}

impl<'a> Times<'a> {
    fn new(clock: &'a RunClock, zone: &'a TimeZone) -> Self {
        let (mut only_date, mut has_offsets) = (None, false);
        if let Some((first, last)) = clock.range() {
            let [begin, end] = [first, last].map(|at| at.to_zoned(zone.clone()));
            if begin.date() == end.date() {
                only_date = Some(begin.date());
            }
            has_offsets = begin.offset() != end.offset();
        }
        Self {
            clock,
            zone,
            only_date,
            has_offsets,
        }
    }

    /// A moment: `16:04:47`, `2026-11-20 16:04:47` or `12.5 s`.
    fn moment(&self, moment: Moment) -> String {
        match moment.at {
            Some(at) if self.only_date == Some(date(at, self.zone)) => self.time_of_day(at),
            Some(at) => self.with_date(at),
            None => format!("{} s", number(moment.run_s)),
        }
    }

    /// The moment after some seconds of intervals.
    fn after(&self, run_s: f64) -> String {
        self.moment(self.clock.moment(run_s))
    }

    /// Two moments. The date is repeated only if it differs.
    fn both(&self, begin: Moment, end: Moment) -> [String; 2] {
        let end = match begin.at.zip(end.at) {
            Some((begin, end)) if date(begin, self.zone) == date(end, self.zone) => {
                self.time_of_day(end)
            }
            Some((_, end)) => self.with_date(end),
            None => self.moment(end),
        };
        [self.moment(begin), end]
    }

    /// The time of the whole run with its date and zone: `2026-11-20 16:04:14-16:06:00 UTC`; the unit without a clock.
    fn run(&self) -> String {
        let Some((begin, end)) = self.clock.range() else {
            return "no timestamps: times are seconds from the start".to_owned();
        };
        let with_date = Self {
            only_date: None,
            ..*self
        };
        let [first, last] = [begin, end].map(|at| Moment {
            at: Some(at),
            run_s: 0.0,
        });
        let range = with_date.both(first, last).join("-");
        if self.has_offsets {
            return range;
        }
        let zone = format_time(end, self.zone, "%Z");
        format!("{range} {zone}")
    }

    fn with_date(&self, at: Timestamp) -> String {
        format!("{} {}", date(at, self.zone), self.time_of_day(at))
    }

    fn time_of_day(&self, at: Timestamp) -> String {
        let format = if self.has_offsets {
            "%H:%M:%S%:z"
        } else {
            "%H:%M:%S"
        };
        format_time(at, self.zone, format)
    }
}

fn date(at: Timestamp, zone: &TimeZone) -> Date {
    at.to_zoned(zone.clone()).date()
}

/// Relative difference within which two maximum rates count as the same.
const SAME_MAX_TOLERANCE: f64 = 0.01;

/// The capacity of both directions together, the capacity of each if it differs, and every plateau. Empty for a device
/// without requests.
pub(super) fn capacity_sentences(whole: &AnalysisReport, report: &DeviceReport) -> Vec<String> {
    let capacity = &report.capacity;
    let mut sentences = Vec::new();
    match (report.read.has_requests(), report.write.has_requests()) {
        (false, false) => {}
        (true, false) => sentences.extend(capacity_sentence("Reads", Reads, capacity)),
        (false, true) => sentences.extend(capacity_sentence("Writes", Writes, capacity)),
        (true, true) => {
            sentences.extend(both_directions(capacity, &report.all));
            let alone = &report.capacity_by_direction;
            for (title, direction, one) in [
                ("Reads with hardly any writes", Reads, &alone.read),
                ("Writes with hardly any reads", Writes, &alone.write),
            ] {
                if let Some(one) = one
                    && differs(one, capacity)
                {
                    sentences.extend(capacity_sentence(title, direction, one));
                }
            }
        }
    }
    let times = Times::new(&whole.history.clock, &whole.time_zone);
    for plateau in &report.plateaus {
        sentences.push(plateau_sentence(plateau, &times));
    }
    sentences
}

/// The capacity of both directions together, unless the cap is on one of them.
fn both_directions(capacity: &CapacityReport, all: &DirectionReport) -> Option<String> {
    let title = "Reads and writes together";
    match capacity.capped {
        None | Some(Both) => capacity_sentence(title, Both, capacity),
        Some(direction) => Some(format!(
            "{title}: highest rate seen {}; the {} among them are capped.",
            per_second(all.iops.max?, "requests"),
            direction.noun()
        )),
    }
}

/// Returns whether the capacity of one direction differs from that of both together.
fn differs(one: &CapacityReport, both: &CapacityReport) -> bool {
    match (one.max_iops, both.max_iops) {
        _ if one.is_max_known != both.is_max_known => true,
        (Some(one), Some(both)) => (one - both).abs() > SAME_MAX_TOLERANCE * both,
        _ => true,
    }
}

fn capacity_sentence(
    title: &str,
    direction: IoDirection,
    capacity: &CapacityReport,
) -> Option<String> {
    let max = per_second(capacity.max_iops?, direction.noun());
    let mib = match capacity.max_mib_per_s {
        Some(mib) => format!(", {} MiB/s", number(mib)),
        None => String::new(),
    };
    if !capacity.is_max_known {
        let reason = match capacity.is_offered_rate {
            true => " Requests arrived at that rate; the device may do more.",
            false => "",
        };
        return Some(format!(
            "{title}: maximum not known; highest rate held {max}{mib}.{reason}"
        ));
    }
    let knee = match capacity.knee_high {
        Some(high) => knee_text(capacity.knee_low, high),
        None => "a constant rate".to_owned(),
    };
    Some(format!("{title}: maximum {max}{mib}, {knee}."))
}

fn plateau_sentence(one: &PlateauInRun, times: &Times<'_>) -> String {
    let plateau = &one.plateau;
    format!(
        "{}{}, from {} on, {} in total: {}.",
        plateau_rate(plateau),
        limit_suffix(plateau),
        times.after(one.begin_s),
        duration(one.seconds),
        plateau_evidence(plateau)
    )
}

/// The hints about a device, each as a sentence. Its explanation already shows that it is not saturated.
pub(super) fn cause_sentences(report: &DeviceReport) -> Vec<String> {
    report
        .other_cause
        .iter()
        .map(|cause| cause_sentence(&report.device, cause))
        .collect()
}

fn cause_sentence(device: &str, cause: &OtherCause) -> String {
    match *cause {
        OtherCause::OneAtATime { queue } => format!(
            "{} is not overloaded, but what uses it waits for it {} of the time, one request at a time: lower \
             latency, or more requests at once, would help.",
            sanitize(device),
            percent(100.0 * queue.min(1.0))
        ),
        OtherCause::BackgroundWrites {
            p95_saturation,
            some_pct,
            max_writeback_kib,
        } => format!(
            "Write latency was up to {} unloaded, but hardly any task waited for I/O ({} of the time, without \
             asynchronous I/O): memory is written back in the background, up to {} at once.",
            multiple(p95_saturation),
            percent(some_pct),
            mib(max_writeback_kib)
        ),
    }
}

/// The queues of a link and where the requests wait, as a sentence without a period.
pub(super) fn link_text(link: &LayerLink) -> String {
    let below = link.below.join(", ");
    let location = match link.waiting {
        WaitLocation::Nowhere => "hardly any request waits".to_owned(),
        WaitLocation::Between => format!("requests are held between {} and {below}", link.above),
        WaitLocation::Below => format!(
            "requests wait at {} or below",
            link.longest_below.join(", ")
        ),
    };
    let (above_queue, below_queue) = (queue(link.queue_above), queue(link.queue_below));
    format!(
        "mean queue {above_queue} at {}, {below_queue} at {below}: {location}",
        link.above
    )
}

/// The most incidents that are listed without `--details`.
const MAX_LISTED: usize = 20;

/// The most devices of an incident that are named besides the victim.
const MAX_OTHERS: usize = 4;

/// Appends the incidents in the order of time, if there are several, and the number of those not listed.
fn push_incidents(report: &AnalysisReport, times: &Times<'_>, out: &mut Vec<u8>) {
    let incidents = &report.incidents.list;
    if incidents.len() < 2 {
        return;
    }
    let mut listed = report.incidents.worst_first();
    if !report.has_details {
        listed.truncate(MAX_LISTED);
    }
    let mut lines = vec!["\nIncidents".to_owned()];
    for told in incidents {
        if listed.iter().any(|one| std::ptr::eq(*one, told)) {
            lines.push(incident_line(told, times));
        }
    }
    let milder = incidents.len() - listed.len();
    if milder > 0 {
        lines.push(format!(
            "+ {milder} milder or shorter ones (--details lists all)"
        ));
    }
    if report.incidents.dropped > 0 {
        let dropped = report.incidents.dropped;
        lines.push(format!("+ {dropped} incidents were too many to keep"));
    }
    lines.push(String::new());
    out.extend_from_slice(lines.join("\n").as_bytes());
}

/// An incident as in all views, with the other devices in trouble: `...; also vda, sda1`.
fn incident_line(told: &Told, times: &Times<'_>) -> String {
    let sentence = incident_sentence(told, &times.both(told.begin, told.end));
    let others: Vec<String> = told.devices[1..]
        .iter()
        .map(|one| sanitize(&one.names.label).into_owned())
        .collect();
    if others.is_empty() {
        sentence
    } else {
        format!("{sentence}; also {}", named(&others, MAX_OTHERS, ", "))
    }
}

/// What happened to the host, whatever the disks did: gaps, clock steps, no CPU, swapping, and cgroups that were read seldom.
pub(super) fn host_fact_sentences(report: &AnalysisReport) -> Vec<String> {
    let times = Times::new(&report.history.clock, &report.time_zone);
    let mut sentences = Vec::new();
    for fact in &report.incidents.facts {
        sentences.push(match fact {
            HostFact::Gap { seconds, until } => format!(
                "No samples for {} until {}: the host or blkstat stood still.",
                duration(*seconds),
                times.moment(*until)
            ),
            HostFact::ClockStep { seconds, at } => format!(
                "At {} the clock went {} by {}.",
                times.time_of_day(*at),
                if *seconds > 0.0 { "forward" } else { "back" },
                duration(seconds.abs())
            ),
            HostFact::NoCpu { seconds, of_s } => format!(
                "No CPU was available in {} of {}.",
                duration(*seconds),
                duration(*of_s)
            ),
            HostFact::Swapping { pages_per_s } => {
                format!("The host swapped {} pages/s.", number(*pages_per_s))
            }
            HostFact::SeldomRead { scans, steps } => {
                format!("Cgroups and processes were read in {scans} of {steps} samples only.")
            }
        });
    }
    sentences
}

/// The devices, the worst first: those of the worst incident, the victim before the others, then those of the next
/// incident; then those without an incident, by verdict, and by latency if they are not ok.
pub(super) fn devices_worst_first(report: &AnalysisReport) -> Vec<&DeviceReport> {
    let mut in_trouble: HashMap<&str, usize> = HashMap::new();
    for told in report.incidents.worst_first() {
        for one in &told.devices {
            let place = in_trouble.len();
            in_trouble.entry(&one.names.device).or_insert(place);
        }
    }
    let mut keyed = Vec::new();
    for device in &report.devices {
        let incident = in_trouble.get(device.device.as_str()).copied();
        // Devices that are ok keep their order.
        let is_well = matches!(device.verdict, Some(Verdict::Idle | Verdict::Ok));
        let latency = device.all.await_ms.max.filter(|_| !is_well).unwrap_or(0.0);
        let place = (incident.unwrap_or(usize::MAX), Reverse(device.verdict));
        keyed.push((place, latency, device));
    }
    keyed.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    keyed.into_iter().map(|(.., device)| device).collect()
}

/// The worst word of a device's incidents: `capped`; `worst stalled` if there are several.
pub(super) fn worst_incident_text(total: IncidentTotal) -> String {
    let several = if total.count > 1 { "worst " } else { "" };
    format!("{several}{}", total.worst.name())
}

/// The most departures that are listed without `--details`.
const MAX_DEPARTURES: usize = 5;

/// `sda disappeared at 14:01:27 and was back at 14:02:03.`
pub(super) fn departure_sentences(report: &AnalysisReport) -> Vec<String> {
    let times = Times::new(&report.history.clock, &report.time_zone);
    let departures = &report.incidents.departures;
    let listed = match report.has_details {
        true => departures.len(),
        false => MAX_DEPARTURES.min(departures.len()),
    };
    let mut sentences = Vec::new();
    for departure in &departures[..listed] {
        let (device, at) = (sanitize(&departure.device), times.moment(departure.at));
        let back = match departure.back_at {
            Some(at) => format!(" and was back at {}", times.moment(at)),
            None => String::new(),
        };
        sentences.push(format!("{device} disappeared at {at}{back}."));
    }
    let more = departures.len() - listed;
    if more > 0 {
        sentences.push(format!(
            "{more} more times, a disk disappeared (--details lists all)."
        ));
    }
    sentences
}

/// The sentences under "Not the disk"; `None` if a device may be the bottleneck or was for a time, if a disk disappeared,
/// or if only some devices were analyzed and these did nothing.
pub(super) fn not_the_disk_sentences(report: &AnalysisReport) -> Option<Vec<String>> {
    if !report.incidents.list.is_empty() || !report.incidents.departures.is_empty() {
        return None;
    }
    let found = not_the_disk(&report.devices, &report.host)?;
    let devices = match found.busy.as_slice() {
        [] if report.is_selection => return None,
        [] => (!report.devices.is_empty()).then(|| "No device did any I/O.".to_owned()),
        busy => Some(format!(
            "No one waited long for {}: {} in flight on average.",
            busy.join(", "),
            match queue(found.longest_queue).as_str() {
                "0.00" => "less than 0.01 requests".to_owned(),
                length => format!("{length} requests or less"),
            }
        )),
    };
    let host = &report.host;
    let sentences = [
        devices,
        cpu_sentence(host),
        io_pressure_sentence(host),
        dirty_memory_sentence(host),
    ];
    Some(sentences.into_iter().flatten().collect())
        .filter(|sentences: &Vec<_>| !sentences.is_empty())
}

/// The sentences under "Host", whatever the verdicts on the devices: no CPU, long waits for I/O, or those that no device shows, a
/// shortage of memory, and swapping.
pub(super) fn host_sentences(report: &AnalysisReport) -> Vec<String> {
    let host = &report.host;
    let mut sentences = Vec::new();
    if let Some(seconds) = host.long_no_cpu_s() {
        sentences.push(format!(
            "Hardly any CPU was available for {}: programs waited for it, whatever the disks did.",
            duration(seconds)
        ));
    }
    if let Some(sentence) = hidden_wait_sentence(host) {
        sentences.push(sentence);
    } else if host.long_io_wait_pct().is_some() {
        sentences.extend(io_pressure_sentence(host));
    }
    if let Some(some_pct) = host.memory_shortage_pct() {
        sentences.push(format!(
            "Memory is short: at least one task waited for memory {} of the time{}. Reclaiming memory and \
             reading it back causes I/O of its own.",
            percent(some_pct),
            all_tasks(&host.memory_pressure_full_pct)
        ));
    }
    let mut swaps = Vec::new();
    for node in report.topology.nodes() {
        if node.is_swap() {
            swaps.push(node.name.as_str());
        }
    }
    if let Some((read, written)) = host.swapped_pages_per_s() {
        let names = match swaps.is_empty() {
            true => String::new(),
            false => format!(" (swap: {})", swaps.join(", ")),
        };
        sentences.push(format!(
            "The host swapped in {} pages/s and swapped out {} pages/s on average{names}.",
            number(read),
            number(written)
        ));
    }
    for device in &report.devices {
        let [read, write] =
            [&device.read, &device.write].map(|one| one.mib_per_s.mean.unwrap_or(0.0));
        if swaps.contains(&device.device.as_str()) && read + write > 0.0 {
            sentences.push(format!(
                "{} is swap: its average {} MiB/s of reads and {} MiB/s of writes are swapping, not file I/O.",
                device.device,
                number(read),
                number(write)
            ));
        }
    }
    sentences
}

fn cpu_sentence(host: &HostReport) -> Option<String> {
    let available_pct = host.cpu_available_pct.mean?;
    let steal = match host.cpu_steal_pct.mean {
        Some(steal) if steal >= MIN_NOTICED_PCT => format!(", steal {}", percent(steal)),
        _ => String::new(),
    };
    let cpu = format!(
        "{} CPU available (user {}, system {}{steal})",
        percent(available_pct),
        percent(host.cpu_user_pct.mean?),
        percent(host.cpu_system_pct.mean?)
    );
    Some(if available_pct < LOW_AVAILABLE_CPU_PCT {
        format!("Only {cpu}: CPU may be the bottleneck.")
    } else {
        format!("{cpu}.")
    })
}

fn io_pressure_sentence(host: &HostReport) -> Option<String> {
    let some_pct = host.io_pressure_some_pct.mean?;
    let some = percent(some_pct);
    Some(if some_pct < LOW_IO_PRESSURE_PCT {
        format!(
            "Tasks hardly waited for I/O: at least one waited {some} of the time. Asynchronous I/O (io_uring, libaio) does \
             not count, so this does not prove that no one waited."
        )
    } else {
        let all = all_tasks(&host.io_pressure_full_pct);
        format!("At least one task waited for I/O {some} of the time{all}.")
    })
}

fn hidden_wait_sentence(host: &HostReport) -> Option<String> {
    Some(format!(
        "Tasks waited for I/O that no device shows: at least one waited {} of the time, and for {} of the time or \
         more, one did while no device seen had a request in flight. {}: {}.",
        percent(host.io_pressure_some_pct.mean?),
        percent(host.long_hidden_wait_pct()?),
        if host.nfs_waits.is_empty() {
            "Possible causes"
        } else {
            "At worst"
        },
        hidden_io_wait_causes(&host.nfs_waits)
    ))
}

fn dirty_memory_sentence(host: &HostReport) -> Option<String> {
    let dirty = used_memory(&host.dirty_kib)?;
    let writeback = match used_memory(&host.writeback_kib) {
        Some(used) => format!("; under writeback: {used}"),
        None => String::new(),
    };
    Some(format!("Dirty memory: {dirty}{writeback}."))
}

/// The mean and the maximum of an amount of memory; `None` if there was never any.
fn used_memory(kib: &MeanMinMax) -> Option<String> {
    let (mean, max) = (kib.mean?, kib.max?);
    if max <= 0.0 {
        return None;
    }
    Some(format!("{} on average, {} at most", mib(mean), mib(max)))
}

/// The percentage of the time in which all tasks waited, as the end of a clause; empty if it is unknown.
fn all_tasks(full_pct: &MeanMinMax) -> String {
    match full_pct.mean {
        Some(full) => format!(", all of them {}", percent(full)),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A report of these devices only.
    pub(in crate::report::analysis) fn report_of(devices: &[DeviceReport]) -> AnalysisReport {
        AnalysisReport {
            devices: devices.to_vec(),
            queue_by_layer: None,
            topology: Topology::default(),
            is_selection: false,
            host: HostReport::default(),
            incidents: IncidentReport::default(),
            history: History::default(),
            time_zone: TimeZone::UTC,
            has_details: true,
            is_unicode: false,
        }
    }
}

#[cfg(test)]
mod capacity_tests {
    use super::*;
    use crate::report::analysis::tests::report_of;

    fn all(report: &DeviceReport) -> Vec<String> {
        capacity_sentences(&report_of(std::slice::from_ref(report)), report)
    }

    fn reads(capacity: &CapacityReport) -> Option<String> {
        capacity_sentence("Reads", IoDirection::Reads, capacity)
    }

    #[test]
    fn a_rate_is_not_called_a_maximum_unless_it_is_known() {
        let capacity = CapacityReport {
            max_iops: Some(21_000.4),
            ..CapacityReport::default()
        };
        assert_eq!(
            reads(&capacity).unwrap(),
            "Reads: maximum not known; highest rate held 21,000 reads/s."
        );
        let offered = CapacityReport {
            is_offered_rate: true,
            ..capacity
        };
        assert_eq!(
            reads(&offered).unwrap(),
            "Reads: maximum not known; highest rate held 21,000 reads/s. Requests arrived at that rate; the device may do \
             more."
        );
        assert_eq!(reads(&CapacityReport::default()), None);
    }

    #[test]
    fn a_maximum_has_the_queues_between_which_it_was_reached() {
        let capacity = CapacityReport {
            max_iops: Some(135_000.0),
            max_mib_per_s: Some(1969.0),
            is_max_known: true,
            knee_low: Some(16.0),
            knee_high: Some(64.0),
            ..CapacityReport::default()
        };
        assert_eq!(
            reads(&capacity).unwrap(),
            "Reads: maximum 135k reads/s, 1,969 MiB/s, reached between queue 16.0 and 64.0."
        );
        let all_at_maximum = CapacityReport {
            knee_low: None,
            ..capacity
        };
        assert!(
            reads(&all_at_maximum)
                .unwrap()
                .ends_with(", reached at queue 64.0 or less.")
        );
        let plateau = CapacityReport {
            knee_high: None,
            ..all_at_maximum
        };
        assert!(
            reads(&plateau)
                .unwrap()
                .ends_with("1,969 MiB/s, a constant rate.")
        );
    }

    #[test]
    fn a_direction_alone_is_named_where_it_differs() {
        let capacity = |max| CapacityReport {
            max_iops: Some(max),
            ..CapacityReport::default()
        };
        let mut report = DeviceReport {
            capacity: capacity(1000.0),
            ..DeviceReport::default()
        };
        assert!(all(&report).is_empty());
        (report.read.iops.max, report.write.iops.max) = (Some(1000.0), Some(800.0));
        report.capacity_by_direction.read = Some(capacity(999.0));
        report.capacity_by_direction.write = Some(capacity(800.0));
        let sentences = all(&report);
        assert_eq!(sentences.len(), 2);
        assert!(
            sentences[1].starts_with("Writes with hardly any reads: maximum not known"),
            "{sentences:?}"
        );
    }
}

#[cfg(test)]
mod other_causes_tests {
    use super::*;

    #[test]
    fn each_hint_is_a_sentence_with_its_numbers() {
        let causes = [
            (
                OtherCause::OneAtATime { queue: 0.96 },
                "sda is not overloaded, but what uses it waits for it 96% of the time, one request at a time: lower \
                 latency, or more requests at once, would help.",
            ),
            (
                OtherCause::BackgroundWrites {
                    p95_saturation: 8.0,
                    some_pct: 0.5,
                    max_writeback_kib: 2048.0,
                },
                "Write latency was up to 8.0x unloaded, but hardly any task waited for I/O (0.5% of the time, without \
                 asynchronous I/O): memory is written back in the background, up to 2.00 MiB at once.",
            ),
        ];
        for (cause, expected) in causes {
            assert_eq!(cause_sentence("sda", &cause), expected);
        }
    }
}

#[cfg(test)]
mod queue_by_layer_tests {
    use super::*;

    #[test]
    fn a_link_says_where_requests_wait() {
        let text = |waiting, queue_above, queue_below| {
            let [below, longest_below] = [vec!["sda".into(), "sdb".into()], vec!["sdb".into()]];
            link_text(&LayerLink {
                above: "md0".into(),
                below,
                queue_above,
                queue_below,
                longest_below,
                waiting,
            })
        };
        assert_eq!(
            text(WaitLocation::Between, 16.8, 0.37),
            "mean queue 16.8 at md0, 0.37 at sda, sdb: requests are held between md0 and sda, sdb"
        );
        assert!(
            text(WaitLocation::Below, 16.8, 16.0)
                .ends_with("16.0 at sda, sdb: requests wait at sdb or below")
        );
        assert!(text(WaitLocation::Nowhere, 0.2, 0.1).ends_with(": hardly any request waits"));
    }
}

#[cfg(test)]
mod order_tests {
    use super::tests::report_of;
    use super::*;

    #[test]
    fn devices_in_trouble_come_first_and_those_that_are_ok_keep_their_order() {
        let device = |name: &str, verdict, max_ms| {
            let mut report = DeviceReport {
                device: name.into(),
                verdict,
                ..DeviceReport::default()
            };
            report.all.await_ms.max = Some(max_ms);
            report
        };
        let devices = [
            device("sda", Some(Verdict::Ok), 1.0),
            device("sdb", Some(Verdict::Ok), 9.0),
            device("sdc", Some(Verdict::Busy), 1.0),
            device("sdd", Some(Verdict::Busy), 9.0),
            device("sde", Some(Verdict::Capped), 1.0),
            device("sdf", None, 1.0),
            device("sdg", Some(Verdict::Idle), 5.0),
        ];
        let report = report_of(&devices);
        let order = devices_worst_first(&report);
        let names: Vec<&str> = order
            .into_iter()
            .map(|device| device.device.as_str())
            .collect();
        assert_eq!(names, ["sde", "sdd", "sdc", "sda", "sdb", "sdg", "sdf"]);
    }
}

#[cfg(test)]
mod host_tests {
    use super::*;

    fn always(value: f64) -> MeanMinMax {
        let mut range = MeanMinMax::default();
        (range.mean, range.min, range.max) = (Some(value), Some(value), Some(value));
        range
    }

    #[test]
    fn the_host_is_described_as_far_as_it_is_known() {
        let host = HostReport {
            cpu_available_pct: always(4.0),
            cpu_user_pct: always(80.0),
            cpu_system_pct: always(10.0),
            cpu_steal_pct: always(6.0),
            io_pressure_some_pct: always(0.31),
            dirty_kib: always(12288.0),
            writeback_kib: always(0.0),
            ..HostReport::default()
        };
        let found = [
            cpu_sentence(&host),
            io_pressure_sentence(&host),
            dirty_memory_sentence(&host),
        ];
        let expected = [
            "Only 4.0% CPU available (user 80%, system 10%, steal 6.0%): CPU may be the bottleneck.",
            "Tasks hardly waited for I/O: at least one waited 0.3% of the time. Asynchronous I/O (io_uring, libaio) \
             does not count, so this does not prove that no one waited.",
            "Dirty memory: 12.0 MiB on average, 12.0 MiB at most.",
        ];
        assert_eq!(found.map(Option::unwrap), expected);
        assert_eq!(hidden_wait_sentence(&host), None);
        let waiting = HostReport {
            io_pressure_some_pct: always(35.0),
            io_pressure_full_pct: always(20.0),
            hidden_io_wait_pct: always(33.0),
            ..host
        };
        let all = "At least one task waited for I/O 35% of the time, all of them 20%.";
        assert_eq!(io_pressure_sentence(&waiting).unwrap(), all);
        let hidden = hidden_wait_sentence(&waiting).unwrap();
        assert!(
            hidden.contains("35% of the time, and for 33% of the time or more"),
            "{hidden}"
        );
    }
}

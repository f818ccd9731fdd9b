//! The disks that disappeared, in sentences.

use super::AnalysisReport;
use super::times::Times;
use crate::sanitize::sanitize;

/// The most departures that are listed without `--details`.
const MAX_LISTED: usize = 5;

/// `sda disappeared at 14:01:27 and was back at 14:02:03.`
pub(super) fn sentences(report: &AnalysisReport<'_>, times: &Times<'_>) -> Vec<String> {
    let departures = &report.events.departures;
    let listed = if report.has_details { departures.len() } else { MAX_LISTED.min(departures.len()) };
    let sentence = departures[..listed].iter().map(|departure| {
        let (device, at) = (sanitize(&departure.device), times.moment(departure.at));
        match departure.back_at {
            None => format!("{device} disappeared at {at}."),
            Some(back_at) if back_at == departure.at => {
                format!("{device} disappeared and was back at {at}.")
            }
            Some(back_at) => {
                format!("{device} disappeared at {at} and was back at {}.", times.moment(back_at))
            }
        }
    });
    let more = departures.len() - listed;
    let rest = (more > 0).then(|| format!("{more} more times, a disk disappeared (--details lists all)."));
    sentence.chain(rest).collect()
}

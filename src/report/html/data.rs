//! The data of a page as JSON, for values under the cursor and for saving as CSV.
//!
//! A series is a list of numbers: one for each point of time, null for a point without a value. Minimum and maximum are
//! left out if each point has a single value.

use super::escape::verdict_class;
use super::time_axis::TimeAxis;
use crate::intervals::series::{Extent, TimeSpan, WorstVerdict};
use crate::report::scale::without_zeros;
use crate::sanitize::json_string;

/// The number of digits of a single value, and below of the mean of several, and of their minimum and maximum.
const SINGLE_DIGITS: usize = 6;
const MEAN_DIGITS: usize = 4;
const EXTREME_DIGITS: usize = 3;

/// The series of a device, of its cgroups or of the host.
pub(super) struct Group<'a> {
    /// The name of the device; `host` for the host.
    pub(super) name: &'a str,
    /// The verdicts; empty for the host.
    pub(super) verdicts: &'a [WorstVerdict],
    /// The name and the values of each series.
    pub(super) series: Vec<(&'a str, &'a [Extent])>,
}

/// Appends the element with the data.
pub(super) fn push_data(axis: &TimeAxis<'_>, is_wall_clock: bool, groups: &[Group<'_>], out: &mut String) {
    let TimeSpan { start_s, end_s } = axis.span();
    let offsets = axis.utc_offsets().into_iter().map(|(at_s, offset)| format!("[{at_s:.0},{offset}]"));
    let times = |time: fn(&TimeSpan) -> f64| {
        let from_start = |point| without_zeros(&format!("{:.3}", time(point) - start_s));
        list(axis.timeline.points().iter().map(from_start))
    };
    let json = format!(
        "{{\"start\":{start_s:.3},\"end\":{end_s:.3},\"wall\":{is_wall_clock},\"offsets\":[{}],\"starts\":[{}],\
         \"ends\":[{}],\"groups\":[{}]}}",
        list(offsets),
        times(|point| point.start_s),
        times(|point| point.end_s),
        list(groups.iter().map(|group| format!("\n{}", group_json(group))))
    );
    // A name may contain the end of the element.
    let json = json.replace('<', "\\u003c");
    *out += &format!("<script type=\"application/json\" id=\"data\">{json}</script>");
}

/// Joins texts by commas.
fn list(texts: impl Iterator<Item = String>) -> String {
    texts.collect::<Vec<String>>().join(",")
}

fn group_json(group: &Group<'_>) -> String {
    let verdict = |verdict: &WorstVerdict| verdict.get().map_or("", verdict_class);
    // Runs of equal verdicts: `ok*120,capped*30`.
    let runs = group.verdicts.chunk_by(|a, b| verdict(a) == verdict(b));
    let runs = list(runs.map(|run| format!("{}*{}", run.first().map_or("", verdict), run.len())));
    let series = group.series.iter();
    let series = series.map(|(key, values)| format!("{}:{{{}}}", json_string(key), extents_json(values)));
    format!(
        "{{\"name\":{},\"verdicts\":\"{runs}\",\"series\":{{{}}}}}",
        json_string(group.name),
        list(series)
    )
}

fn extents_json(extents: &[Extent]) -> String {
    let of = |value: fn(&Extent) -> Option<f64>, digits| numbers(extents.iter().map(value), digits);
    if extents.iter().all(|extent| extent.min() == extent.max()) {
        return format!("\"mean\":[{}]", of(Extent::mean, SINGLE_DIGITS));
    }
    format!(
        "\"mean\":[{}],\"min\":[{}],\"max\":[{}]",
        of(Extent::mean, MEAN_DIGITS),
        of(Extent::min, EXTREME_DIGITS),
        of(Extent::max, EXTREME_DIGITS)
    )
}

fn numbers(values: impl Iterator<Item = Option<f64>>, digits: usize) -> String {
    list(values.map(|value| value.map_or_else(|| "null".to_owned(), |value| significant(value, digits))))
}

/// A number with this many significant digits, in its shortest form.
fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    let exponent = libm::log10(value.abs()).floor() as i32;
    let decimals = digits as i32 - 1 - exponent;
    match decimals {
        ..=0 => format!("{value:.0}"),
        1..=12 => without_zeros(&format!("{value:.0$}", decimals as usize)),
        _ => format!("{value:.0$e}", digits - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intervals::series::Timeline;

    #[test]
    fn a_name_cannot_end_the_element() {
        let timeline = Timeline::default();
        let axis = TimeAxis::new(TimeSpan { start_s: 0.0, end_s: 1.0 }, &timeline, None);
        let name = "</script><script>alert(1)</script><!--\"\\";
        let nothing = [Extent::default()];
        let group = Group { name, verdicts: &[], series: vec![(name, &nothing)] };
        let mut out = String::new();
        push_data(&axis, false, &[group], &mut out);
        let (json, rest) = out.split_once('>').unwrap().1.split_once("</script>").unwrap();
        assert!(rest.is_empty() && !json.contains('<'), "{out}");
        let data: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(data["groups"][0]["name"], name);
        assert_eq!(data["groups"][0]["series"][name]["mean"], serde_json::json!([null]));
    }

    #[test]
    fn numbers_are_short_and_keep_their_digits() {
        let texts = [0.0, 0.000_123_456_7, 0.123_456, 2.5, 12.0, 12_345.67, 1_234_567.0]
            .map(|value| significant(value, 5));
        assert_eq!(texts, ["0", "0.00012346", "0.12346", "2.5", "12", "12346", "1234567"]);
        for exponent in -9..9 {
            let value = 1.234_567 * libm::pow(10.0, f64::from(exponent));
            let read: f64 = significant(value, 5).parse().unwrap();
            assert!((read / value - 1.0).abs() < 6e-5, "{value}");
        }
    }
}

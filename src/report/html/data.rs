//! The data of a page as JSON, for values under the cursor and for saving as CSV.
//!
//! A series is a list of numbers: one for each point of time, null for a point without a value. Minimum and maximum are
//! left out if each point has a single value.

use std::fmt::Write;

use super::overview::class;
use super::time_axis::TimeAxis;
use crate::intervals::series::{Extent, Timeline, WorstVerdict};
use crate::sanitize::json_string;

/// The number of digits of a single value, and below of the mean of several, and of their minimum and maximum.
const SINGLE_DIGITS: usize = 6;
const MEAN_DIGITS: usize = 4;
const EXTREME_DIGITS: usize = 3;

pub(super) enum Values<'a> {
    /// Minimum, mean and maximum.
    Extents(&'a [Extent]),
    /// A single value for each point.
    Numbers(Vec<Option<f64>>),
}

/// The series of a device, of its cgroups or of the host.
pub(super) struct Group<'a> {
    /// The name of the device; `host` for the host.
    pub(super) name: &'a str,
    /// The verdicts; empty for the host.
    pub(super) verdicts: &'a [WorstVerdict],
    /// The name and the values of each series.
    pub(super) series: Vec<(String, Values<'a>)>,
}

/// Appends the element with the data.
pub(super) fn push_data(
    axis: &TimeAxis,
    is_wall_clock: bool,
    timeline: &Timeline,
    groups: &[Group<'_>],
    out: &mut String,
) {
    let mut json = String::with_capacity(1 << 16);
    push_json(axis, is_wall_clock, timeline, groups, &mut json);
    // A name may contain the end of the element.
    let json = json.replace('<', "\\u003c");
    let _ = write!(out, "<script type=\"application/json\" id=\"data\">{json}</script>");
}

fn push_json(
    axis: &TimeAxis,
    is_wall_clock: bool,
    timeline: &Timeline,
    groups: &[Group<'_>],
    out: &mut String,
) {
    let start_s = axis.span().start_s;
    let _ = write!(
        out,
        "{{\"start\":{start_s:.3},\"end\":{:.3},\"wall\":{is_wall_clock},\"offsets\":[",
        axis.span().end_s
    );
    for (index, (at_s, offset)) in axis.utc_offsets().into_iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let _ = write!(out, "{comma}[{at_s:.0},{offset}]");
    }
    out.push_str("],\"starts\":[");
    let times = |time: fn(&crate::intervals::series::TimeSpan) -> f64, out: &mut String| {
        for (index, point) in timeline.points().iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let _ = write!(out, "{comma}{}", short(&format!("{:.3}", time(point) - start_s)));
        }
    };
    times(|point| point.start_s, out);
    out.push_str("],\"ends\":[");
    times(|point| point.end_s, out);
    out.push_str("],\"groups\":[");
    for (index, group) in groups.iter().enumerate() {
        out.push_str(if index == 0 { "\n" } else { ",\n" });
        push_group(group, out);
    }
    out.push_str("]}");
}

fn push_group(group: &Group<'_>, out: &mut String) {
    let _ = write!(out, "{{\"name\":{},\"verdicts\":\"", json_string(group.name));
    push_verdicts(group.verdicts, out);
    out.push_str("\",\"series\":{");
    for (index, (key, values)) in group.series.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let _ = write!(out, "{comma}{}:{{\"mean\":[", json_string(key));
        match values {
            Values::Numbers(values) => push_numbers(values.iter().copied(), MEAN_DIGITS, out),
            Values::Extents(extents) => {
                let has_several = extents.iter().any(|extent| extent.min() != extent.max());
                let digits = if has_several { MEAN_DIGITS } else { SINGLE_DIGITS };
                push_numbers(extents.iter().map(Extent::mean), digits, out);
                if has_several {
                    out.push_str("],\"min\":[");
                    push_numbers(extents.iter().map(Extent::min), EXTREME_DIGITS, out);
                    out.push_str("],\"max\":[");
                    push_numbers(extents.iter().map(Extent::max), EXTREME_DIGITS, out);
                }
            }
        }
        out.push_str("]}");
    }
    out.push_str("}}");
}

/// Appends the verdicts of the points as runs: the name of a verdict and the number of consecutive points with it.
fn push_verdicts(verdicts: &[WorstVerdict], out: &mut String) {
    let name = |verdict: &WorstVerdict| verdict.get().map_or("", class);
    for (index, run) in verdicts.chunk_by(|a, b| name(a) == name(b)).enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let _ = write!(out, "{comma}{}*{}", run.first().map_or("", name), run.len());
    }
}

fn push_numbers(values: impl Iterator<Item = Option<f64>>, digits: usize, out: &mut String) {
    for (index, value) in values.enumerate() {
        if index > 0 {
            out.push(',');
        }
        match value {
            Some(value) => out.push_str(&significant(value, digits)),
            None => out.push_str("null"),
        }
    }
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
        1..=12 => short(&format!("{value:.0$}", decimals as usize)).to_owned(),
        _ => format!("{value:.0$e}", digits - 1),
    }
}

/// The same number without zeros at the end of its decimals.
fn short(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_end_the_element() {
        let axis = TimeAxis::new(crate::intervals::series::TimeSpan { start_s: 0.0, end_s: 1.0 }, None);
        let name = "</script><script>alert(1)</script><!--\"\\";
        let group =
            Group { name, verdicts: &[], series: vec![(name.to_owned(), Values::Numbers(vec![None]))] };
        let mut out = String::new();
        push_data(&axis, false, &Timeline::default(), &[group], &mut out);
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

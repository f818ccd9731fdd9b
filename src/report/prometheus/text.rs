//! The text format: metadata, metrics and their labels.

use std::io::Write;

use jiff::Timestamp;

use super::families::Family;
use crate::sanitize::sanitize;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    Whole(u64),
    Real(f64),
}

/// A histogram: the number of observations in each bucket, and their sum.
pub(super) struct HistogramValue<'a> {
    /// The upper bounds of the buckets.
    pub(super) bounds: &'a [f64],
    /// The observations at or below each bound and above the one before.
    pub(super) within: &'a [u64],
    /// The number of all observations.
    pub(super) count: u64,
    /// The sum of all observations.
    pub(super) sum: f64,
}

/// A label: its name and its value.
pub(super) type Label<'a> = (&'a str, &'a str);

/// Writes metrics at the end of a text.
pub(super) struct TextWriter<'a> {
    /// The timestamp of every metric, with the blank before it; empty for none.
    timestamp: String,
    /// The labels of every metric.
    labels: &'a str,
    out: &'a mut Vec<u8>,
}

impl<'a> TextWriter<'a> {
    /// Creates a writer of metrics at one point in time, or without timestamps, all with these labels.
    pub(super) fn new(at: Option<Timestamp>, labels: &'a str, out: &'a mut Vec<u8>) -> Self {
        // Prometheus stores milliseconds.
        let timestamp = at.map(|at| format!(" {:.3}", at.as_millisecond() as f64 / 1e3));
        Self { timestamp: timestamp.unwrap_or_default(), labels, out }
    }

    /// Writes the lines that precede the metrics of a family.
    pub(super) fn metadata(&mut self, family: &Family) {
        let Family { name, kind, help, .. } = family;
        // Writing to a Vec cannot fail.
        let _ = write!(self.out, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    /// Writes a metric of a family.
    pub(super) fn metric(&mut self, family: &Family, labels: &[Label<'_>], value: Value) {
        debug_assert_ne!(family.kind, "histogram");
        self.line(family.name, "", labels, value);
    }

    /// Writes a histogram of a family.
    pub(super) fn histogram(&mut self, family: &Family, labels: &[Label<'_>], value: &HistogramValue<'_>) {
        let mut cumulative = 0;
        for (bound, count) in value.bounds.iter().zip(value.within) {
            cumulative = count.saturating_add(cumulative);
            // OpenMetrics requires a decimal point in every bound.
            let bound = format!("{bound:?}");
            let labels: Vec<Label<'_>> = labels.iter().copied().chain([("le", bound.as_str())]).collect();
            self.line(family.name, "_bucket", &labels, Value::Whole(cumulative));
        }
        let last: Vec<Label<'_>> = labels.iter().copied().chain([("le", "+Inf")]).collect();
        self.line(family.name, "_bucket", &last, Value::Whole(value.count));
        self.line(family.name, "_sum", labels, Value::Real(value.sum));
        self.line(family.name, "_count", labels, Value::Whole(value.count));
    }

    fn line(&mut self, name: &str, suffix: &str, labels: &[Label<'_>], value: Value) {
        let out = &mut *self.out;
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(suffix.as_bytes());
        if !labels.is_empty() || !self.labels.is_empty() {
            out.push(b'{');
            out.extend_from_slice(self.labels.as_bytes());
            for (index, (name, value)) in labels.iter().enumerate() {
                if index > 0 || !self.labels.is_empty() {
                    out.push(b',');
                }
                push_label(name, value, out);
            }
            out.push(b'}');
        }
        // Writing to a Vec cannot fail.
        let _ = match value {
            Value::Whole(value) => writeln!(out, " {value}{}", self.timestamp),
            Value::Real(value) => writeln!(out, " {value}{}", self.timestamp),
        };
    }
}

pub(super) fn label(name: &str, value: &str) -> String {
    let mut text = Vec::new();
    push_label(name, value, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Appends a label. Backslashes, quotes and line feeds are escaped as the format requires; characters that control a
/// terminal are replaced, because people also look at metrics on terminals.
fn push_label(name: &str, value: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"=\"");
    for byte in sanitize(value).bytes() {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'"' => out.extend_from_slice(b"\\\""),
            byte => out.push(byte),
        }
    }
    out.push(b'"');
}

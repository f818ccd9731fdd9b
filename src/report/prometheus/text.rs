//! The text format: metadata, metrics and their labels.

use std::io::Write;

use jiff::Timestamp;

use super::families::Family;
use crate::intervals::Buckets;
use crate::sanitize::sanitize;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    Whole(u64),
    Real(f64),
}

/// A label: its name and its value.
pub(super) type Label<'a> = (&'a str, &'a str);

/// Writes metrics at the end of a text.
pub(super) struct Metrics<'a> {
    /// The name of the family whose metrics are written.
    pub(super) family: &'static str,
    /// The labels of the device or cgroup.
    pub(super) labels: Vec<Label<'a>>,
    /// The labels of every metric.
    common_labels: &'a str,
    /// The timestamp of every metric, with the blank before it; empty for none.
    timestamp: String,
    out: &'a mut Vec<u8>,
}

impl<'a> Metrics<'a> {
    /// Creates a writer of metrics at one point in time, or without timestamps, all with these labels.
    pub(super) fn new(at: Option<Timestamp>, common_labels: &'a str, out: &'a mut Vec<u8>) -> Self {
        // Prometheus stores milliseconds.
        let timestamp = at.map(|at| format!(" {:.3}", at.as_millisecond() as f64 / 1e3)).unwrap_or_default();
        Self { family: "", labels: Vec::new(), common_labels, timestamp, out }
    }

    /// Writes the lines that precede the metrics of a family.
    pub(super) fn push_metadata(&mut self, family: &Family) {
        let (Family { name, help, .. }, kind) = (family, family.kind());
        // Writing to a Vec cannot fail.
        let _ = write!(self.out, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    pub(super) fn push(&mut self, labels: &[Label<'_>], value: Value) {
        self.push_line("", labels, value);
    }

    /// Writes a histogram, given the upper bounds of its buckets and the sum of all observations.
    pub(super) fn push_histogram<const N: usize>(
        &mut self,
        labels: &[Label<'_>],
        bounds: &[f64; N],
        buckets: &Buckets<N>,
        sum: f64,
    ) {
        let mut cumulative = 0;
        for (bound, count) in bounds.iter().zip(buckets.within) {
            cumulative = count.saturating_add(cumulative);
            // OpenMetrics requires a decimal point in every bound.
            let bound = format!("{bound:?}");
            self.push_line("_bucket", &[labels, &[("le", &bound)]].concat(), Value::Whole(cumulative));
        }
        let count = Value::Whole(buckets.count);
        self.push_line("_bucket", &[labels, &[("le", "+Inf")]].concat(), count);
        self.push_line("_sum", labels, Value::Real(sum));
        self.push_line("_count", labels, count);
    }

    fn push_line(&mut self, suffix: &str, labels: &[Label<'_>], value: Value) {
        self.out.extend_from_slice(self.family.as_bytes());
        self.out.extend_from_slice(suffix.as_bytes());
        let mut separator = b'{';
        if !self.common_labels.is_empty() {
            self.out.push(std::mem::replace(&mut separator, b','));
            self.out.extend_from_slice(self.common_labels.as_bytes());
        }
        for (name, value) in self.labels.iter().chain(labels) {
            self.out.push(std::mem::replace(&mut separator, b','));
            push_label(name, value, self.out);
        }
        self.out.extend_from_slice(if separator == b',' { b"}" } else { b"" });
        // Writing to a Vec cannot fail.
        let _ = match value {
            Value::Whole(value) => writeln!(self.out, " {value}{}", self.timestamp),
            Value::Real(value) => writeln!(self.out, " {value}{}", self.timestamp),
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

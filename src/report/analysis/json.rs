//! The findings as one JSON document.

use serde::Serialize;

use super::AnalysisReport;
use crate::sanitize::json_text;

/// Writes `{"devices":[…],"layers":…,"machine":…}` into `out`, a device a line; `null` is what is not known. The
/// names are a contract: they are only ever added to.
pub fn json(findings: &AnalysisReport<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"devices\":[");
    for (index, report) in findings.devices.iter().enumerate() {
        out.extend_from_slice(if index == 0 { b"\n" } else { b",\n" });
        value(report, out);
    }
    out.extend_from_slice(b"\n],\n\"layers\":");
    value(&findings.layers, out);
    out.extend_from_slice(b",\n\"machine\":");
    value(findings.machine, out);
    out.extend_from_slice(b"\n}\n");
}

/// serde_json writes null for what is no finite number.
fn value(of: &impl Serialize, out: &mut Vec<u8>) {
    // Text and numbers can always be written.
    let text = serde_json::to_string(of).unwrap_or_else(|_| "null".to_owned());
    out.extend_from_slice(json_text(text).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{DeviceReport, HostReport, QueueByLayer};

    fn parsed(devices: &[DeviceReport], layers: Option<&QueueByLayer>) -> (String, serde_json::Value) {
        let machine = HostReport::default();
        let mut out = Vec::new();
        json(&AnalysisReport { devices, layers, machine: &machine }, &mut out);
        let text = String::from_utf8(out).unwrap();
        let value = serde_json::from_str(&text).unwrap();
        (text, value)
    }

    #[test]
    fn it_is_one_document_that_cannot_steer_a_terminal() {
        let hostile = "a\"\\\u{1b}[2J\n\u{7f}\u{9b}\u{202e}";
        let mut report =
            DeviceReport { device: hostile.into(), seconds: f64::NAN, ..DeviceReport::default() };
        report.read.iops.mean = Some(f64::INFINITY);
        let (text, value) = parsed(&[report, DeviceReport::default()], Some(&QueueByLayer::default()));
        assert!(!text.contains(|c: char| c != '\n' && (c.is_control() || c == '\u{202e}')), "{text:?}");
        assert_eq!(value["devices"][0]["device"], hostile);
        assert!(
            value["devices"][0]["seconds"].is_null() && value["devices"][0]["read"]["iops"]["mean"].is_null()
        );
        assert_eq!(value["layers"]["is_guess"], false);
    }

    #[test]
    fn nothing_is_an_empty_list() {
        let (_, value) = parsed(&[], None);
        assert_eq!(value["devices"], serde_json::json!([]));
        assert!(value["layers"].is_null() && value["machine"]["blocked"]["mean"].is_null());
    }
}

//! The JSON of sysstat (`iostat -o JSON`, `sadf -j`), which is read report by report while it is written.

use serde_json::Value;

use crate::capture::MAX_SAMPLE_BYTES;
use crate::capture::annotation::RecordingHeader;

/// A part of the JSON that is complete.
pub(super) enum JsonPart {
    /// The part of the document before the list of reports: the object of the host, with an empty list; and whether an empty
    /// line follows, in place of the report since boot that `iostat -y` leaves out.
    Host(Value, bool),
    /// An element of the list of reports.
    Element(Value),
}

/// Finds the elements of the list of reports, `{"sysstat": {"hosts": [{..., "statistics": [{...}, ...]}]}}`.
#[derive(Default)]
pub(super) struct JsonElements {
    /// The text read so far of the current element, or of the part before the list.
    text: String,
    /// The objects and lists that are open.
    depth: usize,
    is_in_string: bool,
    is_escaped: bool,
    has_begun: bool,
}

/// The depth of an element of the list.
const ELEMENT_DEPTH: usize = 6;

impl JsonElements {
    /// Returns whether a line belongs to JSON. A program that was killed leaves it open; that of the next begins anew.
    pub(super) fn is_json(&mut self, line: &str) -> bool {
        if line.starts_with('{') && (!self.has_begun || line.contains("\"sysstat\"")) {
            *self = Self {
                has_begun: true,
                ..Self::default()
            };
        }
        self.has_begun
    }

    /// Takes a line, and returns the parts that it completes.
    ///
    /// # Errors
    /// If a part is no JSON, or too long.
    pub(super) fn read(&mut self, line: &str) -> Result<Vec<JsonPart>, String> {
        let mut parts = Vec::new();
        if line.trim().is_empty() && !self.is_in_string {
            self.text.push('\n');
        }
        for c in line.chars() {
            let is_structure = !self.is_in_string;
            if self.is_in_string {
                self.is_in_string = c != '"' || self.is_escaped;
                self.is_escaped = c == '\\' && !self.is_escaped;
            } else if c == '"' {
                self.is_in_string = true;
            }
            if is_structure && c == '{' && self.depth == ELEMENT_DEPTH - 1 {
                // Between elements there is only a comma.
                let head = std::mem::take(&mut self.text);
                if head.trim_start().starts_with('{') {
                    // Some versions have a comma before the first report, where they leave out that since boot.
                    let whole = head.trim_end().trim_end_matches(',');
                    let has_empty_line = head.trim_end_matches([' ', '\t']).ends_with('\n')
                        || whole.len() < head.trim_end().len();
                    let mut all = parse(&format!("{whole}]}}]}}}}"))?;
                    let host = all.pointer_mut("/sysstat/hosts/0").map(Value::take);
                    parts.push(JsonPart::Host(host.unwrap_or_default(), has_empty_line));
                }
            }
            self.text.push(c);
            match c {
                '{' | '[' if is_structure => self.depth += 1,
                '}' | ']' if is_structure => {
                    self.depth = self.depth.saturating_sub(1);
                    self.has_begun &= self.depth > 0;
                    if self.depth == ELEMENT_DEPTH - 1 && c == '}' {
                        let text = std::mem::take(&mut self.text);
                        parts.push(JsonPart::Element(parse(
                            text.trim_start_matches([',', ' ', '\t', '\n']),
                        )?));
                    }
                }
                _ => {}
            }
        }
        if self.text.len() > MAX_SAMPLE_BYTES {
            *self = Self::default();
            return Err("JSON without a report".to_owned());
        }
        Ok(parts)
    }
}

/// Returns the host that such a document names.
pub(super) fn host_of(document: &Value) -> RecordingHeader {
    let text = |name: &str| document[name].as_str().map(str::to_owned);
    let cpus = document["number-of-cpus"].as_u64();
    RecordingHeader {
        host: text("nodename"),
        kernel: text("release"),
        cpus: cpus.and_then(|cpus| usize::try_from(cpus).ok()),
        ..RecordingHeader::default()
    }
}

fn parse(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("not the JSON of sysstat: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_of_another_shape_has_no_host() {
        assert!(
            JsonElements::default()
                .read("{\"a\": [[{\"b\": [{\"c\": 1}")
                .is_err()
        );
        let parts = JsonElements::default()
            .read("{\"a\": {\"b\": [{\"c\": [{\"d\": 1}")
            .unwrap();
        assert!(matches!(
            &parts[..],
            [JsonPart::Host(Value::Null, false), JsonPart::Element(_)]
        ));
    }
}

//! The line protocol of InfluxDB, which telegraf reads too: the measurement `blkstat`, the tags `device` and `host`, a field
//! for each value that is known, and the time in nanoseconds.

use super::value::{Field, push_number, time_text};
use crate::fixed_decimal::push_whole;
use crate::intervals::IntervalHeader;
use crate::sanitize::sanitize;

/// Fields that are tags, or the time of the line.
const NOT_FIELDS: [&str; 4] = ["time", "time_s", "device", "host"];

/// Appends the line of a device, if any of its values is known.
pub(super) fn push_line<'a>(
    header: &IntervalHeader,
    device: &str,
    fields: impl Iterator<Item = (&'static str, Field<'a>)>,
    out: &mut Vec<u8>,
) {
    let begin = out.len();
    out.extend_from_slice(b"blkstat");
    push_tag("device", device, out);
    if let Some(host) = header.host_name.as_deref() {
        push_tag("host", host, out);
    }
    let mut separator = b' ';
    for (name, value) in fields.filter(|(name, _)| !NOT_FIELDS.contains(name)) {
        let before = out.len();
        out.push(separator);
        out.extend_from_slice(name.as_bytes());
        out.push(b'=');
        let before_value = out.len();
        push_value(value, out);
        if out.len() == before_value {
            out.truncate(before);
        } else {
            separator = b',';
        }
    }
    if separator == b' ' {
        out.truncate(begin);
        return;
    }
    if let Some(end) = header.end {
        out.extend_from_slice(format!(" {}", end.as_nanosecond()).as_bytes());
    }
    out.push(b'\n');
}

/// Appends a tag. One without a value is not allowed.
fn push_tag(name: &str, value: &str, out: &mut Vec<u8>) {
    if value.is_empty() {
        return;
    }
    out.extend_from_slice(format!(",{name}=").as_bytes());
    for byte in sanitize(value).bytes() {
        // A backslash has no escape: InfluxDB keeps one that escapes nothing. At the end, it would escape what follows.
        if matches!(byte, b',' | b'=' | b' ') {
            out.push(b'\\');
        }
        out.push(byte);
    }
    if value.ends_with('\\') {
        out.push(b'_');
    }
}

/// Appends a value; nothing if it is not known.
fn push_value(value: Field<'_>, out: &mut Vec<u8>) {
    match value {
        Field::Text(Some(text)) => push_string(text, out),
        Field::Word(Some(word)) => push_string(word, out),
        Field::Name(Some(text)) => push_string(&text, out),
        Field::Flag(Some(flag)) => out.extend_from_slice(flag.to_string().as_bytes()),
        Field::Time(Some(time)) => push_string(&time_text(time), out),
        Field::Number(Some(number)) if number.is_finite() => push_number(number, out),
        Field::Whole(Some(number)) => {
            push_whole(out, number, 0);
            out.push(b'i');
        }
        Field::Words(words) if !words.is_empty() => push_string(&words.join("+"), out),
        Field::Sentences(sentences) if !sentences.is_empty() => {
            push_string(&sentences.join("; "), out);
        }
        _ => {}
    }
}

fn push_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in sanitize(text).bytes() {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(byte);
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(device: &str, fields: Vec<(&'static str, Field<'static>)>) -> String {
        let header = IntervalHeader {
            end: "2026-11-20T18:03:21.000143999Z".parse().ok(),
            host_name: Some("web 1".into()),
            ..IntervalHeader::default()
        };
        let mut out = Vec::new();
        push_line(&header, device, fields.into_iter(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_line_has_tags_known_values_and_the_time() {
        let fields = vec![
            ("time_s", Field::Number(Some(1.0))),
            ("queue", Field::Number(Some(0.5))),
            ("read_await_ms", Field::Number(None)),
            ("in_flight", Field::Whole(Some(4))),
            ("verdict", Field::Word(Some("slow"))),
            ("incident_begin_known", Field::Flag(Some(true))),
            ("flags", Field::Words(Vec::new())),
            (
                "evidence",
                Field::Sentences(vec!["a \"b\"".to_owned(), "c\\".to_owned()]),
            ),
        ];
        assert_eq!(
            line("a,b=c\n", fields),
            "blkstat,device=a\\,b\\=c\\n,host=web\\ 1 queue=0.5,in_flight=4i,verdict=\"slow\",\
             incident_begin_known=true,evidence=\"a \\\"b\\\"; c\\\\\" 1795197801000143999\n"
        );
    }

    #[test]
    fn without_values_there_is_no_line() {
        assert_eq!(line("sda", vec![("queue", Field::Number(None))]), "");
    }
}

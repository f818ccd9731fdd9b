//! How data looks: the lines with which the logs of sysstat and their tables begin, and where a line of data begins behind
//! what other programs put before it.

use crate::capture::annotation::RecordingHeader;
use crate::capture::diskstats_line::device_line_start;

/// A prefix is in the first words of a line; the spaces between them count, too.
const MAX_PREFIX_WORDS: usize = 16;

/// Returns where the data of a line begins: the line of a device in /proc/diskstats, or one with which a log or a table of it
/// begins. `None` for other lines, such as the rows of a table, of which nobody knows how many words precede them.
pub(super) fn data_start(line: &str) -> Option<usize> {
    if let Some(device) = device_line_start(line, 0) {
        return Some(device.at);
    }
    if line.contains(" tps")
        && let Some(at) = line.find(" DEV ")
    {
        return Some(at);
    }
    log_start(line)
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// Returns how many words are before the head of a table of `sar -d`: those of a time. `None` for another line.
pub(crate) fn words_before_table_of_sar(words: &[&str]) -> Option<usize> {
    let is_head = words.contains(&"DEV") && words.contains(&"tps");
    let begins_with_number = words.first()?.starts_with(|c: char| c.is_ascii_digit());
    if !is_head || !begins_with_number {
        return None;
    }
    words.iter().position(|word| matches!(*word, "DEV" | "tps"))
}

/// Returns where a line with which a log of sysstat begins does so.
pub(crate) fn log_start(line: &str) -> Option<usize> {
    let starts = line.match_indices([' ', '\t']).map(|(at, _)| at + 1);
    std::iter::once(0)
        .chain(starts)
        .take(MAX_PREFIX_WORDS)
        .find(|at| begins_log(&line[*at..]))
}

fn begins_log(text: &str) -> bool {
    let marks = ["avg-cpu: ", "# hostname;", "{\"sysstat\""];
    if marks.iter().any(|mark| text.starts_with(mark)) {
        return true;
    }
    if text.starts_with("Device") {
        return TableHead::of_iostat(&words(text)).is_some();
    }
    head_line(text).is_some() && text.trim_end().ends_with(" CPU)")
}

/// Parses the first line of a sysstat log, `Linux 6.8.0 (host) 03/12/2026 _x86_64_ (80 CPU)` with tabs. Returns the host, and
/// the text that has the date.
pub(crate) fn head_line(line: &str) -> Option<(RecordingHeader, &str)> {
    let rest = line.strip_prefix("Linux ")?;
    let (kernel, rest) = rest.split_once(" (")?;
    let (name, rest) = rest.split_once(')')?;
    // That of `uname` has more words.
    if kernel.contains(' ') || name.contains(' ') {
        return None;
    }
    let mut header = RecordingHeader {
        host: known(name),
        kernel: known(kernel),
        ..RecordingHeader::default()
    };
    if let Some((_, cpus)) = rest.rsplit_once('(') {
        header.cpus = cpus.split(' ').next()?.parse().ok();
    }
    Some((header, rest))
}

/// blkstat writes a dash for what it does not know.
fn known(text: &str) -> Option<String> {
    Some(text.trim().to_owned()).filter(|text| text != "-")
}

/// The head of a table of devices.
#[derive(Clone, Default)]
pub(crate) struct TableHead {
    /// The names of the columns without that of the devices.
    pub(crate) columns: Vec<String>,
    /// The devices are in the last column, not in the first.
    pub(crate) is_name_last: bool,
}

impl TableHead {
    /// Returns the head of a table of iostat; `None` for another line.
    pub(crate) fn of_iostat(words: &[&str]) -> Option<Self> {
        let (first, last) = (words.first()?, words.last()?);
        let is_name_last = last.starts_with("Device");
        let is_name_first = !is_name_last
            && number(first).is_none()
            && !first.contains('/')
            && !first.contains(':')
            || first.trim_end_matches(':') == "Device";
        let columns = if is_name_last {
            &words[..words.len() - 1]
        } else {
            &words[1..]
        };
        let has_rates = columns.iter().any(|column| is_rate(column));
        let has_numbers = columns.iter().any(|word| number(word).is_some());
        // The tables of sar look similar.
        let is_of_sar = words.contains(&"DEV");
        if !(is_name_first || is_name_last) || !has_rates || has_numbers || is_of_sar {
            return None;
        }
        let mut head = Self {
            columns: Vec::new(),
            is_name_last,
        };
        for column in columns {
            head.columns.push((*column).to_owned());
        }
        Some(head)
    }
}

/// Returns whether every table of devices has a column of such a name.
fn is_rate(column: &str) -> bool {
    matches!(
        column,
        "tps" | "r/s" | "w/s" | "d/s" | "f/s" | "aqu-sz" | "%util"
    )
}

/// A number of a log as it was printed.
pub(crate) struct Printed {
    pub(crate) value: f64,
    /// The digits after the point.
    pub(crate) digits: usize,
    /// How many KiB its unit of bytes is, if it has one.
    pub(crate) unit_kib: Option<f64>,
}

/// Parses a number with a point or a comma, `12.5`, `12,5%`, `12.5k`.
pub(crate) fn number(word: &str) -> Option<Printed> {
    const KIB: f64 = 1024.0;
    let word = word.strip_suffix('%').unwrap_or(word);
    let unit_kib = match word.bytes().last()? {
        b'k' => Some(1.0),
        b'M' => Some(KIB),
        b'G' => Some(KIB * KIB),
        b'T' => Some(KIB * KIB * KIB),
        _ => None,
    };
    let text = match unit_kib {
        Some(_) => &word[..word.len() - 1],
        None => word,
    };
    if text
        .bytes()
        .any(|byte| !byte.is_ascii_digit() && !b".,".contains(&byte))
    {
        return None;
    }
    let text = text.replace(',', ".");
    Some(Printed {
        value: text.parse().ok()?,
        digits: text.split_once('.').map_or(0, |(_, digits)| digits.len()),
        unit_kib,
    })
}

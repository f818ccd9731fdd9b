//! Whose line is whose, in a file with the lines of several hosts.
//!
//! pdsh, clush, kubectl and others put the name of the host before each line, Ansible, pssh, dshbak, Salt and tail before a
//! block of lines, and syslog has it behind the time. Objects of JSON are made lines with the host before them
//! ([`super::plain`]). Logs of sysstat and recordings name their host in their first lines.

use std::io;

use super::first_lines::{data_start, head_line, number};
use crate::capture::diskstats_line::excerpt;

/// How a file names the host of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// On a line before several: `db1 | CHANGED | rc=0 >>`, `==> db1.log <==`, `[1] 10:00:00 [SUCCESS] db1`, `db1:`, or between
    /// two lines of dashes.
    Block,
    /// Before each line: `db1: ...`, `db1 | ...`, `[db1] ...`, `db1<tab>...`, `db1;600;...`.
    Prefix,
    /// Before each line with nothing but a blank behind it: `db1 8 0 sda ...`.
    Word,
    /// Behind the time, before the data or the name of a program: `Aug  6 06:13:20 db1 monitor[7]: ...`.
    AfterTime,
    /// In the first lines of a log.
    Head,
}

/// The forms, of which the first with several hosts tells them apart.
const FORMS: [Form; 5] = [
    Form::Block,
    Form::Prefix,
    Form::Word,
    Form::AfterTime,
    Form::Head,
];
/// A line is of a host that is named in nearly all lines of data.
const MIN_SHARE: f64 = 0.9;
/// The most hosts that are told apart.
const MAX_HOSTS: usize = 1000;
/// The most hosts that are named in a message.
const MAX_NAMED: usize = 5;

/// The hosts that are named in a form, with their lines of data.
#[derive(Clone, Debug, Default)]
struct Named {
    lines: f64,
    hosts: Vec<(String, u64)>,
}

impl Named {
    fn count(&mut self, host: &str) {
        self.lines += 1.0;
        match self.hosts.iter().position(|(known, _)| known == host) {
            Some(at) => self.hosts[at].1 += 1,
            None if self.hosts.len() < MAX_HOSTS => self.hosts.push((host.to_owned(), 1)),
            None => {}
        }
    }
}

/// Looks for the hosts of the lines of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct HostScan {
    /// The lines of data.
    lines: f64,
    /// By [`Form`].
    forms: [Named; 5],
    blocks: Blocks,
}

impl HostScan {
    /// Takes the next line.
    pub(super) fn read(&mut self, line: &str) {
        if self.blocks.begin(line).is_some() {
            return;
        }
        if let Some(host) = host_of_head(line) {
            self.forms[Form::Head as usize].count(&host);
        }
        let row = host_of_row(line).map(|host| host.len());
        let Some(start) = row.or_else(|| data_start(line)) else {
            return;
        };
        // The head of `sadf -d`, whose rows name their host.
        if line[start..].starts_with('#') {
            return;
        }
        self.lines += 1.0;
        // The name of the device itself is no host.
        let device = line[start..].split_ascii_whitespace().nth(2);
        let prefix =
            prefix(line).filter(|prefix| prefix.begin <= start && Some(prefix.host) != device);
        if let Some(host) = &self.blocks.host
            && !(self.blocks.is_name_alone && prefix.is_some())
        {
            self.forms[Form::Block as usize].count(host);
        }
        if let Some(prefix) = prefix {
            self.forms[Form::Prefix as usize].count(prefix.host);
        } else if let Some(host) = first_word(&line[..start]) {
            self.forms[Form::Word as usize].count(host);
        }
        if let Some(host) = after_time(&line[..start]) {
            self.forms[Form::AfterTime as usize].count(host);
        }
    }

    /// Returns whether lines are of the hosts that a form names.
    fn is_used(&self, form: Form) -> bool {
        let named = &self.forms[form as usize];
        match form {
            Form::Block | Form::Head => named.lines > 0.0,
            Form::Prefix | Form::Word | Form::AfterTime => {
                named.lines > 0.0 && named.lines >= MIN_SHARE * self.lines
            }
        }
    }

    /// Returns the form that names several hosts.
    fn several(&self) -> Option<Form> {
        FORMS.into_iter().find(|form| {
            let hosts = &self.forms[*form as usize].hosts;
            // What differs in each line is no host.
            let with_lines = hosts.iter().filter(|(_, lines)| *lines > 1).count();
            let is_name = *form == Form::Head || 2 * with_lines >= hosts.len();
            hosts.len() > 1 && is_name && self.is_used(*form)
        })
    }

    /// Checks that there is one host.
    ///
    /// # Errors
    /// If there are several; names them.
    pub(super) fn check(&self) -> io::Result<()> {
        match self.several() {
            None => Ok(()),
            Some(form) => Err(several_hosts(&self.forms[form as usize])),
        }
    }
}

/// Returns the error about a file of several hosts.
fn several_hosts(named: &Named) -> io::Error {
    let mut names = Vec::new();
    for (host, _) in named.hosts.iter().take(MAX_NAMED) {
        names.push(excerpt(host.as_bytes()));
    }
    if named.hosts.len() > MAX_NAMED {
        names.push(format!("{} more", named.hosts.len() - MAX_NAMED));
    }
    let names = names.join(", ");
    let message = format!("has lines of several hosts: {names}; give each host a file of its own");
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// Returns whether a word may be the name of a host or its address, and no time or number.
pub(super) fn is_host(word: &str) -> bool {
    if word.contains(|c: char| !c.is_ascii_alphanumeric() && !"-_./@".contains(c)) {
        return false;
    }
    let is_address = word.split('.').count() == 4 && word.split('.').all(|part| !part.is_empty());
    let is_named = word.contains(|c: char| c.is_ascii_alphabetic()) || is_address;
    word.len() <= 255 && is_named
}

/// The host before a line.
#[derive(Debug, PartialEq)]
struct Prefix<'a> {
    host: &'a str,
    /// Where the line itself begins.
    begin: usize,
}

fn prefix(line: &str) -> Option<Prefix<'_>> {
    if let Some(host) = host_of_row(line) {
        return Some(Prefix { host, begin: 0 });
    }
    let (host, end) = match line.strip_prefix('[') {
        Some(rest) => {
            let end = rest.find(']')?;
            (&rest[..end], end + 2)
        }
        None => {
            let end = line.find([':', '\t', ' '])?;
            let blanks = line[end..].len() - line[end..].trim_start_matches(' ').len();
            let sign = line[end + blanks..].chars().next()?;
            // A blank alone is before any number.
            let end_of_sign = match (blanks, sign) {
                (0, ':' | '\t') | (_, '|') => end + blanks + 1,
                _ => return None,
            };
            (&line[..end], end_of_sign)
        }
    };
    let rest = &line[end..];
    // A colon within a word, as in a time, is no end of a name.
    let is_ended = rest.is_empty() || rest.starts_with([' ', '\t']) || line[..end].ends_with('\t');
    let begin = line.len() - rest.strip_prefix(' ').unwrap_or(rest).len();
    if !is_ended || !is_host(host) {
        return None;
    }
    Some(Prefix { host, begin })
}

/// Returns the word before the data of a line, or before a time in front of it, if it is a host. A short word may be that of a
/// day.
fn first_word(before: &str) -> Option<&str> {
    let mut words = before.split_ascii_whitespace();
    let word = words.next()?;
    let is_alone = match words.next() {
        None => true,
        Some(second) => is_time(second) && words.next().is_none(),
    };
    let is_day = word.len() <= 4 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_name = is_host(word) && !is_day && !is_time(word) && before.starts_with(word);
    (is_alone && is_name).then_some(word)
}

/// Returns the host of a row of `sadf -d`; `None` for another line.
fn host_of_row(line: &str) -> Option<&str> {
    let (host, rest) = line.split_once(';')?;
    let (seconds, _) = rest.split_once(';')?;
    let is_row = !host.starts_with('#') && seconds.parse::<i64>().is_ok();
    is_row.then_some(host)
}

fn is_dashes(line: &str) -> bool {
    let line = line.trim();
    line.len() >= 3 && line.bytes().all(|byte| byte == b'-')
}

/// The lines with the name of a host whose lines follow.
#[derive(Clone, Debug, Default)]
struct Blocks {
    host: Option<String>,
    /// Nothing but a colon was beside the name: it may be a prefix before an empty line.
    is_name_alone: bool,
    is_after_dashes: bool,
}

impl Blocks {
    /// Returns the host, if this line begins a block.
    fn begin(&mut self, line: &str) -> Option<&str> {
        let was_after_dashes = std::mem::replace(&mut self.is_after_dashes, is_dashes(line));
        let line = line.trim_end();
        let mut is_name_alone = false;
        let host = if let Some((host, rest)) = line.split_once(" | ") {
            rest.ends_with(">>").then_some(host)?
        } else if let Some(rest) = line.strip_prefix("==> ") {
            let name = rest.strip_suffix(" <==")?;
            if name.starts_with("/proc") || name.starts_with("/sys") {
                return None;
            }
            name
        } else if line.starts_with('[') && line.contains("[SUCCESS] ") {
            line.rsplit(' ').next()?
        } else if was_after_dashes {
            line
        } else {
            is_name_alone = true;
            line.strip_suffix(':')?
        };
        let is_name = is_host(host) || line.starts_with("==> ");
        if !is_name || is_name_alone && host.starts_with("Device") {
            return None;
        }
        self.is_name_alone = is_name_alone;
        Some(self.host.insert(host.to_owned()))
    }
}

/// Returns the host in the words before the data of a line that follow a time.
fn after_time(before: &str) -> Option<&str> {
    let mut words = before.split_ascii_whitespace();
    let first = words.next()?;
    if !is_time(first) {
        // A month and a day, or a date.
        let second = words.next()?;
        if !is_time(second) && !is_time(words.next()?) {
            return None;
        }
    }
    let host = words.next()?;
    // Zones and halves of the day have capital letters alone.
    let is_zone = host.bytes().all(|byte| byte.is_ascii_uppercase());
    if is_zone || !is_host(host) {
        return None;
    }
    Some(host)
}

fn is_time(word: &str) -> bool {
    let is_epoch = word.len() >= 10 && number(word).is_some();
    is_epoch || word.len() >= 8 && word.matches(':').count() >= 2
}

/// Returns the host that the first lines of a log name.
fn host_of_head(line: &str) -> Option<String> {
    if let Some((_, rest)) = line.split_once("\"nodename\":") {
        let (_, rest) = rest.split_once('"')?;
        return Some(rest.split_once('"')?.0.to_owned());
    }
    let (header, _) = head_line(&line[line.find("Linux ")?..])?;
    header.host
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_before_a_line_or_a_block_or_behind_a_time() {
        for (line, expected) in [
            ("db1: 8 0 sda 1", Some(("db1", "8 0 sda 1"))),
            (
                "db1.example.org:   8 0 sda",
                Some(("db1.example.org", "  8 0 sda")),
            ),
            ("10.0.0.7: x", Some(("10.0.0.7", "x"))),
            ("db-1  | x", Some(("db-1", "x"))),
            ("[db1] x", Some(("db1", "x"))),
            ("[pod/db1/disks] x", Some(("pod/db1/disks", "x"))),
            ("db1\tx", Some(("db1", "x"))),
            ("db1:", Some(("db1", ""))),
            ("db1;600;x", Some(("db1", "db1;600;x"))),
            ("06:13:20 x", None),
            ("[06:13:20] x", None),
            ("sda 1.00 2.00", None),
            ("   8 0 sda 1", None),
            ("", None),
        ] {
            let found = prefix(line).map(|found| (found.host, &line[found.begin..]));
            assert_eq!(found, expected, "{line}");
        }
        for (line, expected) in [
            ("db1 | CHANGED | rc=0 >>", Some("db1")),
            ("==> db1.log <==", Some("db1.log")),
            ("==> /proc/diskstats <==", None),
            ("[1] 10:00:00 [SUCCESS] db1", Some("db1")),
            ("db1:", Some("db1")),
            ("db1", None),
        ] {
            assert_eq!(Blocks::default().begin(line), expected, "{line}");
        }
        let mut blocks = Blocks::default();
        assert_eq!(blocks.begin("-----"), None);
        assert_eq!(blocks.begin("db1"), Some("db1"));
        for line in [
            "Aug  6 06:13:20 db1 monitor[7]: x",
            "2017-08-06T06:13:20Z db1 monitor: x",
            "2017-08-06 06:13:20 db1 monitor: x",
            "1502000000.5 db1 ",
        ] {
            assert_eq!(after_time(line), Some("db1"), "{line}");
        }
        for (before, expected) in [
            ("db1 ", Some("db1")),
            ("db1 1502000000.5 ", Some("db1")),
            ("Sun 06:13:20 ", None),
            ("Sun Aug 6 06:13:20 2017 ", None),
            ("1502000000 ", None),
            (" db1 ", None),
        ] {
            assert_eq!(first_word(before), expected, "{before}");
        }
        for line in ["Sun Aug  6 06:13:20 UTC 2017", "06:13:20 PM ", "06:13:20 "] {
            assert_eq!(after_time(line), None, "{line}");
        }
    }

    fn scan(lines: &[&str]) -> HostScan {
        let mut scan = HostScan::default();
        lines.iter().for_each(|line| scan.read(line));
        scan
    }

    #[test]
    fn names_that_are_no_hosts_are_not_told_apart() {
        let line = "8 0 sda 1 2 3 4 5 6 7 8 9 10 11";
        // The day of the week, the zone, a number of each line, and headings of files without devices.
        for before in [
            ["Mon Aug 6 23:59:59 CEST ", "Tue Aug 7 00:00:01 CET "],
            ["a17: ", "b18: "],
            ["stat:\ncpu  1 2\ndiskstats:\n"; 2],
        ] {
            let text: String = before.map(|before| format!("{before}{line}\n")).concat();
            let lines: Vec<&str> = text.lines().collect();
            assert!(scan(&lines).check().is_ok(), "{text}");
        }
    }
}

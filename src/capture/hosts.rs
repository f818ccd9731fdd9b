//! Whose line is whose, in a file with the lines of several hosts.
//!
//! pdsh, clush and others put the name of the host before each line, Ansible, pssh, dshbak and tail before a block of lines, and
//! syslog has it behind the time. Names of hosts in the logs themselves are the business of [`super::logs`].

use std::io;

use super::diskstats_line::excerpt;

/// How a file names the host of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// Before each line: `db1: ...`, `db1 | ...`, `[db1] ...`, `db1<tab>...`.
    Prefix,
    /// On a line before several: `db1 | CHANGED | rc=0 >>`, `==> db1.log <==`, `[1] 10:00:00 [SUCCESS] db1`, or between two lines of
    /// dashes.
    Block,
    /// Behind the time, before the name of a program: `Aug  6 06:13:20 db1 monitor[7]: ...`.
    Syslog,
}

/// A line is of a host that is named in nearly all lines.
const MIN_SHARE: f64 = 0.9;
/// The most hosts that are told apart.
const MAX_HOSTS: usize = 1000;
/// The most hosts that are named in a message.
const MAX_NAMED: usize = 5;

/// Looks for the hosts of the lines of a file.
#[derive(Debug, Default)]
pub(super) struct HostScan {
    /// The lines that are not empty.
    lines: f64,
    /// By [`Form`]: the lines that name a host, and these hosts with their lines.
    forms: [(f64, Vec<(String, u64)>); 3],
    after_dashes: bool,
}

impl HostScan {
    pub(super) fn read(&mut self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        self.lines += 1.0;
        let block = block(line, &mut self.after_dashes);
        let named = [host_before(line).map(|(host, _)| host), block, syslog(line)];
        for ((count, hosts), host) in self.forms.iter_mut().zip(named) {
            let Some(host) = host else {
                continue;
            };
            *count += 1.0;
            match hosts.iter().position(|(known, _)| known == host) {
                Some(at) => hosts[at].1 += 1,
                None if hosts.len() < MAX_HOSTS => hosts.push((host.to_owned(), 1)),
                None => {}
            }
        }
    }

    /// Returns the form in which several hosts are named.
    fn form(&self) -> Option<Form> {
        for form in [Form::Block, Form::Prefix, Form::Syslog] {
            let (count, hosts) = &self.forms[form as usize];
            let is_usual = form == Form::Block || *count >= MIN_SHARE * self.lines;
            // What differs in each line is no host.
            let several = hosts.iter().filter(|(_, lines)| *lines > 1).count();
            if is_usual && hosts.len() > 1 && 2 * several >= hosts.len() {
                return Some(form);
            }
        }
        None
    }

    /// Returns what leaves the lines of the `wanted` host; `None` if there is only one host.
    ///
    /// # Errors
    /// If there are several, and the wanted one is not among them.
    pub(super) fn filter(&self, wanted: Option<&str>) -> io::Result<Option<HostFilter>> {
        let Some(form) = self.form() else {
            return Ok(None);
        };
        let (_, counted) = &self.forms[form as usize];
        let hosts: Vec<&str> = counted.iter().map(|(host, _)| host.as_str()).collect();
        match wanted {
            Some(wanted) if hosts.contains(&wanted) => Ok(Some(HostFilter {
                form,
                host: wanted.to_owned(),
                is_chosen: form != Form::Block,
                after_dashes: false,
            })),
            wanted => Err(several_hosts(&hosts, wanted)),
        }
    }
}

/// Leaves the lines of one host.
#[derive(Clone, Debug)]
pub(super) struct HostFilter {
    form: Form,
    host: String,
    /// The lines of this block are of the host.
    is_chosen: bool,
    after_dashes: bool,
}

impl HostFilter {
    /// Returns where the line itself begins; `None` if it is of another host.
    pub(super) fn begin(&mut self, line: &[u8]) -> Option<usize> {
        let Ok(line) = std::str::from_utf8(line) else {
            return Some(0);
        };
        let (host, begin) = match self.form {
            Form::Prefix => host_before(line).unwrap_or((&self.host, 0)),
            Form::Block => match block(line, &mut self.after_dashes) {
                Some(host) => {
                    self.is_chosen = host == self.host;
                    return None;
                }
                None if !self.is_chosen || is_dashes(line) => return None,
                None => return Some(0),
            },
            Form::Syslog => (syslog(line).unwrap_or(&self.host), 0),
        };
        if host != self.host {
            return None;
        }
        Some(begin)
    }
}

/// Returns the error about a file of several hosts, or without the `wanted` one.
pub(super) fn several_hosts(hosts: &[&str], wanted: Option<&str>) -> io::Error {
    let mut names = Vec::new();
    for host in hosts.iter().take(MAX_NAMED) {
        names.push(excerpt(host.as_bytes()));
    }
    if hosts.len() > MAX_NAMED {
        names.push(format!("{} more", hosts.len() - MAX_NAMED));
    }
    let names = names.join(", ");
    let message = match wanted {
        None => format!("has lines of several hosts: {names}; choose one: --host NAME"),
        Some(wanted) => {
            let wanted = excerpt(wanted.as_bytes());
            format!("has no lines of host {wanted}, but of {names}")
        }
    };
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// Returns whether a word may be the name of a host or its address, and no time or number.
fn is_host(word: &str) -> bool {
    if word.contains(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c)) {
        return false;
    }
    let is_address = word.split('.').count() == 4 && word.split('.').all(|part| !part.is_empty());
    let is_named = word.contains(|c: char| c.is_ascii_alphabetic()) || is_address;
    word.len() <= 255 && is_named
}

/// Returns the host before a line, and where the line begins.
pub(super) fn host_before(line: &str) -> Option<(&str, usize)> {
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
    Some((host, begin))
}

fn is_dashes(line: &str) -> bool {
    let line = line.trim();
    line.len() >= 3 && line.bytes().all(|byte| byte == b'-')
}

/// Returns the host whose lines follow. `after_dashes` tells whether the line before was one of dashes.
fn block<'a>(line: &'a str, after_dashes: &mut bool) -> Option<&'a str> {
    let was_after_dashes = std::mem::replace(after_dashes, is_dashes(line));
    let line = line.trim_end();
    let host = if let Some((host, rest)) = line.split_once(" | ") {
        rest.ends_with(">>").then_some(host)?
    } else if let Some(rest) = line.strip_prefix("==> ") {
        let name = rest.strip_suffix(" <==")?;
        let is_of_kernel = name.starts_with("/proc") || name.starts_with("/sys");
        return (!is_of_kernel).then_some(name);
    } else if line.starts_with('[') && line.contains("[SUCCESS] ") {
        line.rsplit(' ').next()?
    } else if was_after_dashes {
        line
    } else {
        return None;
    };
    is_host(host).then_some(host)
}

/// Returns the host in a line of syslog.
fn syslog(line: &str) -> Option<&str> {
    let mut words = line.split_ascii_whitespace();
    let first = words.next()?;
    if !is_time(first) {
        // A month and a day, or a date.
        let second = words.next()?;
        if !is_time(second) && !is_time(words.next()?) {
            return None;
        }
    }
    let (host, program) = (words.next()?, words.next()?);
    if !program.ends_with(':') || !is_host(host) {
        return None;
    }
    Some(host)
}

fn is_time(word: &str) -> bool {
    word.len() >= 8 && word.matches(':').count() >= 2
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
            ("db1\tx", Some(("db1", "x"))),
            ("db1:", Some(("db1", ""))),
            ("06:13:20 x", None),
            ("[06:13:20] x", None),
            ("sda 1.00 2.00", None),
            ("   8 0 sda 1", None),
            ("", None),
        ] {
            let found = host_before(line).map(|(host, begin)| (host, &line[begin..]));
            assert_eq!(found, expected, "{line}");
        }
        for (line, expected) in [
            ("db1 | CHANGED | rc=0 >>", Some("db1")),
            ("==> db1.log <==", Some("db1.log")),
            ("==> /proc/diskstats <==", None),
            ("[1] 10:00:00 [SUCCESS] db1", Some("db1")),
            ("db1", None),
        ] {
            assert_eq!(block(line, &mut false), expected, "{line}");
        }
        assert_eq!(block("db1", &mut true), Some("db1"));
        for line in [
            "Aug  6 06:13:20 db1 monitor[7]: x",
            "2017-08-06T06:13:20Z db1 monitor: x",
            "2017-08-06 06:13:20 db1 monitor: x",
        ] {
            assert_eq!(syslog(line), Some("db1"), "{line}");
        }
        assert_eq!(syslog("Sun Aug  6 06:13:20 UTC 2017"), None);
    }

    #[test]
    fn the_lines_of_the_wanted_host_are_left() {
        let lines = ["db1: a", "db2: b", "db1: c", "db2: d", ""];
        let mut scan = HostScan::default();
        lines.iter().for_each(|line| scan.read(line));
        let message = |wanted| scan.filter(wanted).unwrap_err().to_string();
        assert_eq!(
            message(None),
            "has lines of several hosts: db1, db2; choose one: --host NAME"
        );
        assert_eq!(
            message(Some("x")),
            "has no lines of host x, but of db1, db2"
        );
        let mut filter = scan.filter(Some("db2")).unwrap().unwrap();
        let left = lines.map(|line| filter.begin(line.as_bytes()).map(|begin| &line[begin..]));
        assert_eq!(left, [None, Some("b"), None, Some("d"), Some("")]);
    }
}

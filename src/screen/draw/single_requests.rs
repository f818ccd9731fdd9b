//! The single requests of the selected device: a line for each kind of request, and the threads that submitted them.

use ratatui::style::Style;
use unicode_width::UnicodeWidthStr;

use super::detail::{TextLine, push_wrapped};
use crate::intervals::TracedThread;
use crate::report::latency::{REQUEST_TITLES, request_cells};
use crate::report::layout::sentence_numbers::{number, percent};
use crate::report::who::role_name;
use crate::sanitize::sanitize;
use crate::screen::app::App;
use crate::screen::history::{Frame, FrameRequests};

/// The most threads that are named on a page.
const MAX_THREADS: usize = 6;
const BYTES_PER_MIB: f64 = 1_048_576.0;

impl App {
    /// Appends the latencies of the single requests of a device, or of the disk of a partition; nothing if they were
    /// not traced and tracing is not about to start.
    pub(super) fn push_requests(&self, device: &str, frame: &Frame, width: usize, lines: &mut Vec<TextLine>) {
        let theme = self.options.theme;
        let Some(requests) = frame.requests.as_deref() else {
            if self.wants_trace() && self.follows() {
                lines.push(vec![("  single requests: tracing begins ...".to_owned(), theme.dim())]);
            }
            return;
        };
        let disk = frame.topology.disk_of(device).filter(|disk| !disk.is_empty());
        let rows: Vec<[String; REQUEST_TITLES.len()]> = requests
            .of(disk.unwrap_or(device))
            .map(|of| request_cells(of.kind, of.stats, of.matched_pct))
            .collect();
        if rows.is_empty() {
            let text = format!("  single requests: none in {:.1} s", requests.elapsed_s);
            lines.push(vec![(text, theme.dim())]);
        } else {
            let titles = REQUEST_TITLES.map(str::to_owned);
            let all = || std::iter::once(&titles).chain(&rows);
            let widths: [usize; REQUEST_TITLES.len()] =
                std::array::from_fn(|at| all().map(|row| row[at].width()).max().unwrap_or(0));
            let gap = if widths.iter().map(|width| width + 2).sum::<usize>() <= width { 2 } else { 1 };
            for (at, row) in all().enumerate() {
                let style = if at == 0 { theme.dim() } else { Style::new() };
                let of = disk.filter(|_| at == 0).map(|disk| format!("  of {}", sanitize(disk)));
                lines.push(vec![(table_line(row, &widths, gap) + &of.unwrap_or_default(), style)]);
            }
        }
        for note in &requests.notes {
            push_wrapped(&format!("({note})"), width, theme.dim(), lines);
        }
    }

    /// Appends the threads with the most bytes on a device, or on a disk and its partitions; nothing if they were not
    /// traced.
    pub(super) fn push_threads(&self, device: &str, frame: &Frame, width: usize, lines: &mut Vec<TextLine>) {
        let Some(requests) = frame.requests.as_deref() else { return };
        let is_on_it = |thread: &&TracedThread| {
            thread.device == device || frame.topology.disk_of(&thread.device) == Some(device)
        };
        let threads = requests.threads().filter(is_on_it).filter(|thread| thread.bytes() > 0);
        for thread in threads.take(MAX_THREADS) {
            push_wrapped(&thread_text(thread, device, requests), width, Style::new(), lines);
        }
    }
}

/// Returns a line of the table: the first cell is aligned left, the others right.
fn table_line(row: &[String], widths: &[usize], gap: usize) -> String {
    let mut line = String::from("  ");
    for (at, (cell, width)) in row.iter().zip(widths).enumerate() {
        let padding = " ".repeat(width.saturating_sub(cell.width()));
        line += &if at == 0 { format!("{cell}{padding}") } else { format!("{:gap$}{padding}{cell}", "") };
    }
    line
}

/// Returns a thread with its rates and its share of the bytes of all known threads.
fn thread_text(thread: &TracedThread, device: &str, requests: &FrameRequests) -> String {
    let all: u64 =
        requests.threads().filter(|other| other.device == thread.device).map(TracedThread::bytes).sum();
    let per_s = |amount: u64| amount as f64 / requests.elapsed_s.max(f64::MIN_POSITIVE);
    let id = match thread.pid {
        Some(pid) if pid != thread.tid => format!("{pid}/{}", thread.tid),
        _ => thread.tid.to_string(),
    };
    let role = thread.kernel_role().map(|role| format!(" ({})", role_name(role))).unwrap_or_default();
    let on =
        if thread.device == device { String::new() } else { format!(" on {}", sanitize(&thread.device)) };
    format!(
        "who: {}{role} {id}{on} {}, {} r/s, {} w/s, {} MiB/s",
        sanitize(&thread.comm),
        percent(100.0 * thread.bytes() as f64 / all.max(1) as f64),
        number(per_s(thread.reads)),
        number(per_s(thread.writes)),
        number(per_s(thread.bytes()) / BYTES_PER_MIB)
    )
}

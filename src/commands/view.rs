//! The incident view, which `blkstat` without a command shows: the devices of each interval as a table, JSON or CSV.

use anyhow::Result;
use clap::{Args, ValueEnum};

use super::follow::{Observer, Run, follow};
use super::hindsight::open_view;
use super::options::{
    ANY_FIRST, Host, SelectionOptions, SourceOptions, VerdictOptions, WidthOption, sort_key,
    usage_error,
};
use crate::console::RunContext;
use crate::exit::Exit;
use crate::intervals::{DeviceSelection, IntervalRows};
use crate::report::json_csv::{FieldList, LineFormat, Lines, all_fields};
use crate::report::layout::wrap;
use crate::report::native::{ColumnList, TableOptions, TableWriter, sort_value, title_of_field};
use crate::sanitize::sanitize;
use crate::source::{Input, ScanScope};

/// The arguments of the incident view.
#[derive(Args, Clone, Debug)]
pub struct View {
    #[command(flatten)]
    source: SourceOptions,
    #[command(flatten)]
    selection: SelectionOptions,
    /// Print a JSON object per device and interval
    #[arg(short, long, group = "lines")]
    json: bool,
    /// Print lines of CSV
    #[arg(long, group = "lines")]
    csv: bool,
    /// Print a line of the InfluxDB protocol per device and interval
    #[arg(long, group = "lines")]
    influx: bool,
    /// Show only these, in this order: names of JSON, column titles, or iostat's names; 'help' lists them
    #[arg(short = 'o', long, value_name = "NAME,...")]
    fields: Option<String>,
    /// Start with averages since boot
    #[arg(long, conflicts_with = "begin")]
    since_boot: bool,
    /// Sort by a column, by its title or name, highest first
    #[arg(short, long, value_name = "KEY", value_parser = sort_key)]
    sort: Option<&'static str>,
    /// Show at most N devices, the busiest first
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    top: Option<u32>,
    /// Add a total without double counting: over physical disks, or the devices selected
    #[arg(long)]
    total: bool,
    #[command(flatten)]
    width: WidthOption,
    /// Use colors; auto is on a terminal that has them
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        hide_default_value = true
    )]
    color: ColorChoice,
    /// Always print a summary (default: only after Ctrl-C)
    #[arg(long)]
    summary: bool,
    /// Show the evidence for each verdict
    #[arg(long)]
    explain: bool,
    /// Show the cgroups and processes on every device, not only on those in trouble
    #[arg(long)]
    who: bool,
    /// Do not look for cgroup limits and blocked tasks
    #[arg(long, conflicts_with = "who")]
    no_who: bool,
    #[command(flatten)]
    verdicts: VerdictOptions,
}

impl View {
    pub(super) fn run(&self, host: &Host, context: &mut RunContext<'_>) -> Result<Exit> {
        if self.fields.as_deref() == Some("help") {
            context.emit(&mut fields_text(context.width()).into_bytes())?;
            return Ok(Exit::Success);
        }
        let fields = match &self.fields {
            Some(words) => Some(words.parse::<FieldList>().map_err(usage_error)?),
            None => None,
        };
        let (input, devices) = self.source.source(ANY_FIRST, host, context)?;
        let input = Input {
            scans_io: input.scans_io && !self.no_who,
            scan_scope: if self.who {
                ScanScope::Everything
            } else {
                ScanScope::Limits
            },
            ignores_scans: self.no_who,
            ..input
        };
        let selection = DeviceSelection {
            total: self.total,
            ..self.selection.of(devices)
        };
        let baselines = self
            .verdicts
            .load_baselines(host.baselines_for(&input), context);
        let intervals = open_view(&input, &selection, &baselines, context)?;
        let format = match (self.json, self.csv, self.influx) {
            (true, ..) => Some(LineFormat::Json),
            (_, true, _) => Some(LineFormat::Csv),
            (.., true) => Some(LineFormat::Influx),
            _ => None,
        };
        let mut output = Output {
            view: self,
            table: None,
            lines: None,
            text: Vec::new(),
        };
        match format {
            Some(format) => {
                let fields = fields.unwrap_or_default();
                output.lines = Some(Lines { format, fields });
            }
            None => {
                let options = self.table_options(fields.as_ref(), context)?;
                let writer = TableWriter::new(&options, context.is_terminal, context.time_zone());
                output.table = Some(writer);
            }
        }
        if let Some(lines) = &output.lines {
            lines.begin(&mut output.text);
        }
        follow(intervals, &mut output, context)
    }
}

impl View {
    /// Returns how to draw the table with these columns.
    ///
    /// # Errors
    /// If the table has no column for a field.
    fn table_options(
        &self,
        fields: Option<&FieldList>,
        context: &RunContext<'_>,
    ) -> Result<TableOptions> {
        let mut options = TableOptions {
            width: self.width.given(),
            explain: self.explain,
            who: self.who,
            colors: self.has_colors(context),
            ..TableOptions::default()
        };
        if let Some(fields) = fields {
            options.has_times = fields.names().any(|name| name == "time");
            options.columns = Some(ColumnList::of_fields(fields.names()).map_err(usage_error)?);
        }
        Ok(options)
    }
}

/// Returns what `-o` can choose: each field with its name in JSON, its title in the table, and its meaning.
fn fields_text(width: usize) -> String {
    const NAME_WIDTH: usize = 25;
    const TITLE_WIDTH: usize = 9;
    let mut text = String::from(
        "Names for -o, which also takes the titles of columns and the names of iostat.\n\
         What has no title here is only in JSON, CSV and lines of InfluxDB.\n\n",
    );
    for (name, meaning) in all_fields() {
        let title = title_of_field(name).unwrap_or_default();
        let mut term = format!("{name:NAME_WIDTH$}{title:TITLE_WIDTH$}");
        for line in wrap(
            meaning,
            width.saturating_sub(NAME_WIDTH + TITLE_WIDTH).max(20),
        ) {
            text += &format!("{term}{line}\n");
            term = " ".repeat(NAME_WIDTH + TITLE_WIDTH);
        }
    }
    text
}

/// When to use colors.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ColorChoice {
    Auto,
    Always,
    Never,
}

impl View {
    /// Returns whether to use colors. The environment decides where the option does not: no-color.org, bixense.com/clicolors.
    fn has_colors(&self, context: &RunContext<'_>) -> bool {
        match self.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto if is_set("NO_COLOR", "0", context) => false,
            ColorChoice::Auto if is_set("CLICOLOR_FORCE", "0", context) => true,
            ColorChoice::Auto => context.is_terminal && is_set("TERM", "dumb", context),
        }
    }
}

/// Returns whether a variable has a value other than `off`.
fn is_set(variable: &str, off: &str, context: &RunContext<'_>) -> bool {
    match (context.environment)(variable) {
        Some(value) => !value.is_empty() && value != off,
        None => false,
    }
}

/// Writes the intervals of a run.
struct Output<'a> {
    view: &'a View,
    /// The writer of the table; `None` for output for programs.
    table: Option<TableWriter>,
    /// The writer of lines for programs; `None` for the table.
    lines: Option<Lines>,
    /// Text that has not been written yet.
    text: Vec<u8>,
}

impl Output<'_> {
    /// Adds an interval with the devices that are requested, in the order that is requested.
    fn push(&mut self, mut rows: IntervalRows, context: &RunContext<'_>) {
        let top = self.view.top.map(|top| top as usize);
        if self.table.is_some() {
            rows.sort_remarkable_first();
        }
        let default_key = top.map(|_| "queue");
        if let Some(key) = self.view.sort.or(default_key) {
            rows.devices
                .sort_by(|a, b| sort_value(key, b).total_cmp(&sort_value(key, a)));
        }
        rows.devices.truncate(top.unwrap_or(usize::MAX));
        self.adapt_to_terminal(context);
        if let Some(table) = &mut self.table {
            table.push_interval(&rows, &mut self.text);
        }
        if let Some(lines) = &self.lines {
            lines.push_interval(&rows, &mut self.text);
        }
    }

    /// Adapts the writer to the size of the terminal, which may have changed.
    fn adapt_to_terminal(&mut self, context: &RunContext<'_>) {
        if let (Some(table), Some((columns, rows))) = (&mut self.table, context.screen_size()) {
            table.resize(columns, rows);
        }
    }
}

impl Observer for Output<'_> {
    fn begin(&mut self, run: &mut Run<'_, '_, '_>) -> Result<()> {
        let Run { intervals, context } = run;
        if self.view.since_boot {
            let is_known = intervals.since_boot(&mut |rows| {
                if let Some(table) = &mut self.table {
                    table.push_note("since boot:", &mut self.text);
                }
                self.push(rows.clone(), context);
            });
            if !is_known {
                let name = intervals.source_name();
                let name = sanitize(&name);
                context.print_error(format_args!(
                    "{name}: uptime unknown; no averages since boot"
                ));
            }
        }
        context.show(&mut self.text)
    }

    fn observe(&mut self, rows: Option<IntervalRows>, run: &mut Run<'_, '_, '_>) -> Result<()> {
        if let Some(rows) = rows
            && rows.has_found_any
        {
            self.push(rows, run.context);
        }
        run.context.show(&mut self.text)
    }

    /// Adds the summary, which after an error covers the intervals before it.
    fn end(&mut self, outcome: &Result<Exit>, run: &mut Run<'_, '_, '_>) -> Result<()> {
        if let Some(table) = &mut self.table {
            table.name_hidden(&mut self.text);
        }
        let is_interrupted = matches!(outcome, Ok(Exit::Signal(2))) && run.context.is_terminal;
        if self.view.summary || is_interrupted {
            self.adapt_to_terminal(run.context);
            if let Some(table) = &mut self.table {
                let summaries = run.intervals.summaries();
                table.push_summary(&summaries, &run.intervals.span, &mut self.text);
            }
        }
        run.context.show(&mut self.text)
    }
}

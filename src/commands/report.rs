//! `blkstat report`: writes a page about a capture, or about the running system for a time.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::analyze::{Analyzed, Sources};
use super::options::{FILE_FIRST, Host, SourceOptions, VerdictOptions, usage_error};
use crate::console::RunContext;
use crate::exit::Exit;
use crate::intervals::{Detail, DeviceSelection};
use crate::report::html::Page;
use crate::sanitize::{path_text, sanitize};
use crate::sink::{check_new_file, is_recording, is_same_file, write_page_atomically};
use crate::source::{Input, read_hostname};

#[derive(Args, Clone, Debug)]
#[command(override_usage = "blkstat report [OPTIONS] [FILE]... [DEVICE]... [INTERVAL [COUNT]]")]
pub struct Report {
    #[command(flatten)]
    source: SourceOptions,
    /// Chart only devices whose name matches
    #[arg(long, value_name = "REGEX")]
    devices_regex: Option<String>,
    /// Page to write; - is standard output (default: FILE.html here, or blkstat-HOST-TIME.html)
    #[arg(short, long, value_name = "OUT.html")]
    output: Option<PathBuf>,
    /// Overwrite the page if it exists
    #[arg(long)]
    force: bool,
    /// Leave out cgroups and processes, for pages shared outside your company
    #[arg(long)]
    no_who: bool,
    #[command(flatten)]
    verdicts: VerdictOptions,
}

impl Report {
    pub(super) fn run(&self, host: &Host, context: &mut RunContext<'_>) -> Result<Exit> {
        let (input, devices) = self.source.source(FILE_FIRST, host, context)?;
        for page in &devices {
            if page.ends_with(".html") {
                let page = sanitize(page);
                return Err(usage_error(format!(
                    "no device '{page}'; the page to write is named with -o {page}"
                )));
            }
        }
        let input = Input {
            scans_io: input.scans_io && !self.no_who,
            // The names of cgroups are also in verdicts, so the scans are ignored altogether.
            ignores_scans: self.no_who,
            ..input
        };
        let output = match &self.output {
            Some(output) => output.clone(),
            None => default_output(input.from.as_deref(), host, context),
        };
        let selection = DeviceSelection {
            total: devices.is_empty() && self.devices_regex.is_none(),
            devices,
            regex: self.devices_regex.clone(),
            ..DeviceSelection::default()
        };
        let name = path_text(&output);
        let writes_to_output = output.as_os_str() == "-";
        if !writes_to_output {
            // Check this before the analysis, which may take long.
            check_output(&output, &name, self.force, &input)?;
        }
        let time_zone = context.time_zone();
        let baselines = self
            .verdicts
            .load_baselines(host.baselines_for(&input), context);
        let sources = Sources {
            input: &input,
            selection: &selection,
            detail: Detail::Charts,
            baselines: &baselines,
        };
        let (exit, analyzed) = sources.analyze("reporting", context)?;
        let Some(Analyzed {
            report: mut analysis,
            host,
        }) = analyzed
        else {
            return Ok(exit);
        };
        analysis.time_zone = time_zone;
        analysis.is_selection = selection.names_devices();
        let capture = input.from.as_ref().map(|path| {
            let name = path.file_name().unwrap_or(path.as_os_str());
            name.display().to_string()
        });
        let page = Page {
            analysis: &analysis,
            host,
            capture,
            has_who: !self.no_who,
        };
        let html = page.html();
        if writes_to_output {
            context.emit(&mut html.into_bytes())?;
            return Ok(exit);
        }
        // Check again: another program may have written the file meanwhile.
        check_output(&output, &name, self.force, &input)?;
        write_page_atomically(&output, html.as_bytes())
            .with_context(|| format!("cannot write {name}"))?;
        // The user did not choose it.
        if self.output.is_none() {
            context.print_error(format_args!("wrote {name}"));
        }
        Ok(exit)
    }
}

/// Checks that a file can be made, or overwritten with `may_overwrite`: never a capture, which may be read or go on.
///
/// # Errors
/// If it cannot.
fn check_output(path: &Path, name: &str, may_overwrite: bool, input: &Input) -> Result<()> {
    check_new_file(path, name, may_overwrite)?;
    let mut captures = input.from.iter().chain(&input.more);
    if is_recording(path) || captures.any(|capture| is_same_file(capture, path)) {
        bail!("{name} is a capture; name another file for the page");
    }
    Ok(())
}

/// Returns the name of a page in the current directory: that of the capture with `.html` in place of its last
/// extensions, or for the running system its host and the time.
fn default_output(from: Option<&Path>, host: &Host, context: &mut RunContext<'_>) -> PathBuf {
    const EXTENSIONS: [&str; 8] = [
        ".gz", ".zst", ".txt", ".log", ".out", ".json", ".raw", ".dat",
    ];
    let Some(from) = from else {
        let name = read_hostname(&host.root).unwrap_or_default();
        let base = base_name(&name, context.clock.wall(), &context.time_zone());
        return format!("{base}.html").into();
    };
    let mut stem = match from.file_name() {
        Some(name) if name != "-" => name.as_bytes(),
        _ => b"stdin",
    };
    while let Some(rest) = EXTENSIONS
        .iter()
        .find_map(|extension| stem.strip_suffix(extension.as_bytes()))
        && !rest.is_empty()
    {
        stem = rest;
    }
    OsStr::from_bytes(&[stem, b".html"].concat()).into()
}

/// Returns the beginning of the name of a file: `blkstat-HOST-DATE-TIME`, without the domain of the host.
fn base_name(host: &str, at: Timestamp, zone: &TimeZone) -> String {
    let mut plain = String::new();
    for c in host.chars() {
        if c == '.' || plain.len() == 64 {
            break;
        }
        if c.is_ascii_alphanumeric() || "-_".contains(c) {
            plain.push(c);
        }
    }
    let time = at.to_zoned(zone.clone()).strftime("%Y%m%d-%H%M%S");
    if plain.is_empty() {
        format!("blkstat-{time}")
    } else {
        format!("blkstat-{plain}-{time}")
    }
}

//! `blkstat service`: prints the files with which systemd runs blkstat.

use clap::{Args, ValueEnum};

/// The path of the program in the files, as installed by the Debian package.
const PROGRAM: &str = "/usr/bin/blkstat";

#[derive(Args, Clone, Debug)]
#[command(
    override_usage = "blkstat service [OPTIONS] FILE",
    after_help = "The recorder and the exporter run as the user that sysusers creates. Nothing is installed or started."
)]
pub struct Service {
    /// File to print
    #[arg(value_name = "FILE")]
    file: ServiceFile,
    /// Program to start
    #[arg(long, value_name = "PATH", default_value = PROGRAM, value_parser = program_path)]
    program: String,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ServiceFile {
    /// Unit that records continuously and learns baselines: blkstat-recorder.service
    Recorder,
    /// Unit that serves metrics for Prometheus: blkstat-exporter.service
    Exporter,
    /// User of both units: sysusers.d/blkstat.conf
    Sysusers,
}

impl Service {
    /// Returns the text of the file.
    pub(super) fn text(&self) -> String {
        let text = match self.file {
            ServiceFile::Recorder => include_str!("blkstat-recorder.service"),
            ServiceFile::Exporter => include_str!("blkstat-exporter.service"),
            ServiceFile::Sysusers => include_str!("blkstat-sysusers.conf"),
        };
        text.replace(
            &format!("ExecStart={PROGRAM} "),
            &format!("ExecStart={} ", self.program),
        )
    }
}

/// Checks the path of the program. systemd would split a path with other characters.
fn program_path(word: &str) -> Result<String, String> {
    let is_plain = word
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "/._+-".contains(c));
    if is_plain && word.starts_with('/') {
        return Ok(word.to_owned());
    }
    Err("expected an absolute path of letters, digits, '.', '_', '+' and '-'".to_owned())
}

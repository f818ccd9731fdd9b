//! `blkstat service`: prints the files with which systemd runs blkstat.

use clap::{Args, ValueEnum};

#[derive(Args, Clone, Debug)]
#[command(
    override_usage = "blkstat service FILE",
    after_help = "The recorder and the exporter run as the user that sysusers creates. Nothing is installed or started."
)]
pub struct Service {
    /// File to print
    #[arg(value_name = "FILE")]
    file: ServiceFile,
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
    pub(super) fn text(&self) -> &'static str {
        match self.file {
            ServiceFile::Recorder => include_str!("blkstat-recorder.service"),
            ServiceFile::Exporter => include_str!("blkstat-exporter.service"),
            ServiceFile::Sysusers => include_str!("blkstat-sysusers.conf"),
        }
    }
}

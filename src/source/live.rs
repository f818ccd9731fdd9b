//! The machine that the program runs on, or a root that looks like one.

use std::fs::OpenOptions;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use procfs::{FromRead, Uptime};

use crate::capture::{LineFault, parse_cpu_line, parse_diskstats};
use crate::clock::Clock;
use crate::counters::{CpuTimes, Sample};
use crate::units::Moment;

/// Room for /proc/diskstats of some hundred devices, so that it takes one read and not ten.
const FIRST_READ: usize = 64 * 1024;

/// Reads samples below a root: `ROOT/proc/diskstats`, `ROOT/proc/uptime` and `ROOT/proc/stat`.
pub struct Live<'a> {
    diskstats: PathBuf,
    proc: PathBuf,
    clock: &'a dyn Clock,
    text: Vec<u8>,
}

impl<'a> Live<'a> {
    /// A source of samples of the machine below `root`, which is `/` for this one.
    pub fn new(root: &Path, clock: &'a dyn Clock) -> Self {
        let proc = root.join("proc");
        Self { diskstats: proc.join("diskstats"), proc, clock, text: Vec::with_capacity(FIRST_READ) }
    }

    /// Takes a sample into `sample`, reusing its memory. Bad lines are left out and handed to `fault`.
    ///
    /// Uptime and CPU times are `None` where they cannot be read.
    ///
    /// # Errors
    /// When /proc/diskstats cannot be read.
    pub fn read(&mut self, sample: &mut Sample, fault: impl FnMut(usize, LineFault)) -> Result<()> {
        let uptime = self.uptime();
        sample.cpu = self.cpu();
        sample.at = Moment { monotonic: Some(self.clock.monotonic()), wall: Some(self.clock.wall()), uptime };
        self.slurp(&self.diskstats.clone())?;
        parse_diskstats(&self.text, sample, fault);
        Ok(())
    }

    /// Where the devices are read from.
    pub fn diskstats(&self) -> &Path {
        &self.diskstats
    }

    fn uptime(&mut self) -> Option<u64> {
        self.slurp(&self.proc.join("uptime")).ok()?;
        let seconds = Uptime::from_read(self.text.as_slice()).ok()?.uptime;
        // The file has two decimals, so that rounding restores what it says.
        (seconds >= 0.0).then(|| (seconds * 100.0).round() as u64)
    }

    fn cpu(&mut self) -> Option<CpuTimes> {
        self.slurp(&self.proc.join("stat")).ok()?;
        self.text.split(|byte| *byte == b'\n').find_map(parse_cpu_line)
    }

    fn slurp(&mut self, path: &Path) -> Result<()> {
        self.text.clear();
        let read =
            OpenOptions::new().read(true).open(path).and_then(|mut file| file.read_to_end(&mut self.text));
        read.with_context(|| format!("cannot read {}", path.display()))?;
        Ok(())
    }
}

//! Takes samples of the running system, each with what threads of their own have read of it meanwhile.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::{HealthReader, IoScanner, Live, ScanScope};
use crate::capture::LineError;
use crate::clock::Clock;
use crate::counters::Sample;

pub struct HostReader<'a> {
    pub live: Live<'a>,
    /// `None` if cgroups and processes are not scanned.
    pub scanner: Option<IoScanner>,
    pub health: HealthReader,
    has_begun: bool,
}

impl<'a> HostReader<'a> {
    /// Starts to read the host below `root`, for samples that `clock` times.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(root: &Path, clock: &'a dyn Clock, scans: Option<ScanScope>) -> Result<Self> {
        let mut scanner = None;
        if let Some(scope) = scans {
            scanner = Some(IoScanner::start(root, clock, scope)?);
        }
        Ok(Self {
            live: Live::new(root, clock).with_host_state(),
            scanner,
            health: HealthReader::start(root, clock)?,
            has_begun: false,
        })
    }

    /// Takes a sample. Before the first one it waits a little for the threads, when that misses no deadline.
    ///
    /// # Errors
    /// Those of [`Live::read_first`], then those of [`Live::read`].
    pub fn read(
        &mut self,
        sample: &mut Sample,
        on_error: impl FnMut(usize, LineError),
    ) -> Result<()> {
        if self.has_begun {
            self.live.read(sample, on_error)?;
        } else {
            if let Some(scanner) = &self.scanner {
                scanner.wait_for_first();
            }
            self.health.wait_for_first();
            self.live.read_first(sample, on_error)?;
            self.has_begun = true;
        }
        let now = sample.at.monotonic.unwrap_or_default();
        sample.io_scan = None;
        sample.missed_scan = None;
        if let Some(scanner) = &mut self.scanner {
            (sample.io_scan, sample.missed_scan) = scanner.latest(now);
        }
        sample.health = self.health.latest(now);
        Ok(())
    }

    /// Asks for a scan that finishes when the next sample is due.
    pub fn request(&self, due: Duration) {
        if let Some(scanner) = &self.scanner {
            scanner.request(due);
        }
    }
}

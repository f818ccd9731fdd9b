//! The options for unloaded latencies, and the files in which those of the host are saved.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;

use super::operands::two_numbers;
use crate::analysis::DeviceBaseline;
use crate::intervals::BaselineOption;

/// The file for all users of the host.
const HOST_FILE: &str = "/var/lib/blkstat/baseline.json";
/// The file of a user, below the directory for state.
const USER_FILE: &str = "blkstat/baseline.json";

#[derive(Args)]
pub(super) struct BaselineArguments {
    /// Take unloaded latencies from a capture, or from a file saved with analyze --save-baseline
    #[arg(long, value_name = "FILE", conflicts_with_all = ["baseline_ms", "no_baseline"])]
    baseline: Option<PathBuf>,
    /// Unloaded latency of reads and of writes, in milliseconds
    #[arg(long, value_name = "R[,W]", value_parser = baseline_ms, conflicts_with = "no_baseline")]
    baseline_ms: Option<DeviceBaseline>,
    /// Ignore saved baselines, including those in a recording
    #[arg(long)]
    no_baseline: bool,
}

impl BaselineArguments {
    /// Returns the source that the arguments request: by default the first of `files`.
    pub(super) fn option(self, files: Vec<PathBuf>) -> BaselineOption {
        match (self.baseline, self.baseline_ms, self.no_baseline) {
            (Some(file), ..) => BaselineOption::File(file),
            (None, Some(stated), _) => BaselineOption::Stated(stated),
            (None, None, true) => BaselineOption::Learned,
            (None, None, false) => BaselineOption::Saved(files),
        }
    }
}

/// Returns the files in which baselines of the running system are saved: that of the host, then that of the user. Empty
/// for another `root`, which may describe another host.
pub(super) fn saved_files(root: &Path, environment: &dyn Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    if root != Path::new("/") {
        return Vec::new();
    }
    let directory = |name: &str| environment(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = directory("XDG_STATE_HOME").or_else(|| Some(directory("HOME")?.join(".local/state")));
    [PathBuf::from(HOST_FILE)].into_iter().chain(state.map(|state| state.join(USER_FILE))).collect()
}

/// Parses the unloaded latencies of reads and writes in milliseconds.
fn baseline_ms(word: &str) -> Result<DeviceBaseline, String> {
    let (read, write) = two_numbers(word).ok_or("expected milliseconds, such as 0.1 or 0.1,0.5")?;
    Ok(DeviceBaseline::stated(read, write))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn baselines_are_saved_for_the_host_and_for_the_user() {
        let files = |root: &str, variables: &[(&str, &str)]| -> Vec<String> {
            let value = |name: &str| {
                let (_, value) = variables.iter().find(|(variable, _)| *variable == name)?;
                Some(OsString::from(value))
            };
            let files = saved_files(Path::new(root), &value);
            files.iter().map(|path| path.display().to_string()).collect()
        };
        let home = ("HOME", "/home/u");
        assert_eq!(
            files("/", &[("XDG_STATE_HOME", "/state"), home]),
            [HOST_FILE, "/state/blkstat/baseline.json"]
        );
        for state in ["", "state"] {
            let variables = [("XDG_STATE_HOME", state), home];
            assert_eq!(files("/", &variables), [HOST_FILE, "/home/u/.local/state/blkstat/baseline.json"]);
        }
        assert_eq!(
            (files("/", &[]), files("/", &[("HOME", ".")])),
            (vec![HOST_FILE.into()], vec![HOST_FILE.into()])
        );
        assert!(files("/mnt/host", &[home]).is_empty());
    }
}

//! Reads samples from a live host or from a capture, and describes the host and its devices. Only this module opens
//! files for reading, except for the terminal and the files that `sink` appends to.
//!
//! [`Input`] says what is read. A [`SampleSource`] takes the samples, of the running system at their deadlines, and a
//! [`StepSource`] goes from one to the next, and says which of them end an interval and where time broke.

mod capture_file;
mod cgroups;
mod decompress;
mod device_resolver;
mod health;
mod host;
mod host_reader;
mod input;
mod io_scanner;
mod live;
mod parse_ahead;
mod processes;
mod replay;
mod sample_source;
pub(crate) mod small_file;
mod step_source;
mod topology;
mod trouble;
mod until_signal;

pub use self::capture_file::{KeptFile, KeptPlace};
pub use self::cgroups::cgroup_mount;
pub use self::device_resolver::DeviceResolver;
pub use self::health::HealthReader;
pub use self::host::{
    count_cpus, find_time_zone, has_process_io_capabilities, ignores_hangup, local_time_zone,
    read_hostname, read_machine, read_recording_header, running_host,
};
pub use self::host_reader::HostReader;
pub use self::input::{Input, Stacked};
pub use self::io_scanner::{IoScanner, ScanScope};
pub use self::live::{Live, Precedence};
pub use self::processes::list_ids;
pub use self::replay::{Replay, is_device_name, is_recording, is_rereadable, open_range};
pub use self::sample_source::{
    OnLiveSample, OnWarning, SampleSource, SharedInterval, check_stated, with_stated,
};
pub use self::small_file::{read_text_file, read_text_file_within};
pub use self::step_source::{Next, ReadFailure, Step, StepSource};
pub use self::topology::{list_devices, read_partitions, read_topology, reread_topology};

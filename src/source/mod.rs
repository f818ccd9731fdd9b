//! Reads samples from a live host or from a capture, and describes the host and its devices. Only this module opens
//! files for reading, except for the terminal and the files that `sink` appends to.

mod cgroups;
mod decompress;
mod device_resolver;
mod hangup;
mod host;
mod host_sources;
mod io_scanner;
mod iostat_f_dir;
mod json_file;
mod link;
mod live;
mod parse_ahead;
mod processes;
mod replay;
mod saved_file;
mod small_file;
mod timed_read;
mod timezone;
mod topology;
mod tracefs;
mod whole_file;
mod zstd;

pub use device_resolver::DeviceResolver;
pub use hangup::ignores_hangup;
pub use host::{Host, read_hostname, read_machine, read_recording_header};
pub use host_sources::{has_process_io_capabilities, read_host_sources};
pub use io_scanner::{IoScanner, ScanScope};
pub use json_file::read_json_object;
pub use live::{Live, NoBlockDevices, Precedence};
pub use replay::{Replay, copy_capture_range};
pub use saved_file::{FirstFile, read_first_file};
pub use small_file::read_text_file;
pub use timezone::{find_time_zone, local_time_zone};
pub use topology::{check_block_dir, read_partitions, read_topology, reread_topology};
pub use tracefs::{TraceError, TraceOptions, Tracer, remove_leftovers};

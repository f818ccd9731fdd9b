//! Synthetic machines, and the output of the real iostat for them.
//!
//! A machine is a file of `fixtures/machines`: a sequence of steps, each the state at one moment, one per sample.
//! [`machine`] parses it, [`layout`] writes a step as a root directory. [`case`] is a command line on a machine,
//! [`recorded`] reads all cases with their recorded output, and [`differences`] lists the allowed differences from the
//! packaged iostat.
//!
//! # The format of a machine
//!
//! One statement per line; `#` begins a comment. A step begins as a copy of the previous one.
//!
//! ```text
//! step 1000.00                     the first step, by its uptime
//! step +1.37                       a later one
//! uptime TEXT                      the text of /proc/uptime, instead of the uptime of the step
//! cpu 100 0 50 9000 5              the cpu line of /proc/stat; `cpu + 5 0 1` adds to it
//! disk 8:0 sda 5 1 80 12 ...       a whole disk with its counters, or new counters of an existing one
//! part 8:1 sda1 5 1 80 12 ...      a partition of the last disk
//! stat sda TEXT                    the text of its stat file in /sys and of its counters in /proc/diskstats
//! add sda 5 0 40 -3 =7             changes its counters: adds, with `-` subtracts, with `=` sets
//! gone sda                         removes it and its partitions
//! hide sda                         removes it from /sys only
//! dm dm-0 vg-root link             its mapped name; /dev/mapper/vg-root is a `link` or a `node`
//! link disk/by-label/data ../../sda1   a link in /dev; `unlink PATH` removes it
//! ```
//!
//! Counters are in the order of /proc/diskstats: 11, 15 or 17 of them, or 4 for a partition of an old kernel. A `!`
//! in a /sys name is a `/` here.
//!
//! # The layout of a step
//!
//! `proc/diskstats`, `proc/uptime`, `proc/stat`, `proc/devices`; `sys/block/DISK/stat`,
//! `sys/block/DISK/PART/stat`, `sys/block/DISK/dm/name`, links `sys/dev/block/MAJ:MIN`; `dev/NAME`, a node or an
//! empty file; and `flat`, which holds `diskstats`, `block` and `dev/block` side by side, as `-f` expects.
//!
//! `user/block/uDISK/stat` and `user/block/uDISK/uPART/stat` are devices that only `-f` and `+f` can find, and
//! `user/block` also has the first disk with other counters. `listed` has them too, and a `diskstats` that lists them.

pub(crate) mod case;
pub(crate) mod differences;
mod goldens;
pub(crate) mod layout;
mod live;
pub(crate) mod machine;
pub(crate) mod mask;
mod newer_options;
mod peers;
pub(crate) mod recorded;
mod replay;
pub(crate) mod rows;
mod runner;

use std::path::{Path, PathBuf};

/// Returns the directory of the fixtures.
pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

//! Invented machines, and what the real iostat says of them.
//!
//! A machine is a file of `fixtures/machines`: a chain of steps, each the state of one moment, one a sample.
//! [`machine`] reads it, [`layout`] lays a step out as a root folder. [`case`] is a command line on a machine,
//! [`table`] lists them all, [`differences`] says where blkstat rightly prints something else than the packaged
//! iostat, [`recorded`] keeps what that one printed.
//!
//! # The format of a machine
//!
//! One statement a line; `#` begins a comment. A step begins as a copy of the one before it.
//!
//! ```text
//! step 1000.00                     the first step, by its uptime
//! step +1.37                       a later one
//! uptime TEXT                      the whole of /proc/uptime, in place of what the step says
//! cpu 100 0 50 9000 5              the cpu line of /proc/stat; `cpu + 5 0 1` adds to it
//! disk 8:0 sda 5 1 80 12 ...       a whole disk with its counters, or those of one that is there already
//! part 8:1 sda1 5 1 80 12 ...      a partition of the last disk
//! stat sda TEXT                    the whole of its stat file in /sys and of its counters in /proc/diskstats
//! add sda 5 0 40 -3 =7             moves its counters: by so many, `-` back, `=` to
//! gone sda                         takes it away, with its partitions
//! hide sda                         takes it away from /sys alone
//! dm dm-0 vg-root link             its mapped name; /dev/mapper/vg-root is a `link` or a `node`
//! link disk/by-label/data ../../sda1   a link in /dev; `unlink PATH` takes it away
//! ```
//!
//! Counters are written as the kernel prints them after the name: 11, 15 or 17 of them, or 4 of an old
//! partition. A `!` of a name in /sys is a `/` here.
//!
//! # The layout of a step
//!
//! `proc/diskstats`, `proc/uptime`, `proc/stat`, `proc/devices`; `sys/block/DISK/stat`,
//! `sys/block/DISK/PART/stat`, `sys/block/DISK/dm/name`, links `sys/dev/block/MAJ:MIN`; `dev/NAME`, a node or an
//! empty file; and `flat`, which holds `diskstats`, `block` and `dev/block` side by side as `-f` wants them.

pub(crate) mod case;
pub(crate) mod diff;
pub(crate) mod differences;
pub(crate) mod fallen;
pub(crate) mod layout;
pub(crate) mod machine;
pub(crate) mod mask;
mod options;
#[path = "../outcomes/mod.rs"]
pub(crate) mod outcomes;
pub(crate) mod recorded;
pub(crate) mod rows;
mod special;
pub(crate) mod table;
mod usage;

use std::path::{Path, PathBuf};

/// The folder of the repository's fixtures.
pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

//! A host with a stack of devices, a hung disk and a hot-plugged one, and the views of it.

use blkstat::exit::Exit;
use serde_json::Value;

use crate::support::fake_root::{FakeRoot, busy_line};
use crate::support::text::json_lines;
use crate::synthetic::run_on;

/// Writes the state of a host at `second`: dm-0 on sda2 on sda is busy; sdb has its accounting disabled; sdc hangs from
/// second 2 on; sdd exists in seconds 3 and 4; loop0 is idle.
pub(crate) fn write_host(host: &FakeRoot, second: u64) {
    if second == 0 {
        for name in ["sda", "sdb", "sdc", "dm-0", "loop0"] {
            host.iostats(name, name != "sdb");
        }
        host.file("sys/block/sda/dev", "8:0")
            .file("sys/block/sda/sda2/dev", "8:2")
            .file("sys/block/sda/sda2/partition", 2)
            .file("sys/block/dm-0/dev", "253:0")
            .file("sys/block/dm-0/dm/name", "vg0-root")
            .file("sys/block/dm-0/dm/uuid", "LVM-xyz")
            .file("sys/block/dm-0/slaves/sda2/dev", "8:2")
            .backed("loop0", "/images/a.img")
            .file(
                "proc/self/mountinfo",
                "30 1 253:0 / / rw - ext4 /dev/mapper/vg0-root rw",
            );
    }
    let mut lines = busy_line("7 0", "loop0", 0, 0);
    lines += &busy_line("8 0", "sda", 1000 + 100 * second, 0);
    lines += &busy_line("8 2", "sda2", 1000 + 100 * second, 0);
    lines += &busy_line("8 16", "sdb", 5, 0);
    lines += &busy_line("8 32", "sdc", 50 + second.min(2), 4);
    if (3..5).contains(&second) {
        lines += &busy_line("8 48", "sdd", 10, 0);
    }
    lines += &busy_line("253 0", "dm-0", 1000 + 100 * second, 0);
    let ticks = format!("{} 0 {} {} 0 0 0 0", 20 * second, 10 * second, 170 * second);
    host.diskstats(&lines)
        .uptime(format!("{}.00", 100 + second))
        .cpu(&ticks, 3);
    host.pressure(250_000 * second, 50_000 * second);
}

/// Runs blkstat for `seconds` intervals of one second, without a terminal. Returns standard output, standard error and
/// how it ended.
pub(crate) fn output(options: &str, seconds: u64) -> (String, String, Exit) {
    run_on(write_host, options, seconds)
}

pub(crate) fn json(options: &str, seconds: u64) -> Vec<Value> {
    let (out, err, _) = output(&format!("--json {options}"), seconds);
    assert_eq!(err, "");
    json_lines(&out)
}

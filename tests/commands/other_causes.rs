//! Other causes than the disk: what the host shows where no device is the bottleneck, live, recorded and analyzed.

use std::fs;
use std::path::Path;

use blkstat::exit::Exit;
use serde_json::Value;

use crate::support::fake_root::FakeRoot;
use crate::support::program::{blkstat, output};
use crate::synthetic::{reads_line, run_on};

/// The load of a host in each second: shares of the time that tasks waited, in percent, and reads of sda.
#[derive(Clone, Copy, Default)]
struct Load {
    io_pressure_pct: u64,
    memory_pressure_pct: u64,
    swapped_in: u64,
    reads: u64,
    await_us: u64,
}

/// Writes the state of a host after `second` seconds of this load. sda2, on sda, is swap.
fn write_host(host: &FakeRoot, load: Load, second: u64) {
    if second == 0 {
        host.disk("sda", "8:0", 1000)
            .part("sda", "sda2", "8:2", 100)
            .file("dev/sda2", "")
            .mounts(&[("8:1", "/", "/dev/sda1")])
            .file(
                "proc/swaps",
                "Filename Type Size Used Priority\n/dev/sda2 partition 102396 8 -2",
            );
    }
    // A load that grows at the same latency is far from the limit of its device.
    let rate = |second: u64| load.reads * (10 + second % 3 + second / 10 * 5) / 10;
    let reads: u64 = (1..=second).map(rate).sum();
    let ms = reads * load.await_us / 1000;
    let lines = ["8 0 sda", "8 2 sda2"].map(|device| reads_line(device, reads, ms, 0, ms));
    host.diskstats(&lines.concat())
        .uptime(format!("{}.00", 100 + second));
    host.cpu(
        &format!("{} 0 {} {} 0 0 0 0", 20 * second, 10 * second, 170 * second),
        0,
    );
    host.pressure(10_000 * load.io_pressure_pct * second, 0);
    host.memory_pressure(10_000 * load.memory_pressure_pct * second, 0);
    host.swapped(load.swapped_in * second, 0);
}

/// Runs blkstat on such a host for `seconds` intervals of one second.
fn run(options: &str, load: Load, seconds: u64) -> String {
    let (out, err, exit) = run_on(
        |host, second| write_host(host, load, second),
        options,
        seconds,
    );
    assert_eq!((err.as_str(), exit), ("", Exit::Success), "{out}");
    out
}

fn analyze(load: Load) -> Value {
    serde_json::from_str(&run("analyze --json 1 40", load, 40)).unwrap()
}

fn sentences(list: &Value) -> String {
    list.as_array()
        .unwrap()
        .iter()
        .map(|one| one.as_str().unwrap())
        .collect::<Vec<_>>()
        .join("\n")
}

/// A network file system hangs; the disk is idle.
const NETWORK: Load = Load {
    io_pressure_pct: 85,
    memory_pressure_pct: 0,
    swapped_in: 0,
    reads: 0,
    await_us: 0,
};

#[test]
fn waits_that_no_device_shows_are_named() {
    let document = analyze(NETWORK);
    assert!(
        sentences(&document["not_the_disk"]).starts_with("No device did any I/O."),
        "{document}"
    );
    let found = sentences(&document["host_findings"]);
    assert!(
        found.starts_with("Tasks waited for I/O that no device shows: at least one waited 85%"),
        "{found}"
    );
    assert!(
        found.contains("network file system") && found.contains("cgroup io.max"),
        "{found}"
    );
    assert_eq!(document["host"]["hidden_io_wait_pct"]["mean"], 85.0);
    let text = run("analyze 1 40", NETWORK, 40);
    assert!(
        text.contains("\nNot the disk\n    No device did") && text.contains("\nHost\n    Tasks"),
        "{text}"
    );
}

/// The lines of an NFS mount in mountstats, whose connections sent and received so many messages, and whose reads are so
/// many, with the times that they were sent.
fn nfs_mount(
    mount: &str,
    [sent, received]: [u64; 2],
    [reads, transmissions, ms]: [u64; 3],
) -> String {
    format!(
        "device filer:/export mounted on {mount} with fstype nfs4 statvers=1.1\n\topts:\trw,vers=4.2,proto=tcp\n\tage:\t9\n\
         \tcaps:\tcaps=0xfff,wtmult=512\n\tsec:\tflavor=1,pseudoflavor=1\n\tevents:\t{}\n\tbytes:\t0 0 0 0 0 0 0 0 \n\
         \tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n\
         \txprt:\ttcp 913 1 1 0 -7 {} {} 0 5 0 2 0 0\n\txprt:\ttcp 771 1 1 0 0 1 1 0 5 0 2 0 0\n\
         \tper-op statistics\n\t        NULL: 1 1 0 44 24 0 0 0 0\n\
         \t        READ: {reads} {transmissions} 0 9 9 0 {ms} {ms} 0\n\n",
        ["0"; 27].join(" "),
        sent - 1,
        received - 1,
    )
}

/// Writes mountstats after so many seconds. After the 35th second 10 reads of 2 ms end in each, until a server hangs from the
/// 45th on; one request was given up long ago, and one was sent twice.
fn write_nfs(host: &FakeRoot, second: u64) {
    let reads = 10 * (second.clamp(35, 45) - 35);
    let unanswered = if second > 45 { 4 } else { 1 };
    let mount = nfs_mount(
        "/srv/a\\040b",
        [reads + unanswered + 2, reads + 1],
        [reads, reads + 1, 2 * reads],
    );
    let text = format!("device proc mounted on /proc with fstype proc\n{mount}");
    host.file(
        "proc/self/mountstats",
        text + "device tmpfs mounted on /run with fstype tmpfs\n",
    );
}

/// Runs blkstat on a host whose disk is idle, and whose tasks wait from the 45th second on.
fn run_nfs(options: &str) -> String {
    let write = |host: &FakeRoot, second: u64| {
        write_host(host, Load::default(), second);
        host.pressure(900_000 * second.saturating_sub(45), 0);
        write_nfs(host, second);
    };
    let (out, err, exit) = run_on(write, options, 70);
    assert_eq!(exit, Exit::Success, "{err}");
    out
}

#[test]
fn nfs_mounts_that_tasks_may_wait_for_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("recording").display().to_string();
    run_nfs(&format!("record {file} 1 70"));
    let text = "NFS at /srv/a b has had requests without an answer for ";
    for out in [
        run_nfs("--json sda 1 70"),
        blkstat(&format!("--json sda --from {file}")).run().out,
    ] {
        let waits: Vec<Value> = out
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["nfs_waits"].clone())
            .collect();
        let has_text = |waits: &Value| waits[0].as_str().is_some_and(|wait| wait.starts_with(text));
        assert_eq!(waits.len(), 70);
        assert!(
            waits[..45]
                .iter()
                .all(|waits| waits == &serde_json::json!([])),
            "{waits:?}"
        );
        assert!(waits[55..].iter().all(has_text), "{waits:?}");
    }
    assert_eq!(analyze(NETWORK)["host"]["nfs_waits"], serde_json::json!([]));
    let out = blkstat(&format!("analyze {file}"))
        .run()
        .out
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(out.contains(&format!("At worst: {text}20 s.")), "{out}");
    let out = blkstat(&format!("--explain --from {file}")).run().out;
    let last = out.rsplit("tasks wait").next().unwrap();
    assert!(
        last.contains("or more: NFS at /srv/a") && !last.contains("cgroup io.max"),
        "{out}"
    );
}

#[test]
fn waits_in_any_tenth_of_a_second_are_judged() {
    // Tasks wait in the first half of each second, and the judge takes a second at a time.
    let write = |host: &FakeRoot, tenth: u64| {
        let second = 42 + tenth / 10;
        write_host(host, Load::default(), if tenth == 0 { 0 } else { second });
        let since_hang = tenth.saturating_sub(30);
        host.pressure(
            900_000 * (since_hang / 10) + 180_000 * (since_hang % 10).min(5),
            0,
        );
        write_nfs(host, second);
    };
    let (out, err, exit) = run_on(write, "--json sda 0.1 200", 200);
    assert_eq!(exit, Exit::Success, "{err}");
    let last: Value = serde_json::from_str(out.lines().nth(193).unwrap()).unwrap();
    let waits = last["nfs_waits"][0].as_str().unwrap_or_default();
    assert!(waits.starts_with("NFS at /srv/a b has had"), "{last}");
}

#[test]
fn an_idle_device_alone_does_not_clear_the_others() {
    let document: Value =
        serde_json::from_str(&run("analyze --json sda 1 40", NETWORK, 40)).unwrap();
    assert_eq!(
        (
            &document["devices"][0]["verdict"],
            &document["not_the_disk"]
        ),
        (&"idle".into(), &Value::Null)
    );
}

#[test]
fn the_live_view_names_waits_that_no_device_shows_once() {
    let note = "\n└ tasks wait for I/O that no device shows, 85% of the time or more: a network file system";
    assert_eq!(run("1 3", NETWORK, 3).matches(note).count(), 1);
    // The reads of the disk take as long as tasks wait.
    let disk = Load {
        reads: 100,
        await_us: 8000,
        ..NETWORK
    };
    assert!(!run("1 2", disk, 2).contains("no device shows"));
    assert!(!sentences(&analyze(disk)["host_findings"]).contains("no device shows"));
}

#[test]
fn low_pressure_is_not_called_a_proof() {
    let idle = analyze(Load::default());
    let found = sentences(&idle["not_the_disk"]);
    assert!(
        found.contains("Tasks hardly waited for I/O: at least one waited 0% of the time."),
        "{found}"
    );
    assert!(
        found.contains("Asynchronous I/O (io_uring, libaio) does not count"),
        "{found}"
    );
}

#[test]
fn a_short_memory_and_swap_devices_are_named() {
    let load = Load {
        io_pressure_pct: 30,
        memory_pressure_pct: 40,
        swapped_in: 1200,
        reads: 100,
        await_us: 5000,
    };
    let document = analyze(load);
    let found = sentences(&document["host_findings"]);
    assert!(
        found.contains("Memory is short: at least one task waited for memory 40% of the time"),
        "{found}"
    );
    assert!(
        found.contains("swapped in 1,200 pages/s") && found.contains("(swap: sda2)"),
        "{found}"
    );
    let with_partition = run("analyze sda2 1 40", load, 40);
    assert!(
        with_partition.contains("sda2 is swap: "),
        "{with_partition}"
    );
    for (width, header) in [
        (130, "io 30% some 0% full     blocked 0    mem 40% some\n"),
        (60, "io 30% some 0% full     mem 40% some\n"),
        (45, "io 30% some 0% full\n"),
    ] {
        let out = run(&format!("--width {width} 1 2"), load, 2);
        assert!(out.contains(header), "{width}: {out}");
    }
    let calm = Load {
        memory_pressure_pct: 4,
        ..load
    };
    assert!(!run("--width 130 1 2", calm, 2).contains("mem "));
}

#[test]
fn a_device_that_hardly_anyone_waits_for_is_not_the_cause() {
    let busy = analyze(Load {
        reads: 600,
        await_us: 1000,
        ..Load::default()
    });
    assert_eq!(
        (&busy["devices"][0]["verdict"], &busy["not_the_disk"]),
        (&"ok".into(), &Value::Null)
    );
    let ok = analyze(Load {
        reads: 40,
        await_us: 1000,
        ..Load::default()
    });
    let found = sentences(&ok["not_the_disk"]);
    assert!(
        found.starts_with("No one waited long for sda, sda2: 0.0"),
        "{ok}"
    );
    assert!(
        found.contains("\n85% CPU available (user 10%, system 5.0%).\n"),
        "{found}"
    );
}

#[test]
fn nothing_is_claimed_while_a_device_is_in_trouble() {
    for capture in ["capped-3000", "sweep-randread", "stalls"] {
        let (out, _, _) = output(
            &format!("analyze --json fixtures/captures/{capture}.txt"),
            "",
        );
        let document: Value = serde_json::from_str(&out).unwrap();
        let devices = document["devices"].as_array().unwrap();
        let is_fine = |device: &Value| matches!(device["verdict"].as_str(), Some("ok" | "idle"));
        assert!(
            document["not_the_disk"].is_null() && !devices.iter().all(is_fine),
            "{capture}"
        );
    }
}

/// Records such a host for `seconds` into `file`.
fn record(file: &Path, load: Load, seconds: u64) {
    run(
        &format!("record {} 1 {seconds}", file.display()),
        load,
        seconds,
    );
}

#[test]
fn a_recording_replays_memory_pressure_swapping_and_swap_devices() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("host.txt");
    let load = Load {
        memory_pressure_pct: 40,
        swapped_in: 1200,
        ..NETWORK
    };
    record(&file, load, 10);
    let document: Value =
        serde_json::from_str(&output(&format!("analyze --json {}", file.display()), "").0).unwrap();
    let found = sentences(&document["host_findings"]);
    assert_eq!(found.lines().count(), 3, "{found}");
    assert!(
        found.contains("waited 85% of the time") && found.contains("(swap: sda2)"),
        "{found}"
    );
    let (tree, _, _) = output(&format!("devices --from {}", file.display()), "");
    assert!(
        tree.lines()
            .any(|line| line.contains("sda2") && line.contains("[SWAP]")),
        "{tree}"
    );
    // Recordings of earlier versions lack the numbers.
    let old = fs::read_to_string(&file).unwrap();
    let fields = [",\"memory_pressure_us\":[", ",\"swapped_pages\":["];
    let without = |line: &str| {
        fields.iter().fold(line.to_owned(), |line, field| {
            match line.split_once(field) {
                Some((before, rest)) => before.to_owned() + rest.split_once(']').unwrap().1,
                None => line,
            }
        })
    };
    let old: Vec<String> = old.lines().map(without).collect();
    let (out, err, _) = output("--json --from - sda", old.join("\n") + "\n");
    let line: Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
    assert_eq!(err, "");
    assert!(
        line["memory_pressure_some_pct"].is_null() && line["io_pressure_some_pct"] == 85.0,
        "{line}"
    );
}

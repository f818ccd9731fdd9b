//! Metrics of a host while it changes, the text file, and the end.

use std::fs::{read_to_string, write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::support::fake_root::{FakeRoot, busy_line};
use crate::support::http::Exporter;
use crate::support::process::{send, wait_until};
use crate::support::program::blkstat;

/// Replaces /proc/diskstats as a whole, as the kernel prints it.
fn replace_diskstats(host: &FakeRoot, lines: &str) {
    let path = host.path().join("proc/diskstats");
    let temporary = host.path().join("proc/diskstats.new");
    write(&temporary, lines).unwrap();
    std::fs::rename(temporary, path).unwrap();
}

fn host() -> FakeRoot {
    let host = FakeRoot::in_memory();
    host.disk("sda", "8:0", 1024)
        .disk("sdb", "8:16", 1024)
        .part("sda", "sda1", "8:1", 512)
        .uptime("1000.00");
    host.virtual_device("loop0", "7:0", 16)
        .mapped("dm-0", "253:0", 512, "vg0-\"root", "LVM-a")
        .on("dm-0", &["sda1"]);
    host.mounts(&[(
        "8:16",
        "/var/lib/kubelet/pods/1f-2e/volumes/kubernetes.io~csi/pvc-7/mount",
        "/dev/sdb",
    )]);
    host.file("sys/block/sda/device/model", "QEMU HARDDISK")
        .file("sys/block/sda/device/serial", "S1 2");
    let lines = [
        ("8 0", "sda"),
        ("8 1", "sda1"),
        ("8 16", "sdb"),
        ("253 0", "dm-0"),
    ]
    .map(|(number, name)| busy_line(number, name, 100, 0));
    host.diskstats(&(lines.concat() + &busy_line("7 0", "loop0", 0, 0)));
    host
}

#[test]
fn volumes_disks_and_partitions_have_different_identities() {
    let host = host();
    let root = host.path().display();
    let exporter = Exporter::start(&format!("--root {root}"));
    let text = exporter.get("/metrics").text().to_owned();
    for line in [
        "blkstat_disk_info{device=\"sda\",name=\"sda\",kind=\"disk\",role=\"physical\",model=\"QEMU HARDDISK\",serial=\"S1_2\",identity=\"serial:S1_2\"} 1",
        "blkstat_disk_info{device=\"sdb\",name=\"sdb\",kind=\"disk\",role=\"physical\",model=\"\",serial=\"\",identity=\"\",pv=\"pvc-7\",pod_uid=\"1f-2e\"} 1",
        "blkstat_disk_info{device=\"dm-0\",name=\"vg0-\\\"root\",kind=\"lvm\",role=\"stacked\",model=\"\",serial=\"\",identity=\"dm:LVM-a\"} 1",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(!text.contains("device=\"sda1\"") && !text.contains("device=\"loop0\""));
    let all = Exporter::start(&format!("--root {root} --partitions --all"));
    let text = all.get("/metrics").text().to_owned();
    assert!(text.contains("{device=\"sda1\"") && text.contains("{device=\"loop0\""));
    let one = Exporter::start(&format!("--root {root} sdb"));
    let text = one.get("/metrics").text().to_owned();
    assert!(text.contains("{device=\"sdb\"") && !text.contains("{device=\"sda\""));
}

#[test]
fn series_of_a_device_end_when_it_disappears() {
    let host = host();
    let exporter = Exporter::start(&format!("--root {} 50ms", host.path().display()));
    assert!(exporter.get("/metrics").text().contains("device=\"sdb\""));
    replace_diskstats(&host, &busy_line("8 0", "sda", 200, 0));
    let has_sdb = || exporter.get("/metrics").text().contains("device=\"sdb\"");
    assert!(wait_until(|| !has_sdb()));
    let text = exporter.get("/metrics").text().to_owned();
    assert!(text.contains("blkstat_disk_reads_completed_total{device=\"sda\"} 200\n"));
    // The requests since the start of blkstat, each of 2 ms.
    assert!(text.contains(
        "blkstat_disk_interval_latency_seconds_count{device=\"sda\",direction=\"read\"} 100\n"
    ));
    assert!(text.contains(
        "blkstat_disk_interval_latency_seconds_sum{device=\"sda\",direction=\"read\"} 0.2\n"
    ));
    assert!(
        text.contains("direction=\"read\",le=\"0.001\"} 0\n")
            && text.contains("direction=\"read\",le=\"0.003\"} 100\n")
    );
}

#[test]
fn the_text_file_is_there_from_the_start_and_removed_at_the_end() {
    let host = host();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("blkstat.prom");
    let arguments = format!(
        "export --root {} --textfile {} 10ms",
        host.path().display(),
        path.display()
    );
    let mut child = blkstat(&arguments).spawn(Stdio::null(), Stdio::null());
    assert!(wait_until(|| path.exists()));
    let text = read_to_string(&path).unwrap();
    assert!(
        text.contains("\nblkstat_disk_reads_completed_total{device=\"sda\"} 100\n"),
        "{text}"
    );
    assert!(!text.contains("# EOF") && !text.contains("# UNIT"));
    send(&child, Signal::TERM);
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn node_exporter_can_read_the_text_file_of_another_user() {
    let (host, folder) = (host(), tempfile::tempdir().unwrap());
    let path = folder.path().join("blkstat.prom");
    let arguments = format!(
        "export --root {} --textfile {}",
        host.path().display(),
        path.display()
    );
    let script = format!(
        "umask 077; exec {} {arguments}",
        env!("CARGO_BIN_EXE_blkstat")
    );
    let mut child = Command::new("sh")
        .args(["-c", &script])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    assert!(wait_until(|| path.exists()));
    let mode = path.metadata().unwrap().permissions().mode();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(mode & 0o777, 0o644);
}

#[test]
fn what_cannot_be_exported_is_said_in_a_line() {
    let host = host();
    let root = host.path().display();
    let taken = Exporter::start(&format!("--root {root}"));
    for (arguments, message, code) in [
        (String::new(), "nothing to export to; use --listen PORT", 2),
        (
            format!("--listen {}", taken.address),
            "cannot listen at 127.0.0.1:",
            2,
        ),
        (
            "--textfile /nosuch/x.prom".to_owned(),
            "cannot write /nosuch/x.prom: No such file or directory",
            2,
        ),
        (
            "--textfile x.txt".to_owned(),
            "node_exporter reads only files whose names end in .prom",
            2,
        ),
        ("--listen 0 nosuch".to_owned(), "no such device 'nosuch'", 1),
        (
            "--listen 0 --begin 16:04".to_owned(),
            "--begin needs a capture",
            2,
        ),
        (
            "--label a=b --listen 0".to_owned(),
            "--label needs --from FILE",
            2,
        ),
        (
            "--from x --label a=b --label a=c".to_owned(),
            "--label a is given more than once",
            2,
        ),
        (
            "--listen example.com:80".to_owned(),
            "expected a port, or an IP address and a port",
            2,
        ),
        ("--listen 0 0".to_owned(), "invalid INTERVAL '0'", 2),
    ] {
        let outcome = blkstat(&format!("export --root {root} {arguments}")).run();
        assert!(
            outcome.err.contains(message) && outcome.err.lines().count() == 1,
            "{}",
            outcome.transcript()
        );
        assert_eq!(outcome.code, code, "{}", outcome.transcript());
    }
}

#[test]
fn the_metrics_of_one_interval_are_printed_once() {
    let host = host();
    let root = host.path().display();
    let out = blkstat(&format!("export --root {root} --once 0.05")).run();
    assert_eq!((out.err.as_str(), out.code), ("", 0));
    assert!(
        out.out
            .contains("blkstat_disk_reads_completed_total{device=\"sda\"}"),
        "{}",
        out.out
    );
    let excluded = blkstat(&format!("export --root {root} --once --exclude ^sd 0.05")).run();
    assert!(!excluded.out.contains("device=\"sda\""), "{}", excluded.out);
    assert!(excluded.out.contains("device=\"dm-0\""), "{}", excluded.out);
    for words in [
        "--once --listen 0",
        "--once --from fixtures/captures/mixed.txt",
    ] {
        assert_eq!(blkstat(&format!("export {words}")).run().code, 2, "{words}");
    }
}

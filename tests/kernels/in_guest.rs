//! Tests that run in the guest, where the kernel has histogram triggers and a null block device is under load. The script
//! `guest_latency` runs them there, one after the other; elsewhere they are ignored.

use std::fs;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use blkstat::clock::RealClock;

use crate::support::in_process::in_process;

/// Returns what runs of blkstat have in tracefs: instances and synthetic events.
fn traces() -> Vec<String> {
    let tracing = "/sys/kernel/tracing";
    let entries = fs::read_dir(format!("{tracing}/instances")).unwrap();
    let instances = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    // The script of the guest has some, too.
    let instances = instances.filter(|name| !name.starts_with("holder"));
    let events = fs::read_to_string(format!("{tracing}/synthetic_events")).unwrap();
    instances.chain(events.lines().map(str::to_owned)).collect()
}

/// An output that cannot be written to: the program panics.
#[derive(Default)]
struct Panicking {
    /// The traces when it was written to.
    traces: Vec<String>,
}

impl Write for Panicking {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        self.traces = traces();
        panic!("as intended");
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
#[ignore = "runs in a guest"]
fn a_panic_leaves_nothing() {
    let mut out = Panicking::default();
    let run = || {
        in_process("latency --json --max-overhead 100 0.5").run_to(&mut out, &RealClock::new(None))
    };
    let outcome = catch_unwind(AssertUnwindSafe(run));
    assert!(outcome.is_err(), "nothing was written: {outcome:?}");
    assert!(
        out.traces.iter().any(|name| name.starts_with("blkstat_")),
        "{:?}",
        out.traces
    );
    assert_eq!(traces(), [""; 0]);
}

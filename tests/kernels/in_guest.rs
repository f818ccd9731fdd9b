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
    for command in ["latency --json", "who --trace --json"] {
        let mut out = Panicking::default();
        let run = || {
            in_process(&format!("{command} --max-overhead 100 0.5")).run_to(&mut out, &RealClock::new(None))
        };
        let outcome = catch_unwind(AssertUnwindSafe(run));
        assert!(outcome.is_err(), "{command} did not write anything: {outcome:?}");
        assert!(out.traces.iter().any(|name| name.starts_with("blkstat_")), "{command}: {:?}", out.traces);
        assert_eq!(traces(), [""; 0], "{command}");
    }
}

#[cfg(feature = "top")]
#[test]
#[ignore = "runs in a guest"]
fn the_full_screen_traces_only_while_a_page_is_open() {
    use std::thread;
    use std::time::{Duration, Instant};

    use crate::support::session::Session;

    const MAX_WAIT: Duration = Duration::from_secs(30);
    let wait_for = |is_traced: bool| {
        let start = Instant::now();
        while traces().is_empty() == is_traced {
            assert!(start.elapsed() < MAX_WAIT, "{:?} after {MAX_WAIT:?}", traces());
            thread::sleep(Duration::from_millis(50));
        }
    };
    let mut session = Session::start("--trace --max-overhead 100 nullb0 1", (120, 40), &[]);
    session.wait_for("q quit");
    session.wait_for("nullb0");
    assert_eq!(traces(), [""; 0], "no page is open");
    session.press("\r", "p99.9");
    // Of the latencies and of the threads.
    let open = traces();
    assert!(["_l0", "_u0"].iter().all(|end| open.iter().any(|name| name.ends_with(end))), "{open:?}");
    session.wait_for("who: fio");
    let screen = session.screen();
    let of_kind = |kind: &str| {
        let cells = screen.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let found = cells.into_iter().find(|cells| cells.first() == Some(&kind));
        found.unwrap_or_else(|| panic!("no {kind} in {screen}"))
    };
    let titles = ["requests", "count", "p50", "p95", "p99", "p99.9", "max", "matched"];
    assert_eq!(of_kind("requests"), titles, "{screen}");
    let read = of_kind("read");
    assert_eq!(read.len(), titles.len(), "{screen}");
    assert!(read[1].parse::<u64>().unwrap() > 0, "{screen}");
    assert!(read[2..7].iter().all(|cell| cell.ends_with('s')), "{screen}");
    session.press("\x1b", "Enter detail");
    wait_for(false);
    session.press("\r", "p99.9");
    wait_for(true);
    session.press("q", "\x1b[?1049l");
    assert_eq!(session.end(), 0, "{}", session.text());
    assert_eq!(traces(), [""; 0], "after the end");
}

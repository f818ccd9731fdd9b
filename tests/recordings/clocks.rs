//! Recordings during which the clocks change.

use std::fs;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use blkstat::clock::{Clock, WaitOutcome};
use blkstat::exit::Exit;
use jiff::Timestamp;

use super::lab::{Lab, replay};
use crate::support::clock::ManualClock;
use crate::support::in_process::of_plan;

/// A clock whose wall-clock time is set back by an hour after a second.
struct SetBackClock<'a>(ManualClock<'a>);

impl Clock for SetBackClock<'_> {
    fn monotonic(&self) -> Duration {
        self.0.monotonic()
    }

    fn wall(&self) -> Timestamp {
        let is_set_back = self.monotonic() >= Duration::from_secs(1);
        self.0.wall() - Duration::from_secs(if is_set_back { 3600 } else { 0 })
    }

    fn wait(&self, deadline: Option<Duration>, input: Option<BorrowedFd<'_>>) -> WaitOutcome {
        self.0.wait(deadline, input)
    }
}

#[test]
fn a_clock_that_is_set_and_a_host_that_is_suspended_are_noted() {
    let lab = Lab::new();
    let uptime = lab.root().join("proc/uptime");
    let clock = SetBackClock(lab.clock(0, |n| {
        if n >= 8 {
            fs::write(&uptime, format!("{}.25 5.00\n", 400 + n)).unwrap();
        }
        WaitOutcome::Due
    }));
    let recorder = of_plan(lab.plan(lab.options("a.txt", 12)));
    assert_eq!(
        recorder.run(&clock),
        (String::new(), String::new(), Exit::Success)
    );
    let (samples, warnings) = replay(&lab.path("a.txt"));
    assert_eq!(samples.len(), 13);
    assert!(samples.iter().all(|sample| sample.segment == 0));
    // A wall clock goes on while the host is suspended. This one did not, as if it had been set back.
    assert_eq!(
        warnings,
        [
            "wall clock was set back by 3600.0 s",
            "host was suspended for 301 s",
            "wall clock was set back by 300.8 s"
        ]
    );
}

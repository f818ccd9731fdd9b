//! What the verdicts mean.

use crate::judge::Verdict;

/// Returns what a verdict means; `None` is none at all.
pub fn verdict_meaning(verdict: Option<Verdict>) -> &'static str {
    let Some(verdict) = verdict else {
        return "no data: the device appeared in this interval, its counters were reset, or the kernel gives no request times";
    };
    match verdict {
        Verdict::Stalled => {
            "for at least a second, requests were in flight and none completed; or some requests hang while others complete; or the device is suspended, frozen or being reset while something waits for it"
        }
        Verdict::Throttled => {
            "a cgroup that does most of the I/O of the device has reached its limit, so its requests wait above the device"
        }
        Verdict::Capped => {
            "the rate stays constant while requests wait: something limits it, such as a cloud volume"
        }
        Verdict::Saturated => {
            "requests take at least 3 times as long as unloaded, with two or more in flight at a time"
        }
        Verdict::Slow => {
            "requests take at least 3 times as long as unloaded, but not because of more load: few are in flight at a time, or the device does less work than before. Or it is slower than its peers"
        }
        Verdict::Queueing => {
            "two or more requests are in flight at a time and take at least 1.5 times as long as unloaded: they wait a little for each other"
        }
        Verdict::Busy => {
            "two or more requests are in flight at a time, and nothing shows whether they wait for each other or are served at the same time"
        }
        Verdict::AccountingOff => {
            "the kernel does not count this device's requests (queue/iostats is 0)"
        }
        Verdict::Ok => {
            "requests do not wait for each other and take about as long as unloaded; or they wait at a device above while this one is mostly idle"
        }
        Verdict::Idle => "nothing completed and nothing was in flight",
    }
}

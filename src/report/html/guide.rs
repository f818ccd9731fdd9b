//! How to read the page.

use super::escape::escape;
use crate::report::manual::verdict_meanings;

/// Each kind of panel with its explanation and the question that it answers.
const PANELS: [&str; 15] = [
    "<dt>Incidents<dd>What happened, and what belongs together? Devices that are stacked on each other and in trouble at the same time are one incident. The first device is the one that suffers: the topmost whose requests take longer.",
    "<dt>Verdict band<dd>When was the device in trouble? The worst verdict of each moment; hatched where the data support no verdict.",
    "<dt>Latency<dd>How long do requests take? The mean of each interval on a logarithmic scale; the gray lines are the unloaded latency and the latency from which the device counts as saturated. Above the upper line with a long queue, requests wait for each other.",
    "<dt>Operations, bandwidth<dd>How much does the workload demand? A rate that is flat while the queue grows is a limit.",
    "<dt>Queue<dd>How many requests wait or are being served? The line is the mean over an interval; the dots are requests in flight at its end. Dots far above the line mean short bursts.",
    "<dt>Utilization<dd>How often is there any request at all? 100% does not mean that a device which works in parallel is at its limit. The kernel's count is often wrong: values that cannot be true are dotted and marked with ?, and the thin line is the upper bound that the request times leave.",
    "<dt>Saturation<dd>How much slower than unloaded are requests? Latency as a multiple of unloaded latency for requests of that size.",
    "<dt>I/O size, merged requests<dd>Did the load change? Large or merged requests are sequential, small ones random; latencies of requests of different sizes are not comparable.",
    "<dt>Throughput against concurrency<dd>How much more could it do? A dot for each moment, rings for the mean at a level. Past the knee more concurrency adds latency instead of throughput.",
    "<dt>Latency against concurrency<dd>Does latency grow because of the load? If it is high at the left too, the device itself is slow.",
    "<dt>Heat map of interval means<dd>Does it have one speed or several? Requests by the mean latency of their interval: slow single requests are hidden in means.",
    "<dt>Where requests wait<dd>At which layer? A limit above a disk holds requests at the upper device while the lower one is idle.",
    "<dt>Who<dd>Who causes it? Bytes by cgroup. Buffered writes may belong to no cgroup.",
    "<dt>CPU, pressure, blocked tasks<dd>Is it the disk at all? Without available CPU the disk is rarely the bottleneck; pressure is the part of the time in which tasks waited for I/O (asynchronous I/O does not count).",
    "<dt>All charts<dd>A band is the range from minimum to maximum of a point, the line its mean. Gaps are time without data. Shaded times are incidents of the device. On the axes of rates, a short burst is cut and marked at the top.",
];

/// Appends the explanations, folded.
pub(super) fn push_guide(out: &mut String) {
    out.push_str("<details id=\"guide\"><summary>How to read this</summary><dl>");
    out.push_str(&PANELS.concat());
    out.push_str("</dl><h3>Verdicts</h3><dl>");
    for (name, meaning) in verdict_meanings() {
        let (class, name) =
            if name == "-" { ("unknown", "no verdict") } else { (name.as_str(), name.as_str()) };
        *out += &format!("<dt><span class=\"tag {class}\">{name}</span><dd>{}", escape(&meaning));
    }
    out.push_str(
        "</dl><p class=\"script\">Move the pointer over a chart for the values of all charts at that time; drag to zoom all of them, double-click for everything. \
         Keys on a chart: ← → move, + − zoom, Home and End, Esc shows everything.</p></details>",
    );
}

//! Every threshold of the analysis, with its unit and the reason for its value.
//!
//! A threshold is a number that decides what is concluded. Numbers that only set the precision or the cost of a
//! calculation (bin widths, search grids, memory limits) are next to the code that uses them.
//!
//! Sources named below:
//!
//! - *Zaitsev and Trudeau*: an Intel 750 NVMe drive under random reads of 1, 4, 16, 64 and 256 threads answered in
//!   1, 1.07, 1.5, 3.6 and 13.9 times its unloaded latency; its best operating points are 16 to 64 threads.
//! - *Kernel*: `/proc/diskstats` counts whole requests and whole milliseconds and adds a request when it completes.
//! - *Simulation*: the loads of known truth in `tests/analysis` (servers, scalability laws, token buckets, open and
//!   closed loops, noise), which check the conclusions that the values lead to.
//!
//! "Queue" is the mean number of requests in the queue or being served over an interval (Little's law).

// Of several kinds.

/// Fraction from which something holds for most of a time, of requests or of a queue.
pub(super) const MOST_FRACTION: f64 = 0.5;
/// A growth to twice as much, less some scatter.
pub(super) const ABOUT_TWICE: f64 = 1.9;
/// Intervals, windows or rounds that show something before it is claimed: two may be chance.
pub(super) const MIN_CONFIRMATIONS: usize = 3;
/// Percentage of the time from which a shortage of CPU or memory is reported: a twentieth of a task's time is
/// noticeable.
pub const MIN_NOTICED_PCT: f64 = 5.0;

// Verdict of a load.

/// Multiple of unloaded latency at which a device counts as saturated, unless the user sets another: three times is
/// the sign of overload that Zaitsev and Trudeau suggest.
pub const DEFAULT_SATURATION_THRESHOLD: f64 = 3.0;
/// Multiple of unloaded latency from which requests wait for each other: the lower of the two best operating points of
/// Zaitsev and Trudeau.
pub const MIN_QUEUEING_SATURATION: f64 = 1.5;
/// Queue up to which a device counts as unloaded. A single outstanding request waits for no other; the half above one
/// allows for two that overlap by chance.
pub(super) const MAX_UNLOADED_QUEUE: f64 = 1.5;
/// Queue of a direction from which it can be saturated: below two, requests do not wait for each other for most of the
/// time.
pub const MIN_SATURATED_QUEUE: f64 = 2.0;
/// Milliseconds by which requests are longer than before, from which that is trouble although hardly any is in flight: a
/// page or a transaction of some requests one after the other is then late by a tenth of a second, which people notice.
pub(super) const MIN_NOTICED_DELAY_MS: f64 = 10.0;
/// Busy time from which a device is slow, in multiples of that at unloaded latency: kernels count up to 4 times too much.
pub(super) const MIN_SLOW_BUSY_RATIO: f64 = 4.0 * DEFAULT_SATURATION_THRESHOLD;
/// Mean number of requests in flight while there are any, up to which they came one at a time: one, plus one for two
/// that overlap.
pub(super) const MAX_SERIAL_BUSY_QUEUE: f64 = 2.0;
/// Fraction of the highest rate seen at low latency below which higher latency is not the effect of more load. A device
/// beyond its best point loses some of its rate.
pub(super) const MIN_LOADED_RATE_RATIO: f64 = 0.9;
/// Number of latest intervals that are searched for requests that hang while others complete.
pub(super) const HUNG_WINDOW_INTERVALS: usize = 10;
/// Requests in flight hang if they are at least this multiple of the mean queue of those that complete, and exceed that by
/// this number. Simulation: 11 findings in 3,040 runs, all of hung requests.
pub(super) const MIN_HUNG_REQUESTS: f64 = 2.0;
/// Length in seconds of the slices in which the kernel's throttle releases requests: those released at once can be in
/// flight at the end of every interval if the sampler is in step with the throttle.
pub(super) const THROTTLE_SLICE_S: f64 = 0.1;
/// Utilization from which a device counts as busy all the time: the kernel counts in ticks of up to 10 ms, and may miss
/// one at each end of an interval.
pub(super) const MIN_ALWAYS_BUSY_UTIL_PCT: f64 = 98.0;
/// Milliseconds that requests must take to be in flight at the end of every interval because they are issued in step
/// with the sampler; samples are not taken more regularly than that.
pub(super) const MIN_IN_STEP_MS: f64 = 1.0;
/// Seconds from which a count of requests in flight that never changes, while no task waits for I/O, may be an error of
/// the kernel's: no driver lets a request take that long without reporting an error to a task.
pub(super) const MIN_LEAKED_S: f64 = 120.0;
/// Fraction of the request time up to which a direction does not decide the verdict: a few slow writes beside a load of
/// reads are not the load.
pub(super) const MAX_MINOR_TIME_FRACTION: f64 = 0.1;
/// Seconds without a completion, with requests in flight, that make a stall. A slow disk may need less than that for a
/// single request.
pub const MIN_STALL_S: f64 = 1.0;
/// Multiple of the usual time between two completions that a stall takes at least: with random service times, a single
/// request takes ten times the mean once in 22,000 times. It matters only if that time is above 0.1 s.
pub(super) const MIN_STALL_LATENCY_RATIO: f64 = 10.0;
/// Latest intervals with requests that show the usual latency.
pub(super) const USUAL_LATENCY_INTERVALS: usize = 16;

// Live verdict.

/// Latest intervals of which [`MIN_CONFIRMATIONS`] must show the verdict: one odd interval neither starts nor ends it.
pub(super) const SATURATION_WINDOW_INTERVALS: usize = 4;
/// Intervals in a row that show an end of trouble.
pub(super) const MIN_RECOVERED_INTERVALS: usize = 2;
/// Fraction of the saturation threshold above which a device that was saturated still is: so that a latency near the
/// threshold does not change the verdict at every interval.
pub(super) const STILL_SATURATED_FRACTION: f64 = 0.75;
/// Relative distance from a plateau's rate within which an interval lies on it: the plateau's own tolerance, plus half
/// of that for the interval's noise.
pub(super) const ON_PLATEAU_TOLERANCE: f64 = 0.015;
/// Multiple of a plateau's shortest queue from which an interval on it is held back, if the shortest queue is below
/// [`MIN_SATURATED_QUEUE`]: at the shortest queue the device may just keep up.
pub(super) const MIN_CAPPED_QUEUE_RATIO: f64 = 1.5;

/// Ratio of the longest to the shortest recent queue below which no plateau can be found by queue growth, so that the
/// search is skipped. It only saves time and is well below [`MIN_CONCURRENCY_GROWTH`].
pub(super) const MIN_QUEUE_CHANGE_RATIO: f64 = 2.0;

// Verdict over all intervals.

/// Busy intervals that a verdict on queueing needs.
pub const MIN_VERDICT_INTERVALS: u64 = 3;
/// Fraction of the busy time from which a condition decides the verdict over all intervals.
pub(super) const MIN_TIME_FRACTION: f64 = 0.1;
/// Fraction of the time below which a stall is mentioned but leaves the verdict to the load.
pub(super) const BRIEF_STALL_FRACTION: f64 = 0.05;
/// Fraction of the busy time without known saturation up to which the saturation of the rest is quoted for all of the
/// time.
pub(super) const MAX_UNKNOWN_TIME_FRACTION: f64 = 0.01;
/// Multiple of a limit from which a load exceeds it: real limiters overshoot by a few percent.
pub(super) const MIN_EXCEEDED_CAP_RATIO: f64 = 1.05;

// Baseline of unloaded latency.

/// Requests behind one latency of the baseline: single requests vary by more than the differences to be measured.
pub(super) const MIN_LATENCY_REQUESTS: f64 = 30.0;
/// Milliseconds behind one latency of the baseline: a sum is exact to 1 ms (kernel), which is 5% of 20 ms.
pub(super) const MIN_LATENCY_SUM_MS: f64 = 20.0;
/// Standard errors by which the mean latency of requests may be low by chance, if their latency varies as much as its
/// mean: two, beyond which one of forty lies.
pub(super) const CHANCE_SIGMAS: f64 = 2.0;
/// Multiple of a rate, and of its queue, from which a higher rate shows how latency grows with the rate: noise of a tenth
/// in both latencies then moves what follows for no load by less than a half.
pub(super) const MIN_CHORD_RATE_RATIO: f64 = 1.5;
/// Fraction of the latency at the lower rate that must remain for no load: the less remains, the more it is noise.
pub(super) const MIN_CHORD_SHARE: f64 = 0.4;
/// Multiple of the mean latency since boot that the unloaded latency does not exceed, although that mean is of mixed
/// sizes and patterns.
pub(super) const SINCE_BOOT_RATIO: f64 = 2.0;
/// Milliseconds that any unloaded disk takes for small requests at most: the slowest hard disks, of 4,200 revolutions
/// per minute, need half a revolution (7) and an average seek of up to 15.
pub(super) const MAX_DISK_MS: f64 = 25.0;
/// Milliseconds that an unloaded hard disk takes for small requests at most: a slow one of 5,400 revolutions per minute
/// needs half a revolution (5.6) and an average seek (9)...
pub(super) const MAX_HARD_DISK_MS: f64 = 15.0;
/// ...and KiB per millisecond that it transfers at least, at its inner tracks.
pub(super) const MIN_HARD_DISK_KIB_PER_MS: f64 = 75.0;
/// The same of flash behind SATA or SAS: SATA at 3 Gbit/s transfers 280, and slow drives read 4 KiB in 0.2 ms...
pub(super) const MAX_FLASH_MS: f64 = 0.5;
/// ...and write 200 continuously.
pub(super) const MIN_FLASH_KIB_PER_MS: f64 = 200.0;
/// The same of flash behind NVMe: slow drives read 4 KiB in 0.15 ms...
pub(super) const MAX_NVME_MS: f64 = 0.3;
/// ...and write 500 continuously.
pub(super) const MIN_NVME_KIB_PER_MS: f64 = 500.0;
/// The same of volumes in clouds: those of hard disks take 10 ms as providers state ("single-digit milliseconds" for
/// flash)...
pub(super) const MAX_NETWORK_MS: f64 = 10.0;
/// ...and the smallest transfer 30.
pub(super) const MIN_NETWORK_KIB_PER_MS: f64 = 30.0;
/// Multiple of a rate above which a higher rate proves nothing about it: a device that sleeps is slow at rare requests.
pub(super) const MAX_PROVEN_RATE_RATIO: f64 = 16.0;
/// Fraction of the busy time of a queue that is equally long all the time, from which requests did not come in bursts
/// with idle time in between: requests that arrive at random leave a device idle for exp(-queue) of the time.
pub(super) const MIN_CONTINUOUS_BUSY_FRACTION: f64 = 0.9;
/// Dispersion from which completions are irregular: well above that of a cap. A token bucket has about 0.01, a
/// jittering one 0.1 or more.
pub(super) const MIN_IRREGULAR_DISPERSION: f64 = 0.3;
/// Number of rates that show whether completions are irregular: of six, the median ignores two odd ones...
pub(super) const MIN_IRREGULAR_INTERVALS: usize = 6;
/// ...each over at least this many seconds: sample times are uncertain by a millisecond or so.
pub(super) const MIN_IRREGULAR_S: f64 = 0.9;
/// Intervals that show whether latency depends on the arrivals, at least.
pub(super) const MIN_ELASTICITY_INTERVALS: usize = 20;
/// Relative growth of latency with that of the arrivals, from which requests may wait for each other: at 1.5 times the
/// unloaded latency of a single server it is a half...
pub(super) const MAX_ELASTICITY: f64 = 0.35;
/// ...beyond this many standard errors: one of a hundred errs that far in one direction.
pub(super) const ELASTICITY_SIGMAS: f64 = 2.6;
/// Correlation of the deviations of neighboring intervals from which their latency depends on something that lasts.
pub(super) const MAX_AUTOCORRELATION: f64 = 0.3;
/// Dispersion of the arrivals below which they do not vary enough to show anything: random arrivals have 1.
pub(super) const MIN_ARRIVAL_DISPERSION: f64 = 0.7;
/// Fraction of the intervals that may be outliers...
pub(super) const MAX_OUTLIER_FRACTION: f64 = 0.05;
/// ...which are this many median deviations away.
pub(super) const MAX_OUTLIER_MADS: f64 = 6.0;
/// Multiple of a supposed unloaded latency below which the latency of requests with others in flight disproves it.
pub(super) const MAX_UNBEATEN_RATIO: f64 = 0.8;
/// Requests since boot that a mean latency needs to serve as a baseline.
pub(super) const MIN_LIFETIME_REQUESTS: f64 = 1000.0;
/// Ratio of two mean sizes up to which latencies are compared.
pub(super) const MAX_SIZE_RATIO: f64 = 2.0;
/// Requests in flight when sampled from which an interval may hold the end of a burst...
pub(super) const MIN_BURST_EDGE_IN_FLIGHT: u64 = 4;
/// ...if they are more than this multiple of its mean queue: its latency is then that of a long queue although its mean
/// queue is short, and shows nothing about the unloaded device.
pub(super) const MIN_BURST_EDGE_RATIO: f64 = 3.0;

// Peers.

/// Other devices of one kind that a device is compared with, at least: of two, either may be the odd one.
pub(super) const MIN_PEERS: usize = 3;
/// Ratio of rates, sizes or latencies up to which those of two devices are alike. In a study of 1,473 drives, the
/// latency of a normal one over that of its peers was 1.16 in a day at most, which is more within minutes.
pub(super) const MAX_LIKE_RATIO: f64 = 1.25;
/// Fraction of the peers that must be alike: then most devices are of one kind under one load, and odd ones are few.
pub(super) const MIN_LIKE_PEERS_FRACTION: f64 = 0.75;
/// Multiple of the median latency of the peers from which a device is slow. In the same study, one of 165,000 normal
/// quarters of an hour was that far from the others, and four of five of slow drives.
pub(super) const MIN_SLOW_PEER_RATIO: f64 = 1.5;
/// Rounds, of a minute each, that show whether it is: a quarter of an hour, in which garbage collection and other work
/// of its own ends. [`MIN_CONFIRMATIONS`] suffice if it is far slower in each.
pub(super) const PEER_WINDOW_ROUNDS: usize = 15;

// Loads and their changes.

/// Relative difference of rate and of queue within which two intervals had the same load.
pub(super) const SAME_LOAD_TOLERANCE: f64 = 0.15;
/// Relative difference of the rate within which the load is the same at any queue: beyond the device's capacity, a
/// longer queue does not change its rate, and a little more load makes requests wait far longer.
pub(super) const SAME_RATE_TOLERANCE: f64 = 0.02;
/// Queue from which a device counts as loaded: with one request half of the time, its rate shows what it can do. Below it,
/// two requests are rarely in flight together.
pub const MIN_LOADED_QUEUE: f64 = 0.5;
/// Requests in an interval for its rate to be used: with fewer, the count is too coarse, and different rates give the
/// same one (kernel counts whole requests).
pub(super) const MIN_INTERVAL_REQUESTS: f64 = 5.0;
/// Fraction of the requests from which an interval counts as one of a single direction.
pub(super) const MIN_SINGLE_DIRECTION_FRACTION: f64 = 0.9;
/// Fraction of the requests of the other direction up to which a device only reads, or only writes.
pub(super) const MAX_NEGLIGIBLE_FRACTION: f64 = 0.01;
/// Fraction of all requests from which a direction's plateau counts as a plateau of the device.
pub(super) const MIN_DOMINANT_FRACTION: f64 = 0.8;

// Levels of concurrency.

/// Ratio of two queues above which they clearly differ, as those of five and six clients do. The queue of a fixed number of
/// clients varies by up to 10% from second to second on a host without CPU time to spare.
pub(super) const LEVEL_GAP_RATIO: f64 = 1.1;
/// Ratio of the longest to the shortest queue up to which a queue was held rather than moved: less than that of six to
/// five clients.
pub(super) const MAX_LEVEL_WIDTH_RATIO: f64 = 1.15;
/// Ratio of queues up to which a load belongs to a level that was held: half a power of two, as other levels are a power of
/// two wide.
pub(super) const LEVEL_REACH_RATIO: f64 = std::f64::consts::SQRT_2;
/// Intervals below which a level is a transition or chance.
pub(super) const MIN_LEVEL_INTERVALS: u64 = 2;
/// Von Neumann's ratio up to which queues were held or moved slowly: 2 is chance, 0 a slow sweep. Simulation: with it,
/// at most 6 of 60 open loops of constant load get a wrong maximum.
pub(super) const MAX_VON_NEUMANN_RATIO: f64 = 1.2;

// The maximum rate.

/// Relative deviation within which the rate stays the same although the queue grows.
pub const MAX_RATE_TOLERANCE: f64 = 0.05;
/// Fraction of the time at about the highest rate that must have been spent at each end of that growth: a steady load on a
/// device that is slow at times has less, each of six levels of the same length more.
pub(super) const MIN_MAX_RATE_FRACTION: f64 = 0.15;

// Rates that stay constant.

/// Growth of the queue that makes a constant rate a limit: it quadruples, less some scatter. Any load may double by
/// chance.
pub(super) const MIN_CONCURRENCY_GROWTH: f64 = 3.9;
/// Relative deviation within which a rate is constant: that of the capped volume in `fixtures/captures/capped-3000.txt`
/// varies by 0.3%, and sample times of 1 s by some milliseconds.
pub(super) const STEADY_TOLERANCE: f64 = 0.01;
/// Size of a large request as a multiple of the mean, if sizes are mixed.
pub(super) const LARGE_REQUEST_RATIO: f64 = 2.0;
/// Multiple of the tolerance within which a load lies on a constant rate: the tolerance, plus half of that for the
/// median's own error.
pub(super) const ON_RATE_TOLERANCE_RATIO: f64 = 1.5;
/// Multiple of the tolerance above a constant rate from which a load exceeds it.
pub(super) const ABOVE_RATE_TOLERANCE_RATIO: f64 = 3.0;
/// Relative distance within which two rates, or a rate and a limit, are the same limit.
pub(super) const SAME_LIMIT_TOLERANCE: f64 = 2.0 * STEADY_TOLERANCE;
/// Relative distance within which recent rates are near the latest: at least that of two rates on a plateau, which fill
/// twice the tolerance.
pub(super) const NEAR_RATE_DISTANCE: f64 = 2.0 * STEADY_TOLERANCE + ON_PLATEAU_TOLERANCE;
/// Fewest intervals of a plateau: in noise, fewer intervals are easily alike by chance. Simulation: 60 noisy loads,
/// none called capped.
pub(super) const MIN_PLATEAU_INTERVALS: f64 = 8.0;
/// Number of intervals that need not be on the rate of a plateau: those at its two ends contain two loads.
pub(super) const PLATEAU_END_INTERVALS: f64 = 2.0;
/// Fraction of the loaded intervals within a plateau's time that lie on its rate.
pub(super) const MIN_ON_RATE_FRACTION: f64 = 0.75;
/// Fraction of the loaded intervals that may lie above the rate: a token bucket lets the first requests pass faster.
pub(super) const MAX_ABOVE_RATE_FRACTION: f64 = 0.05;
/// Queue that a plateau must reach: with a shorter one, hardly any request waits, however constant the rate.
pub(super) const MIN_PLATEAU_QUEUE: f64 = 3.5;
/// Multiple of a growing plateau's shortest queue from which an interval counts as loaded: at the shortest, the device
/// may just keep up.
pub(super) const LOADED_RATIO_GROWN: f64 = 1.2;
/// Fraction of the shortest queue from which an interval counts as loaded on a plateau at a constant queue, where every
/// interval is loaded.
pub(super) const LOADED_RATIO_CONSTANT: f64 = 0.7;
/// Ratio of two rates that clearly differ.
pub(super) const MIN_RATE_CHANGE_RATIO: f64 = 1.2;
/// Fewest intervals that contradict or support a conclusion: two may be chance.
pub(super) const MIN_WITNESS_INTERVALS: f64 = 3.0;
/// Intervals that must share the shortest and the longest queue of a plateau: a device that stops for a moment and
/// catches up has only one long queue.
pub(super) const MIN_QUEUE_END_INTERVALS: f64 = 2.0;
/// Relative difference within which two queues, or the requests in flight at the end and the mean queue, are equal.
pub(super) const SAME_QUEUE_TOLERANCE: f64 = 0.05;
/// Relative difference of the mean request size, and of (1 + fraction of reads), within which two loads are of the same
/// kind.
pub(super) const SAME_KIND_TOLERANCE: f64 = 0.1;
/// Mean request size in KiB from which a limit on requests may be one on bytes.
pub(super) const MIN_LARGE_REQUEST_KIB: f64 = 64.0;

/// Ratio of two median deviations below which the smaller is the regular one.
pub(super) const MAX_REGULAR_RATIO: f64 = 0.5;
/// Requests by which the arrivals of an interval differ if they come at a constant pace: the last one falls into it or
/// not.
pub(super) const MAX_COUNTING_ERROR_REQUESTS: f64 = 1.0;
/// Fraction of the intervals in which arrivals must differ by more than that to come irregularly, so that a client that was
/// late once does not count.
pub(super) const MIN_IRREGULAR_ARRIVALS_FRACTION: f64 = 0.25;
/// Multiple of their mean queue by which the requests of the other direction may change the number in flight: up to
/// three come and go if one is in flight on average.
pub(super) const MAX_OTHERS_RATIO: f64 = 3.0;
/// Relative difference of the lengths of neighboring intervals up to which it is due to late samples, rather than a
/// different interval length.
pub(super) const MAX_SAMPLE_DELAY_FRACTION: f64 = 0.1;
/// Fewest intervals that show a constant queue.
pub(super) const CONSTANT_QUEUE_INTERVALS: usize = 10;
/// Fraction of the intervals of a constant queue that must end with as many requests in flight as on average.
pub(super) const CONSTANT_QUEUE_FRACTION: f64 = 0.8;
/// Relative difference of the requests in flight when sampled and the mean queue up to which a load is a closed loop: a
/// client needs a little time between two requests.
pub(super) const CLOSED_LOOP_TOLERANCE: f64 = 0.1;
/// Mean queue as a fraction of the requests in flight when sampled, from which these are in flight all the time although
/// clients are late at times, since they wait for a CPU: on a contended host, sixteen of them had a mean queue
/// of 12 to 16 in each second. The rate is then too low a limit by that at most...
pub(super) const MIN_LATE_QUEUE_RATIO: f64 = 0.75;
/// ...which shows in queues that differ by this fraction. Bursts at a constant period have the same mean queue in every
/// interval.
pub(super) const MIN_LATE_QUEUE_DEVIATION: f64 = 0.02;
/// Multiple of the usual number of requests in flight that the queue of a closed loop does not exceed.
pub(super) const MAX_CONSTANT_QUEUE_RATIO: f64 = 1.25;
/// Shortest queue that can be constant, for each client: a client that waits for each request has one in flight nearly all the time. At a shorter
/// one the device is idle at times, so that its rate is the one at which requests arrive, and not a limit.
pub(super) const MIN_CONSTANT_QUEUE: f64 = 0.9;

// Dispersion of a rate; requests that complete at random have 1.

/// Dispersion below which a rate is held by a cap while the queue changes: a token bucket has about 0.01, servers whose
/// times vary by 30% 0.3.
pub(super) const MAX_CAP_DISPERSION: f64 = 0.1;
/// Dispersion below which a rate may be held by a cap, if more evidence supports it.
pub(super) const MAX_POSSIBLE_CAP_DISPERSION: f64 = 0.5;
/// Dispersion below which a rate is held by a cap, without other evidence: the service times of every real device vary
/// by 5% or more, so that only simulated servers are as regular.
pub(super) const MAX_CONSTANT_QUEUE_DISPERSION: f64 = 0.045;
/// Dispersion below which a rate is held by a cap for a single client, whose requests may all be alike.
pub(super) const MAX_ONE_CLIENT_DISPERSION: f64 = 0.03;
/// Highest mean queue of a client that waits for each request, allowing for errors of the kernel's times.
pub(super) const MAX_ONE_CLIENT_QUEUE: f64 = 1.02;
/// Fraction of the device's dispersion at lighter loads, below which it is not the device itself that is so regular.
/// Simulation: no device passes at its own limit.
pub(super) const MAX_CALIBRATED_FRACTION: f64 = 0.25;
/// Ratio of the shortest queue on a plateau to the queue of another load from which that counts as lighter.
pub(super) const MAX_LIGHTER_QUEUE_RATIO: f64 = 2.0;
/// Fewest intervals of a lighter load that show its dispersion.
pub(super) const MIN_LIGHT_INTERVALS: usize = 5;
/// Standard deviations beyond which an interval is an outlier: one in which the load changed or that was sampled late.
pub(super) const MAX_DEVIATION_SIGMAS: f64 = 4.0;
/// Number of loads from which outliers are left out: with fewer, the usual deviation is not known well enough.
pub(super) const MIN_OUTLIER_LOADS: usize = 8;
/// Dispersion up to which deviations may be sampling errors, which are milliseconds or single requests.
pub(super) const MAX_SAMPLING_DISPERSION: f64 = 0.15;
/// Difference of the logarithms of two likelihoods up to which a higher, less likely dispersion is possible: half the
/// square of the 90% quantile of the normal distribution, as an upper bound has errors on one side only.
pub(super) const MAX_LIKELIHOOD_DIFFERENCE: f64 = 0.82;

// Limits that devices share.

/// Steps in which the sum of the rates of several devices must be steady...
pub(super) const SHARED_LIMIT_INTERVALS: usize = 16;
/// ...except this many, before and after a late sample...
pub(super) const LATE_SAMPLE_STEPS: usize = 2;
/// ...so that its variance is below this fraction of what it would be for rates that have nothing to do with each other:
/// by chance, it is in one of 200,000 windows...
pub(super) const MAX_SHARED_VARIANCE_RATIO: f64 = 0.05;
/// ...while the rate of each varies by more than this: others have limits of their own.
pub(super) const MIN_SHARING_VARIATION: f64 = 0.002;
/// Fraction of the sum from which a device shares in it: less is within the variation of the others.
pub(super) const MIN_SHARED_FRACTION: f64 = 0.05;
/// Devices of which one may have nothing to do with the limit, at most: more sets would be alike by chance.
pub(super) const MAX_LEFT_OUT_DEVICES: usize = 8;

// Known limits of cloud volumes.

/// Relative distance within which a match with a known limit is hardly chance.
pub(super) const EXACT_LIMIT_TOLERANCE: f64 = 0.002;

// Statistics of a direction.

/// Seconds below which an interval's util is noise: the kernel counts it in ticks of 1 to 10 ms.
pub const MIN_UTIL_INTERVAL_S: f64 = 0.1;
/// Milliseconds of request time in an interval up to which it is pooled with earlier ones whose time rounded to zero
/// (kernel).
pub(super) const MAX_COARSE_TIME_MS: f64 = 2.5;
/// Mean request size in KiB from which a load is sequential.
pub(super) const MIN_SEQUENTIAL_KIB: f64 = 128.0;
/// Percentage of merged requests from which a load is sequential.
pub(super) const MIN_SEQUENTIAL_MERGED_PCT: f64 = 30.0;
/// Mean request size in KiB up to which a load without merges is random.
pub(super) const MAX_RANDOM_KIB: f64 = 16.0;
/// Percentage of merged requests below which a load of small requests is random.
pub(super) const MAX_RANDOM_MERGED_PCT: f64 = 1.0;
/// Fraction of the usual rate below which requests are not part of the load: occasional writes of the system itself.
pub(super) const MAX_TRICKLE_FRACTION: f64 = 0.02;

// Queue by layer.

/// Queue below which hardly any request waits at a layer.
pub(super) const MIN_LAYER_QUEUE: f64 = 1.0;
/// Multiple of the latency of the devices below from which a device that holds requests is saturated: twice the
/// threshold against a baseline, so that its own work may take as long as the devices below.
pub(super) const MIN_HELD_SATURATION: f64 = 2.0 * DEFAULT_SATURATION_THRESHOLD;
/// Util in percent up to which a device is idle for at least half of the time, however long its queue in bursts: 50,
/// less the amount that a kernel that counts in ticks misses (23 points at 0.1 s).
pub(super) const MAX_IDLE_UTIL_PCT: f64 = 25.0;
// Other causes.

/// Percentage of CPU available below which CPU may be the bottleneck, and the cause of irregular rates.
pub const LOW_AVAILABLE_CPU_PCT: f64 = 10.0;
/// Percentage of time with a task waiting for I/O below which tasks hardly waited.
pub const LOW_IO_PRESSURE_PCT: f64 = 2.0;
/// Percentage of time with a task waiting for I/O from which a device should show it: a tenth of a task's time is
/// noticeable. A smaller percentage may largely arise because pressure and requests are not read at the same instant.
pub(super) const MIN_HIDDEN_IO_WAIT_PCT: f64 = 10.0;
/// Largest fraction of that time that the requests in flight may account for if no device is responsible for the rest.
/// A task waits for longer than its request is in flight; this allows for a path through the kernel and back that takes
/// three times as long as the request, on the fastest devices.
pub(super) const MAX_IN_FLIGHT_FRACTION: f64 = 0.25;
/// Pages swapped per second from which swapping is reported: fewer are less than 40 KiB/s with pages of 4 KiB.
pub(super) const MIN_SWAPPED_PAGES_PER_S: f64 = 10.0;
/// Mean queue up to which a device is not what anyone waits for: by Little's law, it is the mean number of requests that
/// someone waits for.
pub(super) const MAX_UNIMPORTANT_QUEUE: f64 = 0.1;
/// Queue up to which requests came one at a time.
pub(super) const MAX_SERIAL_QUEUE: f64 = 1.2;

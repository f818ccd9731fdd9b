//! Verdicts and the evidence for them: live, over all intervals, and causes other than the disk.

mod assessment;
mod explanation;
mod facts;
mod held_between;
mod hung_requests;
mod live_verdict;
mod load_verdict;
mod other_causes;
mod overall_verdict;
mod throttled_time;
mod verdict_shares;

pub use assessment::{Assessment, Evidence, Latency, Verdict};
pub use explanation::{DirectionLatency, ExceededCap, Explanation, MaxRate, OkMargin, OtherCause, Reason};
pub use held_between::{HeldBetween, held_between, is_idle_below};
pub use live_verdict::LiveVerdict;
pub use load_verdict::{DeepQueue, Doubt};
pub use verdict_shares::TroubleSpan;

pub(super) use facts::DeviceFacts;
pub(super) use held_between::is_mostly_idle;
pub(super) use hung_requests::{Hung, HungRequests, is_stall};
pub(super) use other_causes::other_causes;
pub(super) use overall_verdict::{ok_below_limit, overall_verdict};
pub(super) use throttled_time::ThrottledTime;
pub(super) use verdict_shares::VerdictShares;

//! Verdicts and the evidence for them: live, over all intervals, and causes other than the disk.

mod assessment;
mod explanation;
mod held_between;
mod hung_requests;
mod live_verdict;
mod load_verdict;
mod verdict_shares;

pub use assessment::{Assessment, Doubt, Evidence, HealthEvidence, Latency, Verdict};
pub use explanation::{ExceededCap, Explanation, MaxRate, OtherCause, Reason};
pub(super) use held_between::HeldBetween;
pub use held_between::{held_between, is_idle_below};
pub use live_verdict::{Beside, LiveVerdict};
pub use verdict_shares::TroubleSpan;

pub(super) use hung_requests::{Hung, HungRequests, is_stall};
pub(super) use verdict_shares::{LoadSum, TroubleSpans, VerdictShares};

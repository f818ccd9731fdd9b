//! Links between layers, in sentences.

use crate::analysis::{LayerLink, WaitLocation};
use crate::report::layout::sentence_numbers::queue;

/// The queues of a link and where the requests wait, as a sentence without a period.
pub(in crate::report) fn link_text(link: &LayerLink) -> String {
    let below = link.below.join(", ");
    let location = match link.waiting {
        WaitLocation::Nowhere => "hardly any request waits".to_owned(),
        WaitLocation::Between => format!("requests are held between {} and {below}", link.above),
        WaitLocation::Below => format!("requests wait at {} or below", link.longest_below.join(", ")),
    };
    let (above_queue, below_queue) = (queue(link.queue_above), queue(link.queue_below));
    format!("mean queue {above_queue} at {}, {below_queue} at {below}: {location}", link.above)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_says_where_requests_wait() {
        let text = |waiting, queue_above, queue_below| {
            let [below, longest_below] = [vec!["sda".into(), "sdb".into()], vec!["sdb".into()]];
            link_text(&LayerLink {
                above: "md0".into(),
                below,
                queue_above,
                queue_below,
                longest_below,
                waiting,
            })
        };
        assert_eq!(
            text(WaitLocation::Between, 16.8, 0.37),
            "mean queue 16.8 at md0, 0.37 at sda, sdb: requests are held between md0 and sda, sdb"
        );
        assert!(
            text(WaitLocation::Below, 16.8, 16.0)
                .ends_with("16.0 at sda, sdb: requests wait at sdb or below")
        );
        assert!(text(WaitLocation::Nowhere, 0.2, 0.1).ends_with(": hardly any request waits"));
    }
}

//! The stack of devices as a picture: a box for each device with its queue and latency, and a mark where requests wait.

use super::escape::{escape, name};
use crate::analysis::{Layer, LayerLink, QueueByLayer, WaitLocation};
use crate::report::analysis::link_text;
use crate::report::layout::sentence_numbers::{per_second, queue, time};

/// The links that a device is part of, from the top down.
fn links_of<'a>(queues: &'a QueueByLayer, device: &'a str) -> impl Iterator<Item = &'a LayerLink> {
    queues
        .links
        .iter()
        .filter(move |link| link.above == device || link.below.iter().any(|below| below == device))
}

/// Appends the stacks that a device is part of; nothing without any.
pub(super) fn push_stack(queues: &QueueByLayer, device: &str, out: &mut String) {
    if links_of(queues, device).next().is_none() {
        return;
    }
    out.push_str("<figure class=\"stack\"><figcaption><b>Where requests wait</b> <span class=\"q\">At which layer? Mean queue and latency; filled: requests wait there. </span></figcaption><div class=\"layers\">");
    let mut drawn: Vec<&str> = Vec::new();
    for link in links_of(queues, device) {
        if !drawn.contains(&link.above.as_str()) {
            let is_waiting = link.waiting == WaitLocation::Between;
            push_layer(queues, &link.above, is_waiting, device, out);
            drawn.push(&link.above);
        }
        let (class, text) = match link.waiting {
            WaitLocation::Between => ("held", format!("{} wait here", queue(link.queued_between()))),
            WaitLocation::Below => ("passed", "requests pass".to_owned()),
            WaitLocation::Nowhere => ("passed", "hardly any waits".to_owned()),
        };
        *out += &format!("<div class=\"link {class}\"><span>{text}</span></div><div class=\"row\">");
        for below in &link.below {
            push_layer(queues, below, false, device, out);
            drawn.push(below);
        }
        out.push_str("</div>");
    }
    out.push_str("</div>");
    for link in links_of(queues, device) {
        *out += &format!("<p>{}.</p>", escape(&link_text(link)));
    }
    out.push_str("</figure>");
}

fn push_layer(queues: &QueueByLayer, device: &str, is_waiting: bool, shown: &str, out: &mut String) {
    let Some(layer) = queues.layers.iter().find(|layer| layer.device == device) else {
        *out += &format!("<div class=\"layer\"><b>{}</b></div>", name(device));
        return;
    };
    let max_queue = queues.layers.iter().filter_map(|layer| layer.queue).fold(0.0, f64::max);
    let share = layer.queue.filter(|_| max_queue > 0.0).map_or(0.0, |queue| 100.0 * queue / max_queue);
    let class = if is_waiting { " waiting" } else { "" };
    let current = if device == shown { " current" } else { "" };
    *out += &format!(
        "<div class=\"layer{class}{current}\"><b>{}</b><span>{}</span><i style=\"width:{share:.0}%\"></i></div>",
        name(device),
        escape(&layer_text(layer))
    );
}

/// The numbers of a layer: `queue 23.9, 11.9 ms, 2,000 requests/s`.
fn layer_text(layer: &Layer) -> String {
    let parts = [
        layer.queue.map(|mean| format!("queue {}", queue(mean))),
        layer.await_ms.map(time),
        layer.iops.map(|iops| per_second(iops, "requests")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

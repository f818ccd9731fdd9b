//! Sentences for what the kernel says of the health of devices.

use crate::analysis::HealthEvidence;
use crate::counters::{Fact, FactKind, FactValue, Health, SYNC_ACTION, SYNC_COMPLETED, SYNC_SPEED};
use crate::report::layout::sentence_numbers::{counted, duration, number};
use crate::sanitize::sanitize;

/// What is wrong with a device, as a sentence without a period: `sdb: 2 timeouts, 5 errors in the last 40 s`. Counts are
/// of the last `counted_s` seconds, or of the time since the device appeared. `None` if nothing is wrong.
pub(crate) fn health_text(device: &str, troubles: &Health, counted_s: Option<f64>) -> Option<String> {
    let counts: Vec<String> = texts(troubles, |kind| kind.errors().is_some());
    let span = counted_s.map(|seconds| format!(" in the last {}", duration(seconds))).unwrap_or_default();
    let counts = (!counts.is_empty()).then(|| format!("{}{span}", counts.join(", ")));
    let states = texts(troubles, |kind| kind.errors().is_none());
    let all: Vec<String> = states.into_iter().chain(counts).collect();
    (!all.is_empty()).then(|| format!("{}: {}", sanitize(device), all.join("; ")))
}

/// What is wrong in a time of trouble.
pub(crate) fn health_evidence_text(evidence: &HealthEvidence) -> String {
    health_text(&evidence.device, &evidence.troubles, Some(evidence.counted_s)).unwrap_or_default()
}

fn texts(troubles: &Health, is_wanted: impl Fn(FactKind) -> bool) -> Vec<String> {
    let wanted = troubles.iter().filter(|(fact, _)| is_wanted(fact.kind));
    wanted.filter_map(|(fact, value)| fact_text(fact, value, troubles)).collect()
}

/// What a fact says; `None` for one that is only the extent of another.
fn fact_text(fact: &Fact, value: &FactValue, troubles: &Health) -> Option<String> {
    Some(match (fact.kind, value) {
        (FactKind::State(..), FactValue::Word(word)) if fact.name == SYNC_ACTION => sync_text(word, troubles),
        (FactKind::State(noun, _), FactValue::Word(word)) => format!("{noun} is {}", sanitize(word)),
        (FactKind::Trouble("suspended"), _) => "suspended".to_owned(),
        (FactKind::Trouble(noun), FactValue::Number(count)) => counted(*count, noun),
        (kind, FactValue::Number(count)) => counted(*count, kind.errors()?),
        _ => return None,
    })
}

/// What an array does: `rebuilding, 43% done, 180 MiB/s`.
fn sync_text(action: &str, troubles: &Health) -> String {
    let action = match action {
        "recover" => "rebuilding".into(),
        "resync" => "resyncing".into(),
        "check" => "being checked".into(),
        "repair" => "being repaired".into(),
        "reshape" => "being reshaped".into(),
        other => sanitize(other),
    };
    let done = troubles.number(SYNC_COMPLETED).map(|percent| format!(", {percent}% done"));
    let speed = troubles.number(SYNC_SPEED).map(|kib| format!(", {} MiB/s", number(kib as f64 / 1024.0)));
    format!("{action}{}{}", done.unwrap_or_default(), speed.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: &str, counted_s: Option<f64>) -> Option<String> {
        let health: Health = serde_json::from_str(json).unwrap();
        let before = r#"{"errors":0,"timeouts":0,"file_system_errors":0}"#;
        health_text("sdb", &health.troubles(Some(&serde_json::from_str(before).unwrap())), counted_s)
    }

    #[test]
    fn a_sentence_says_what_is_wrong() {
        assert_eq!(
            text(r#"{"suspended":0,"state":"running","errors":0,"commands":9,"sync_action":"idle"}"#, None),
            None
        );
        assert_eq!(text(r#"{"suspended":1}"#, None).as_deref(), Some("sdb: suspended"));
        assert_eq!(
            text(r#"{"errors":5,"timeouts":2,"state":"offline","file_system_errors":1}"#, Some(40.0))
                .as_deref(),
            Some("sdb: state is offline; 2 timeouts, 5 errors, 1 file system error in the last 40 s")
        );
        let rebuild = r#"{"sync_action":"recover","sync_completed_pct":43,"sync_kib_per_s":184320,"missing_members":1}"#;
        assert_eq!(
            text(rebuild, None).as_deref(),
            Some("sdb: rebuilding, 43% done, 180 MiB/s; 1 missing member")
        );
    }

    #[test]
    fn words_of_a_recording_cannot_control_a_terminal() {
        let text = text(r#"{"state":"\u202eon","sync_action":"\u202eon"}"#, None).unwrap();
        assert!(!text.contains('\u{202e}'), "{text}");
    }
}

//! Removes instances with their triggers: those of this process, and those that processes left when they were killed.

use std::path::Path;

use super::error::TraceError;
use super::owner::Owner;
use super::trace_dir::TraceDir;

/// The events whose triggers are removed first: a variable cannot be removed while another trigger refers to it.
const LAST_EVENTS: [&str; 3] = ["block/block_rq_complete", "block/block_bio_complete", "block/block_io_done"];
/// The events whose triggers are removed next.
const FIRST_EVENTS: [&str; 6] = [
    "block/block_rq_issue",
    "block/block_rq_requeue",
    "block/block_bio_queue",
    "block/block_rq_insert",
    "block/block_io_start",
    "ftrace/print",
];

/// Removes the instances and synthetic events of processes that have ended. Returns their names.
///
/// # Errors
/// If tracefs cannot be used, or the kernel refuses to remove something.
pub fn remove_leftovers(root: &Path) -> Result<Vec<String>, TraceError> {
    let dir = TraceDir::find(root)?;
    let has_ended = |name: &&String| Owner::parse(name).is_some_and(|owner| owner.has_ended(root));
    let mut removed: Vec<String> = dir.list("instances").iter().filter(has_ended).cloned().collect();
    removed.iter().try_for_each(|name| remove_instance(&dir, name))?;
    let events: Vec<String> = synthetic_events(&dir).iter().filter(has_ended).cloned().collect();
    for event in events {
        dir.write("synthetic_events", &format!("!{event}"))?;
        removed.push(event);
    }
    Ok(removed)
}

/// Removes an instance with its triggers, and the synthetic events that they use.
///
/// # Errors
/// If the kernel refuses it. As much as possible is removed nevertheless.
pub(super) fn remove_instance(dir: &TraceDir, name: &str) -> Result<(), TraceError> {
    let events = format!("instances/{name}/events");
    let synthetic: Vec<String> = synthetic_events(dir)
        .into_iter()
        .filter(|event| event.strip_prefix(name).is_some_and(|rest| rest.starts_with('_')))
        .collect();
    let of_kernel = LAST_EVENTS.iter().chain(&FIRST_EVENTS).map(|event| (*event).to_owned());
    let in_order = of_kernel.chain(synthetic.iter().map(|event| format!("synthetic/{event}")));
    let mut outcome = Ok(());
    for event in in_order {
        let file = format!("{events}/{event}/trigger");
        for trigger in triggers(&dir.read(&file)) {
            outcome = outcome.and(dir.write(&file, &format!("!{trigger}")));
        }
    }
    for event in synthetic {
        outcome = outcome.and(dir.write("synthetic_events", &format!("!{event}")));
    }
    outcome.and(dir.remove_instance_directory(name))
}

/// Returns the names of the synthetic events of blkstat.
fn synthetic_events(dir: &TraceDir) -> Vec<String> {
    let text = dir.read("synthetic_events");
    let names = text.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| Owner::parse(name).is_some()).map(str::to_owned).collect()
}

/// Returns the triggers in a `trigger` file in a form that can be written back: without their states.
fn triggers(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(|line| match line.rsplit_once(" [") {
        Some((trigger, state)) if state.ends_with(']') => trigger,
        _ => line,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triggers_are_written_without_their_states() {
        let text = "hist:keys=dev:vals=hitcount:sort=hitcount:size=256 if lat < 5 [active]\n\
                    hist:keys=sector [paused]\ndisable_hist:block:block_rq_issue:unlimited\n";
        let expected = [
            "hist:keys=dev:vals=hitcount:sort=hitcount:size=256 if lat < 5",
            "hist:keys=sector",
            "disable_hist:block:block_rq_issue:unlimited",
        ];
        assert_eq!(triggers(text).collect::<Vec<_>>(), expected);
        assert_eq!(triggers("# Available triggers:\n# traceon hist\n").count(), 0);
    }

    #[test]
    fn only_what_a_process_that_ended_left_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let tracing = root.path().join("sys/kernel/tracing");
        let running = format!("proc/{}/stat", std::process::id());
        std::fs::create_dir_all(root.path().join(&running).parent().unwrap()).unwrap();
        std::fs::copy(Path::new("/").join(&running), root.path().join(&running)).unwrap();
        std::fs::create_dir_all(tracing.join("events/block/block_bio_queue/hist")).unwrap();
        let own = Owner::current(root.path()).name("0");
        let left = "blkstat_0_1_77_0";
        for name in [own.as_str(), left, "theirs"] {
            std::fs::create_dir_all(tracing.join("instances").join(name)).unwrap();
        }
        let events = format!("{left}_request\tu32 dev\n{own}_request\tu32 dev\ntheirs\tu32 dev\n");
        std::fs::write(tracing.join("synthetic_events"), events).unwrap();
        let removed = remove_leftovers(root.path()).unwrap();
        // A plain file keeps the event that the kernel would have removed with its instance.
        assert_eq!(removed, [left, &format!("{left}_request")]);
        let dir = TraceDir::find(root.path()).unwrap();
        assert_eq!(dir.list("instances"), [own.as_str(), "theirs"]);
        assert!(dir.read("synthetic_events").ends_with(&format!("!{left}_request\n")));
    }
}

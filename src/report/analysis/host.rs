//! Sentences about other causes than the disks, such as the CPU or memory, from the state of the host.

use super::AnalysisReport;
use crate::analysis::{
    HostReport, LOW_AVAILABLE_CPU_PCT, LOW_IO_PRESSURE_PCT, MIN_NOTICED_PCT, Range, not_the_disk,
};
use crate::report::evidence::hidden_io_wait_causes;
use crate::report::layout::sentence_numbers::{mib, number, percent, queue};

/// The sentences under "Not the disk"; `None` if a device may be the bottleneck or was for a time, if a disk disappeared,
/// or if only some devices were analyzed and these did nothing.
pub(in crate::report) fn not_the_disk_sentences(report: &AnalysisReport) -> Option<Vec<String>> {
    if !report.events.incidents.is_empty() || !report.events.departures.is_empty() {
        return None;
    }
    let found = not_the_disk(&report.devices, &report.host)?;
    let devices = match found.busy.as_slice() {
        [] if report.is_selection => return None,
        [] => (!report.devices.is_empty()).then(|| "No device did any I/O.".to_owned()),
        busy => Some(format!(
            "Hardly anyone waited for {}: queue {} or less on average, {} of the time.",
            names(busy),
            queue(found.longest_queue),
            percent(100.0 * found.longest_queue)
        )),
    };
    let host = &report.host;
    let sentences = [devices, cpu_sentence(host), io_pressure_sentence(host), dirty_memory_sentence(host)];
    Some(sentences.into_iter().flatten().collect()).filter(|sentences: &Vec<_>| !sentences.is_empty())
}

/// The sentences under "Host", whatever the verdicts on the devices: long waits for I/O, or those that no device shows, a
/// shortage of memory, and swapping.
pub(in crate::report) fn host_sentences(report: &AnalysisReport) -> Vec<String> {
    let host = &report.host;
    let io_wait = hidden_wait_sentence(host)
        .or_else(|| io_pressure_sentence(host).filter(|_| host.long_io_wait_pct().is_some()));
    let memory = host.memory_shortage_pct().map(|some_pct| {
        format!(
            "Memory is short: at least one task waited for memory {} of the time{}. Reclaiming memory and \
             reading it back causes I/O of its own.",
            percent(some_pct),
            all_tasks(&host.memory_pressure_full_pct)
        )
    });
    let swaps = || report.topology.nodes().iter().filter(|node| node.is_swap());
    let swapping = host.swapped_pages_per_s().map(|(read, written)| {
        let names: Vec<&str> = swaps().map(|node| node.name.as_str()).collect();
        let names = if names.is_empty() { String::new() } else { format!(" (swap: {})", names.join(", ")) };
        format!(
            "The host swapped in {} pages/s and swapped out {} pages/s on average{names}.",
            number(read),
            number(written)
        )
    });
    let swap_devices = report.devices.iter().filter_map(|device| {
        let [read, write] = [&device.read, &device.write].map(|one| one.mib_per_s.mean.unwrap_or(0.0));
        let is_swap = swaps().any(|node| node.name == device.device);
        (is_swap && read + write > 0.0).then(|| {
            format!(
                "{} is swap: its average {} MiB/s of reads and {} MiB/s of writes are swapping, not file I/O.",
                device.device,
                number(read),
                number(write)
            )
        })
    });
    [io_wait, memory, swapping].into_iter().flatten().chain(swap_devices).collect()
}

fn cpu_sentence(host: &HostReport) -> Option<String> {
    let available_pct = host.cpu_available_pct.mean?;
    let steal = host.cpu_steal_pct.mean.filter(|steal| *steal >= MIN_NOTICED_PCT);
    let steal = steal.map(|steal| format!(", steal {}", percent(steal))).unwrap_or_default();
    let cpu = format!(
        "{} CPU available (user {}, system {}{steal})",
        percent(available_pct),
        percent(host.cpu_user_pct.mean?),
        percent(host.cpu_system_pct.mean?)
    );
    Some(if available_pct < LOW_AVAILABLE_CPU_PCT {
        format!("Only {cpu}: CPU may be the bottleneck.")
    } else {
        format!("{cpu}.")
    })
}

fn io_pressure_sentence(host: &HostReport) -> Option<String> {
    let some_pct = host.io_pressure_some_pct.mean?;
    let some = percent(some_pct);
    Some(if some_pct < LOW_IO_PRESSURE_PCT {
        format!(
            "Tasks hardly waited for I/O: at least one waited {some} of the time. Asynchronous I/O (io_uring, libaio) does \
             not count, so this does not prove that no one waited."
        )
    } else {
        let all = all_tasks(&host.io_pressure_full_pct);
        format!("At least one task waited for I/O {some} of the time{all}.")
    })
}

fn hidden_wait_sentence(host: &HostReport) -> Option<String> {
    Some(format!(
        "Tasks waited for I/O that no device shows: at least one waited {} of the time, and for {} of the time or \
         more, one did while no device seen had a request in flight. {}: {}.",
        percent(host.io_pressure_some_pct.mean?),
        percent(host.long_hidden_wait_pct()?),
        if host.nfs_waits.is_empty() { "Possible causes" } else { "At worst" },
        hidden_io_wait_causes(&host.nfs_waits)
    ))
}

fn dirty_memory_sentence(host: &HostReport) -> Option<String> {
    let used = |range: &Range| {
        let (mean, max) = range.mean.zip(range.max.filter(|max| *max > 0.0))?;
        Some(format!("{} on average, {} at most", mib(mean), mib(max)))
    };
    let writeback = used(&host.writeback_kib).map(|used| format!("; under writeback: {used}"));
    Some(format!("Dirty memory: {}{}.", used(&host.dirty_kib)?, writeback.unwrap_or_default()))
}

/// The names as a list: `sda`, `sda and sdb`, `sda, sdb and sdc`.
fn names(devices: &[&str]) -> String {
    match devices {
        [] | [_] => devices.concat(),
        [several @ .., last] => format!("{} and {last}", several.join(", ")),
    }
}

/// The percentage of the time in which all tasks waited, as the end of a clause; empty if it is unknown.
fn all_tasks(full_pct: &Range) -> String {
    full_pct.mean.map(|full| format!(", all non-idle tasks {}", percent(full))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn always(value: f64) -> Range {
        let mut range = Range::default();
        (range.mean, range.min, range.max) = (Some(value), Some(value), Some(value));
        range
    }

    #[test]
    fn the_host_is_described_as_far_as_it_is_known() {
        let host = HostReport {
            cpu_available_pct: always(4.0),
            cpu_user_pct: always(80.0),
            cpu_system_pct: always(10.0),
            cpu_steal_pct: always(6.0),
            io_pressure_some_pct: always(0.31),
            dirty_kib: always(12288.0),
            writeback_kib: always(0.0),
            ..HostReport::default()
        };
        let found = [cpu_sentence(&host), io_pressure_sentence(&host), dirty_memory_sentence(&host)];
        let expected = [
            "Only 4.0% CPU available (user 80%, system 10%, steal 6.0%): CPU may be the bottleneck.",
            "Tasks hardly waited for I/O: at least one waited 0.3% of the time. Asynchronous I/O (io_uring, libaio) \
             does not count, so this does not prove that no one waited.",
            "Dirty memory: 12.0 MiB on average, 12.0 MiB at most.",
        ];
        assert_eq!(found.map(Option::unwrap), expected);
        assert_eq!(hidden_wait_sentence(&host), None);
        let waiting = HostReport {
            io_pressure_some_pct: always(35.0),
            io_pressure_full_pct: always(20.0),
            hidden_io_wait_pct: always(33.0),
            ..host
        };
        let all = "At least one task waited for I/O 35% of the time, all non-idle tasks 20%.";
        assert_eq!(io_pressure_sentence(&waiting).unwrap(), all);
        let hidden = hidden_wait_sentence(&waiting).unwrap();
        assert!(hidden.contains("35% of the time, and for 33% of the time or more"), "{hidden}");
    }

    #[test]
    fn names_are_a_list() {
        assert_eq!(names(&["sda", "sdb", "sdc"]), "sda, sdb and sdc");
        assert_eq!([names(&["sda"]), names(&[])], ["sda", ""]);
    }
}

//! Arbitrary bytes as a diskstats line: the parser does not panic, and a parsed device that is formatted as a line
//! parses to the same device.
#![no_main]

use blkstat::capture::parse_line;
use blkstat::counters::{Columns, Device};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &[u8]| {
    let mut device = Device::default();
    if let Err(error) = parse_line(line, &mut device) {
        let message = error.to_string();
        assert!(message.len() < 1000 && !message.contains(char::is_control), "{message:?}");
        return;
    }
    // The parser must overwrite every value of the previous line.
    let mut reparsed = Device { name: "earlier".into(), ..device.clone() };
    parse_line(format_line(&device).as_bytes(), &mut reparsed).unwrap();
    assert_eq!(reparsed, device);
});

fn format_line(device: &Device) -> String {
    let counters = &device.counters;
    let (reads, writes, discards) = (&counters.reads, &counters.writes, &counters.discards);
    let mut numbers = match counters.columns {
        Columns::Partition => vec![reads.ios, reads.sectors, writes.ios, writes.sectors],
        _ => {
            let requests = [reads, writes].map(|r| [r.ios, r.merges, r.sectors, r.ms]).concat();
            [requests, vec![counters.in_flight, counters.busy_ms, counters.weighted_ms]].concat()
        }
    };
    if counters.columns >= Columns::Discards {
        numbers.extend([discards.ios, discards.merges, discards.sectors, discards.ms]);
    }
    if counters.columns >= Columns::Flushes {
        numbers.extend([counters.flushes, counters.flush_ms]);
    }
    let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
    format!("{:4} {:7} {} {}", device.major, device.minor, device.name, numbers.join(" "))
}

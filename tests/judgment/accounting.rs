//! Devices whose requests the kernel does not count.

use crate::judge::report;

/// The verdict on a device without accounting that completed this many reads at each sample.
fn verdict(reads: [u64; 4]) -> serde_json::Value {
    let header = "#blkstat {\"version\":\"0.2.0\",\"devices\":[{\"name\":\"dm-0\",\"iostats_enabled\":false}]}\n";
    let sample = |(second, reads): (usize, &u64)| {
        let at = 1_795_197_600 + second;
        let sectors = 8 * reads;
        let columns = format!("{reads} 0 {sectors} {reads} 0 0 0 0 0 {reads} {reads} 0 0 0 0 0 0");
        format!("TS {at}.0 x\n253 0 dm-0 {columns}\n#blkstat {{\"complete\":true}}\n")
    };
    let text: String = reads.iter().enumerate().map(sample).collect();
    report(&format!("{header}{text}"), "dm-0", &[])["verdict"].clone()
}

#[test]
fn accounting_is_off_only_if_no_request_was_ever_counted() {
    assert_eq!(verdict([0; 4]), "accounting_off");
    assert_eq!(verdict([0, 0, 100, 100]), "ok");
}

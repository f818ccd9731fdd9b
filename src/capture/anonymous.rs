//! Replaces the names that people chose in a recording, so that it can be handed to strangers: of the host, of volumes,
//! mount points and files, of cgroups and programs, and the numbers that identify a disk. A name has the same replacement
//! throughout, word for word, so that what belongs together still does: `/srv/shop` becomes `/name1/name2`.
//!
//! What is written is made anew from what was understood, and nothing is copied: a field or a line of a kind that is not
//! known here cannot slip through. What stays: numbers and times, the kernel's names of devices, the models of disks and
//! of the machine, which their makers chose, and words that every host has.

use std::collections::HashMap;
use std::sync::Arc;

use super::annotation::{
    Annotation, HeaderLists, HealthLine, RecordingHeader, split_list, write_annotation,
    write_header,
};
use super::diskstats_line::{Words, parse_line, write_line};
use super::line_kind::{LineKind, TimestampLine};
use super::proc_files::cpu_line;
use super::scan_growth::ScanGrowth;
use crate::counters::{BlockedTask, BusyProcess, Device, HealthFacts};
use crate::topology::{Machine, Node, Topology, possible_disks};
use crate::units::epoch_text;

/// The words of cgroups that systemd creates on every host.
const WORDS_OF_CGROUPS: [&str; 7] = [
    "init", "machine", "scope", "service", "slice", "system", "user",
];

/// The words in the names of the kernel's threads, without digits. Others in them are names: a thread of NFS has that of
/// its server, one of drbd that of its volume.
const WORDS_OF_THREADS: &str = "btrfs cleaner crypt dm dmcrypt events ext flush jbd kblockd kcompactd kcopyd kcryptd \
    kdmflush khugepaged kjournald kswapd kworker lazyinit loop md mm nfsd percpu raid resync \
    transacti u unbound write xfs xfsaild";

/// What is left of the kernel's names of devices without their digits.
const FORMS_OF_DEVICES: &str = "bcache cciss/cd cciss/cdp dm- drbd etherd/e. fd loop loopp md md_d md_dp mdp mmcblk \
    mmcblkboot mmcblkp mtdblock nbd nbdp nullb nvmecn nvmen nvmenp pmem pmemp pmems ram rbd \
    rbdp sr zd zram";
/// The beginnings of the kernel's names of disks that are counted in letters: `sda`, `sdaa`.
const LETTERED_DISKS: [&str; 6] = ["sd", "hd", "vd", "xvd", "dasd", "emcpower"];

/// Replaces names in the text of a recording.
#[derive(Default)]
pub struct Anonymizer {
    /// The replacement of each word.
    words: HashMap<String, String>,
    /// That of each name of a device that the kernel did not choose.
    devices: HashMap<String, String>,
    /// The number of lines that were left out.
    pub left_out: u64,
}

impl Anonymizer {
    /// Returns whole lines of a recording with their names replaced, without those that are not understood.
    pub fn rewrite(&mut self, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        for line in text.split(|byte| *byte == b'\n') {
            if line.trim_ascii().is_empty() {
                continue;
            }
            match LineKind::of(line, true, false, true) {
                LineKind::Device => self.write_device(line, &mut out),
                LineKind::Timestamp(timestamp) => write_timestamp(&timestamp, line, &mut out),
                // Other lines that begin with cpu are those of single CPUs, which nobody reads.
                LineKind::Cpu(cpu) => {
                    if let Some(cpu) = cpu {
                        out.extend_from_slice(cpu_line(&cpu).as_bytes());
                        out.push(b'\n');
                    }
                }
                LineKind::Annotation(annotation) => self.write_annotation(annotation, &mut out),
                LineKind::Comment | LineKind::InvalidAnnotation(_) => self.left_out += 1,
            }
        }
        out
    }

    fn write_device(&mut self, line: &[u8], out: &mut Vec<u8>) {
        let mut device = Device::default();
        if parse_line(line, &mut device).is_err() {
            self.left_out += 1;
            return;
        }
        device.name = self.device(&device.name);
        write_line(&device, out);
    }

    fn write_annotation(&mut self, annotation: Annotation, out: &mut Vec<u8>) {
        match annotation {
            Annotation::Header(header) => write_header(&self.header(*header), out),
            Annotation::HeaderLists(lists) => self.write_lists(lists, out),
            Annotation::Health(line) => {
                let health = self.health(line.health);
                write_annotation(&HealthLine { health, ..line }, out);
            }
            Annotation::IoScan(scan) => self.scan(scan).write(out),
            Annotation::DroppedSamples(dropped) => write_annotation(&dropped, out),
            Annotation::ClockChange(change) => write_annotation(&change, out),
            Annotation::EndOfSample(end) => {
                if end.complete || end.monotonic_ns.is_some() {
                    write_annotation(&end, out);
                } else {
                    // A line of a kind that is not known, or the text of an error.
                    self.left_out += 1;
                }
            }
        }
    }

    fn header(&mut self, mut header: RecordingHeader) -> RecordingHeader {
        header.version = version_number(&header.version);
        header.kernel = header.kernel.as_deref().map(version_number);
        self.replace_in(&mut header.host);
        self.replace_in(&mut header.boot_id);
        header.machine = self.machine(header.machine);
        let mut nodes = Vec::new();
        for node in header.topology.nodes() {
            nodes.push(self.node(node.clone()));
        }
        header.topology = Topology::new(nodes);
        header
    }

    fn write_lists(&mut self, lists: HeaderLists, out: &mut Vec<u8>) {
        let mut nodes = Vec::new();
        for node in lists.devices {
            nodes.push(self.node(node));
        }
        for devices in split_list(&nodes) {
            let line = HeaderLists {
                devices,
                baselines: Vec::new(),
            };
            write_annotation(&line, out);
        }
        let mut baselines = lists.baselines;
        for baseline in &mut baselines {
            if let Some(device) = &mut baseline.device {
                *device = self.device(device);
            }
            if !["given", "saved"].contains(&baseline.source.as_str()) {
                baseline.source.clear();
            }
        }
        if !baselines.is_empty() {
            let line = HeaderLists {
                devices: Vec::new(),
                baselines,
            };
            write_annotation(&line, out);
        }
    }

    /// The asset tag of a provider stays: it says what kind of disks the machine has.
    fn machine(&mut self, mut machine: Machine) -> Machine {
        if !machine.has_tag_of_provider() {
            self.replace_in(&mut machine.chassis_asset_tag);
        }
        machine
    }

    fn node(&mut self, mut node: Node) -> Node {
        node.name = self.device(&node.name);
        for backing in &mut node.backing_devices {
            *backing = self.device(backing);
        }
        for mountpoint in &mut node.mountpoints {
            if mountpoint != Node::SWAP {
                *mountpoint = self.replace(mountpoint);
            }
        }
        self.replace_in(&mut node.alias);
        self.replace_in(&mut node.backing_file);
        self.replace_in(&mut node.identity);
        self.replace_in(&mut node.serial);
        node
    }

    fn health(&mut self, facts: HealthFacts) -> HealthFacts {
        let mut renamed = HealthFacts::default();
        for (name, health) in facts {
            let is_mountpoint = name.starts_with('/');
            let name = if is_mountpoint {
                self.replace(&name)
            } else {
                self.device(&name)
            };
            renamed.insert(name, health);
        }
        renamed
    }

    fn scan(&mut self, mut scan: ScanGrowth) -> ScanGrowth {
        for device in &mut scan.devices {
            device.name = self.device(&device.name);
        }
        for cgroup in &mut scan.cgroups {
            cgroup.path = self.cgroup(&cgroup.path);
        }
        for BusyProcess {
            comm,
            command,
            cgroup,
            is_kernel,
            ..
        } in &mut scan.busiest
        {
            self.replace_program(*is_kernel, comm, command, cgroup);
        }
        for BlockedTask {
            comm,
            command,
            cgroup,
            device,
            is_kernel,
            ..
        } in &mut scan.blocked
        {
            self.replace_program(*is_kernel, comm, command, cgroup);
            if let Some(device) = device {
                *device = self.device(device);
            }
        }
        scan
    }

    fn replace_program(
        &mut self,
        is_kernel: bool,
        comm: &mut String,
        command: &mut Option<Arc<str>>,
        cgroup: &mut Option<Arc<str>>,
    ) {
        // Recordings of 0.1.0 don't say which threads are the kernel's.
        *comm = if is_kernel || comm.starts_with("kworker/") {
            self.replace_words(comm, is_word_of_thread)
        } else {
            self.replace(comm)
        };
        if let Some(command) = command {
            *command = self.replace(command).into();
        }
        if let Some(cgroup) = cgroup {
            *cgroup = self.cgroup(cgroup);
        }
    }

    fn cgroup(&mut self, path: &str) -> Arc<str> {
        self.replace_words(path, |word| WORDS_OF_CGROUPS.contains(&word))
            .into()
    }

    fn replace_in(&mut self, text: &mut Option<String>) {
        if let Some(text) = text {
            *text = self.replace(text);
        }
    }

    fn replace(&mut self, text: &str) -> String {
        self.replace_words(text, |_| false)
    }

    /// Replaces each word but those that stay; punctuation between words stays.
    fn replace_words(&mut self, text: &str, stays: fn(&str) -> bool) -> String {
        let mut replaced = String::new();
        for part in text.split_inclusive(ends_word) {
            let word = part.trim_end_matches(ends_word);
            if word.is_empty() || stays(word) {
                replaced += word;
            } else {
                let number = self.words.len() + 1;
                let known = self.words.entry(word.to_owned());
                replaced += known.or_insert_with(|| format!("name{number}"));
            }
            replaced += &part[word.len()..];
        }
        replaced
    }

    /// The name of a device, unless the kernel chose it. A partition stays one.
    fn device(&mut self, name: &str) -> String {
        if is_chosen_by_kernel(name) {
            return name.to_owned();
        }
        if let Some(known) = self.devices.get(name) {
            return known.clone();
        }
        let replaced = match self.partition(name) {
            Some(partition) => partition,
            None => self.replace_words(name, |word| word == "md"),
        };
        self.devices.insert(name.to_owned(), replaced.clone());
        replaced
    }

    /// The name of a partition of a disk whose name was replaced; `None` for other devices.
    fn partition(&self, name: &str) -> Option<String> {
        for disk in possible_disks(name).into_iter().flatten() {
            if let Some(replaced) = self.devices.get(disk) {
                let number = name[disk.len()..].trim_start_matches('p');
                return Some(format!("{replaced}p{number}"));
            }
        }
        None
    }
}

fn ends_word(c: char) -> bool {
    c.is_ascii_punctuation() || c == ' '
}

fn is_word_of_thread(word: &str) -> bool {
    let stem = word.trim_end_matches(|c: char| c.is_ascii_digit());
    stem.is_empty() || is_among(stem, WORDS_OF_THREADS) || is_chosen_by_kernel(word)
}

fn is_among(word: &str, words: &str) -> bool {
    words.split(' ').any(|one| one == word)
}

fn is_chosen_by_kernel(device: &str) -> bool {
    let form: String = device.chars().filter(|c| !c.is_ascii_digit()).collect();
    if is_among(&form, FORMS_OF_DEVICES) {
        return true;
    }
    let disk = device.trim_end_matches(|c: char| c.is_ascii_digit());
    for start in LETTERED_DISKS {
        if let Some(letters) = disk.strip_prefix(start)
            && (1..=3).contains(&letters.len())
            && letters.bytes().all(|letter| letter.is_ascii_lowercase())
        {
            return true;
        }
    }
    false
}

/// The number that a version begins with. What follows may be the name of who built it.
fn version_number(version: &str) -> String {
    let is_outside = |c: char| !c.is_ascii_digit() && c != '.';
    let end = version.find(is_outside).unwrap_or(version.len());
    version[..end].to_owned()
}

/// Writes the line that begins a sample: of what follows its time only what is a date or a time.
fn write_timestamp(timestamp: &TimestampLine, line: &[u8], out: &mut Vec<u8>) {
    let Some(time) = timestamp.time else { return };
    out.extend_from_slice(format!("TS {}", epoch_text(time)).as_bytes());
    for word in Words::new(line).skip(2) {
        if word
            .iter()
            .all(|byte| byte.is_ascii_digit() || b"-:.+".contains(byte))
        {
            out.push(b' ');
            out.extend_from_slice(word);
        }
    }
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_the_kernel_chose_stay() {
        for name in [
            "sda",
            "sda1",
            "xvdaa15",
            "nvme0n1p2",
            "nvme1c0n1",
            "dm-12",
            "md127",
            "md127p1",
            "cciss/c0d0p2",
            "loop7",
            "mmcblk0p1",
            "zd16",
            "dasda1",
        ] {
            assert_eq!(Anonymizer::default().device(name), name);
        }
        let mut anonymizer = Anonymizer::default();
        for (name, replaced) in [
            ("md_home", "md_name1"),
            ("md_home1", "md_name1p1"),
            ("md_data2", "md_name2"),
            ("md_data2p11", "md_name2p11"),
            ("sdsecret", "name3"),
            ("customer", "name4"),
            ("md_home", "md_name1"),
        ] {
            assert_eq!(anonymizer.device(name), replaced);
        }
    }

    #[test]
    fn names_of_threads_keep_the_words_of_the_kernel() {
        let mut anonymizer = Anonymizer::default();
        for (name, replaced) in [
            ("jbd2/dm-0-8", "jbd2/dm-0-8"),
            ("kworker/u8:2+flush-253:0", "kworker/u8:2+flush-253:0"),
            ("md127_raid5", "md127_raid5"),
            ("xfsaild/sda1", "xfsaild/sda1"),
            ("drbd_w_orders", "drbd_name1_name2"),
            ("nas.example-man", "name3.name4-name5"),
        ] {
            assert_eq!(anonymizer.replace_words(name, is_word_of_thread), replaced);
        }
    }

    #[test]
    fn a_word_has_one_replacement() {
        let mut anonymizer = Anonymizer::default();
        assert_eq!(
            anonymizer.replace("/srv/Straße 1/db"),
            "/name1/name2 name3/name4"
        );
        assert_eq!(anonymizer.replace("db: -D /srv"), "name4: -name5 /name1");
        let path = "/user.slice/user-1000.slice/db.service";
        let replaced = "/user.slice/user-name6.slice/name4.service";
        assert_eq!(&*anonymizer.cgroup(path), replaced);
    }
}

//! Describes the mounted hierarchy, for bug reports.

use std::path::Path;

use super::CgroupReader;
use super::files::counters_file;
use crate::counters::{CgroupHierarchy, CgroupSource};
use crate::os_error::os_error_text;
use crate::source::small_file::read_bytes_into;

impl CgroupReader {
    /// Describes the hierarchy of the system below `root`; `None` if none that counts I/O is mounted.
    pub(in crate::source) fn describe(&self, root: &Path) -> Option<CgroupSource> {
        let hierarchy = self.hierarchy.as_ref()?;
        let read = |path: &Path| {
            let mut bytes = Vec::new();
            read_bytes_into(path, &mut bytes).map_err(|error| os_error_text(&error))?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        let controllers = match hierarchy.version {
            CgroupHierarchy::V1 => read(&root.join("proc/cgroups")).map(|text| mounted_controllers(&text)),
            CgroupHierarchy::V2 => read(&self.top.join("cgroup.controllers")).map(|text| words(&text)),
        };
        Some(CgroupSource {
            version: hierarchy.version,
            mountpoint: hierarchy.mountpoint.clone(),
            controllers,
            io: read(&self.top.join(counters_file(hierarchy.version))).map(drop),
        })
    }
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// Returns the controllers in /proc/cgroups that are in a hierarchy of version 1: their hierarchy has a number.
fn mounted_controllers(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let fields = lines.map(|line| line.split_whitespace().collect::<Vec<_>>());
    fields
        .filter(|fields| fields.get(1) != Some(&"0"))
        .filter_map(|fields| Some((*fields.first()?).to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_controller_of_version_1_has_the_number_of_a_hierarchy() {
        let text =
            "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t3\t1\t1\nblkio\t7\t12\t1\nmisc\t0\t1\t1\n";
        assert_eq!(mounted_controllers(text), ["cpu", "blkio"]);
        assert!(mounted_controllers("").is_empty());
    }
}

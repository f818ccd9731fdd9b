//! The children of each cgroup, listed again only when they change.

use std::collections::HashMap;
use std::fs::{metadata, read_dir};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The links of a directory without children: its name in its parent, and its own `.`.
const MIN_LINKS: u64 = 2;

pub(super) struct Child {
    pub(super) dir: PathBuf,
    /// Its name, in which bytes that are not UTF-8 are replaced.
    pub(super) name: String,
}

/// The children of directories, as last listed.
#[derive(Default)]
pub(super) struct ChildLists {
    lists: HashMap<PathBuf, ChildList>,
    /// The number of this pass over all directories.
    pass: u64,
}

struct ChildList {
    /// The links of the directory: one for each child besides [`MIN_LINKS`], on file systems that count them.
    links: u64,
    /// Ordered by name.
    children: Vec<Arc<Child>>,
    /// The last pass that asked for this directory.
    pass: u64,
}

impl ChildLists {
    /// Begins a pass over all directories. Forgets those that the last pass did not ask for.
    pub(super) fn begin_pass(&mut self) {
        self.lists.retain(|_, list| list.pass == self.pass);
        self.pass += 1;
    }

    /// Returns the children of a directory with this number of links, by name, and the links of each. They are listed
    /// again if their number has changed or one of them is gone; without either, no child can have been replaced.
    ///
    /// # Errors
    /// If the directory is gone or cannot be read.
    pub(super) fn children(&mut self, dir: &Path, links: u64) -> io::Result<Vec<(Arc<Child>, u64)>> {
        if links == MIN_LINKS {
            return Ok(Vec::new());
        }
        let pass = self.pass;
        // Some file systems give every directory a single link.
        let known = self.lists.get_mut(dir).filter(|list| list.links == links && links > MIN_LINKS);
        if let Some(list) = known
            && let Some(found) = with_links(&list.children)
        {
            list.pass = pass;
            return Ok(found);
        }
        let children = list_children(dir)?;
        // A child that is gone already will be noticed in the next pass.
        let found = children.iter().filter_map(|child| Some((Arc::clone(child), links_of(&child.dir)?)));
        let found = found.collect();
        self.lists.insert(dir.to_owned(), ChildList { links, children, pass });
        Ok(found)
    }
}

/// Returns the links of a directory; `None` if it does not exist.
pub(super) fn links_of(dir: &Path) -> Option<u64> {
    metadata(dir).ok().map(|metadata| metadata.nlink())
}

/// Returns the links of each child; `None` if one is gone.
fn with_links(children: &[Arc<Child>]) -> Option<Vec<(Arc<Child>, u64)>> {
    children.iter().map(|child| Some((Arc::clone(child), links_of(&child.dir)?))).collect()
}

fn list_children(dir: &Path) -> io::Result<Vec<Arc<Child>>> {
    let is_dir = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let entries = read_dir(dir)?.flatten().filter(is_dir);
    let child = |entry: std::fs::DirEntry| {
        Arc::new(Child { dir: entry.path(), name: entry.file_name().to_string_lossy().into_owned() })
    };
    let mut children: Vec<_> = entries.map(child).collect();
    children.sort_by(|a, b| a.dir.cmp(&b.dir));
    Ok(children)
}

#[cfg(test)]
mod tests {
    use std::fs::{create_dir, remove_dir};

    use super::*;

    fn names(lists: &mut ChildLists, dir: &Path) -> Vec<String> {
        lists.begin_pass();
        let found = lists.children(dir, links_of(dir).unwrap()).unwrap();
        found.iter().map(|(child, _)| child.name.clone()).collect()
    }

    #[test]
    fn children_that_are_added_removed_or_replaced_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let child = |name: &str| folder.path().join(name);
        let mut lists = ChildLists::default();
        assert!(names(&mut lists, folder.path()).is_empty());
        create_dir(child("a")).unwrap();
        create_dir(child("b")).unwrap();
        assert_eq!(names(&mut lists, folder.path()), ["a", "b"]);
        remove_dir(child("a")).unwrap();
        create_dir(child("c")).unwrap();
        assert_eq!(names(&mut lists, folder.path()), ["b", "c"], "as many as before");
        remove_dir(child("b")).unwrap();
        assert_eq!(names(&mut lists, folder.path()), ["c"]);
        std::fs::write(child("file"), "").unwrap();
        assert_eq!(names(&mut lists, folder.path()), ["c"]);
    }
}

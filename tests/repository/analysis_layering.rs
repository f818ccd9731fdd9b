//! The modules of `src/analysis` import each other in one direction.

use std::path::Path;

/// The modules, lowest first: each may import those before it.
const MODULES: [&str; 17] = [
    "thresholds",
    "stats",
    "host",
    "load",
    "peers",
    "saved_baselines",
    "baseline",
    "settings",
    "caps",
    "capacity",
    "lifetimes",
    "verdict",
    "blocks",
    "device",
    "compare",
    "not_the_disk",
    "queue_by_layer",
];

fn position(module: &str) -> usize {
    MODULES
        .iter()
        .position(|name| *name == module)
        .unwrap_or_else(|| panic!("the module '{module}' is not in the list"))
}

/// The modules that a source imports: `crate::analysis::x` anywhere, and `super::x` in a top-level file.
fn imports<'a>(source: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    let end = |rest: &str| rest.find(|c: char| c != '_' && !c.is_ascii_lowercase()).unwrap_or(rest.len());
    code.split(prefix).skip(1).map(move |rest| &rest[..end(rest)]).filter(|name| !name.is_empty())
}

fn check(path: &Path, module: &str, prefix: &str) {
    let source = std::fs::read_to_string(path).unwrap();
    for other in imports(&source, prefix).filter(|other| *other != module) {
        assert!(position(other) < position(module), "{} imports {other}", path.display());
    }
}

#[test]
fn no_module_imports_one_that_comes_later() {
    let mut modules = 0;
    for entry in std::fs::read_dir("src/analysis").unwrap() {
        let path = entry.unwrap().path();
        let module = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if module == "mod" {
            continue;
        }
        modules += 1;
        if path.is_dir() {
            for file in std::fs::read_dir(&path).unwrap() {
                check(&file.unwrap().path(), &module, "crate::analysis::");
            }
        } else {
            check(&path, &module, "super::");
            check(&path, &module, "crate::analysis::");
        }
    }
    assert_eq!(modules, MODULES.len());
}

//! The module structure: a module of `src/` imports only modules below it, so that there is no cycle.

use std::collections::BTreeMap;
use std::path::Path;

/// The modules, lowest first: each may import those before it.
const MODULES: &[&str] = &[
    "exit",
    "os_error",
    "memory_lock",
    "sanitize",
    "units",
    "two_threads",
    "time_range",
    "schedule",
    "compression",
    "signals",
    "terminal",
    "clock",
    "counters",
    "topology",
    "baselines",
    "attribution",
    "capture",
    "metrics",
    "analysis",
    "source",
    "intervals",
    "sink",
    "report",
    "console",
    "screen",
    "iostat",
    "pt_diskstats",
    "commands",
    "build",
    "lib",
    "main",
];

/// The source files of each module.
type Sources = BTreeMap<String, Vec<(String, String)>>;

fn read_sources(directory: &Path, module: Option<&str>, sources: &mut Sources) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let module = module.unwrap_or(&name);
        if name == "tests" || path == Path::new("src/manual") {
            // Unit tests may use any module, also those that are files of their own. The manual is text.
            continue;
        }
        if path.is_dir() {
            read_sources(&path, Some(module), sources);
        } else {
            let file = path.strip_prefix("src").unwrap().display().to_string();
            let text = std::fs::read_to_string(&path).unwrap();
            sources.entry(module.to_owned()).or_default().push((file, text));
        }
    }
}

fn sources() -> Sources {
    let mut sources = Sources::new();
    read_sources(Path::new("src"), None, &mut sources);
    sources
}

/// Returns the modules that a file imports, as `crate::module` or `blkstat::module`.
fn imports(source: &str) -> impl Iterator<Item = &str> {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    ["crate::", "blkstat::"].into_iter().flat_map(move |prefix| {
        code.split(prefix).skip(1).map(|rest| {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            &rest[..end]
        })
    })
}

#[test]
fn a_module_imports_only_those_below_it() {
    let position = |module: &str| MODULES.iter().position(|name| *name == module);
    let sources = sources();
    for (module, files) in &sources {
        let own = position(module).unwrap_or_else(|| panic!("the list lacks the module '{module}'"));
        for (file, source) in files {
            for import in imports(source).filter(|import| import != module) {
                assert!(
                    position(import).is_some_and(|other| other < own),
                    "{file}: {module} imports {import}"
                );
            }
        }
    }
    assert_eq!(sources.len(), MODULES.len(), "the list has a module that does not exist");
}

#[test]
fn only_commands_use_clap() {
    for (module, files) in sources().iter().filter(|(module, _)| *module != "commands") {
        for (file, source) in files {
            assert!(!source.contains("clap::"), "{file}: {module} must not use clap");
        }
    }
}

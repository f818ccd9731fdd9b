//! The module structure: a module of `src/` imports only modules that the table permits, and the table has no cycle.

use std::collections::BTreeMap;
use std::path::Path;

/// Each module with the modules that it may import, lowest first.
const MODULES: &[(&str, &[&str])] = &[
    ("exit", &[]),
    ("os_error", &[]),
    ("memory_lock", &[]),
    ("sanitize", &[]),
    ("units", &[]),
    ("time_range", &[]),
    ("schedule", &[]),
    ("compression", &[]),
    ("signals", &[]),
    ("terminal", &[]),
    ("clock", &["signals"]),
    ("counters", &["units"]),
    ("topology", &["counters"]),
    ("baselines", &[]),
    ("attribution", &["counters"]),
    ("capture", &["baselines", "compression", "counters", "topology", "units", "sanitize"]),
    ("metrics", &["counters", "units"]),
    ("analysis", &["attribution", "baselines", "counters", "metrics", "topology", "units"]),
    (
        "source",
        &[
            "attribution",
            "capture",
            "clock",
            "compression",
            "counters",
            "os_error",
            "sanitize",
            "time_range",
            "topology",
            "units",
        ],
    ),
    (
        "intervals",
        &[
            "analysis",
            "attribution",
            "baselines",
            "capture",
            "clock",
            "counters",
            "metrics",
            "os_error",
            "sanitize",
            "schedule",
            "source",
            "time_range",
            "topology",
            "units",
        ],
    ),
    ("sink", &["capture", "clock", "compression", "os_error"]),
    (
        "report",
        &["analysis", "attribution", "counters", "intervals", "metrics", "sanitize", "topology", "units"],
    ),
    (
        "screen",
        &[
            "analysis",
            "attribution",
            "counters",
            "intervals",
            "metrics",
            "report",
            "sanitize",
            "terminal",
            "time_range",
            "topology",
            "units",
        ],
    ),
    ("iostat", &["counters", "metrics", "report", "sanitize", "topology", "units"]),
    ("pt_diskstats", &["counters", "exit", "metrics", "report", "sanitize"]),
    ("plan", &["intervals", "iostat", "pt_diskstats", "report", "schedule", "sink"]),
    (
        "cli",
        &[
            "analysis",
            "exit",
            "intervals",
            "iostat",
            "os_error",
            "plan",
            "pt_diskstats",
            "report",
            "sanitize",
            "schedule",
            "sink",
            "source",
            "time_range",
        ],
    ),
    (
        "run",
        &[
            "analysis",
            "attribution",
            "capture",
            "clock",
            "counters",
            "exit",
            "intervals",
            "iostat",
            "memory_lock",
            "os_error",
            "plan",
            "pt_diskstats",
            "report",
            "sanitize",
            "schedule",
            "screen",
            "signals",
            "sink",
            "source",
            "terminal",
            "time_range",
            "topology",
            "units",
        ],
    ),
    ("build", &[]),
    ("lib", &[]),
    ("main", &["cli", "clock", "exit", "run", "signals"]),
];

/// The source files of each module.
type Sources = BTreeMap<String, Vec<(String, String)>>;

fn read_sources(directory: &Path, module: Option<&str>, sources: &mut Sources) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let module = module.unwrap_or(&name);
        if name == "tests" {
            // Unit tests may use any module, also those that are files of their own.
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
fn a_module_imports_only_what_the_table_permits() {
    let sources = sources();
    for (module, files) in &sources {
        let (_, permitted) = MODULES
            .iter()
            .find(|(name, _)| name == module)
            .unwrap_or_else(|| panic!("the table lacks the module '{module}'"));
        for (file, source) in files {
            for import in imports(source).filter(|import| import != module) {
                assert!(permitted.contains(&import), "{file}: {module} must not import {import}");
            }
        }
    }
    assert_eq!(sources.len(), MODULES.len(), "the table has a module that does not exist");
}

#[test]
fn the_table_has_no_cycle_and_no_unused_import() {
    let sources = sources();
    for (index, (module, permitted)) in MODULES.iter().enumerate() {
        let files = &sources[*module];
        for import in *permitted {
            let position = MODULES.iter().position(|(name, _)| name == import);
            assert!(position.is_some_and(|position| position < index), "{module} imports {import} upwards");
            let is_used = files.iter().any(|(_, source)| imports(source).any(|used| used == *import));
            assert!(is_used, "{module} no longer imports {import}");
        }
    }
}

#[test]
fn only_cli_uses_clap() {
    for (module, files) in sources().iter().filter(|(module, _)| *module != "cli") {
        for (file, source) in files {
            assert!(!source.contains("clap::"), "{file}: {module} must not use clap");
        }
    }
}

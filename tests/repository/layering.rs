//! The module structure: a module of `src/` imports only modules below it, so that there is no cycle.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Returns the modules, lowest first, as the documentation of the crate lists them: each may import those before it.
fn modules() -> Vec<String> {
    let text = std::fs::read_to_string("src/lib.rs").unwrap();
    let list = text
        .split("checks it:")
        .nth(1)
        .unwrap()
        .split("//!\n")
        .next()
        .unwrap();
    let names = list.split('`').skip(1).step_by(2).map(str::to_owned);
    names
        .chain(["build", "lib", "main"].map(str::to_owned))
        .collect()
}

/// The source files of each module.
pub(super) type Sources = BTreeMap<String, Vec<(PathBuf, String)>>;

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
            let text = std::fs::read_to_string(&path).unwrap();
            sources
                .entry(module.to_owned())
                .or_default()
                .push((path, text));
        }
    }
}

pub(super) fn sources(directory: &str) -> Sources {
    let mut sources = Sources::new();
    read_sources(Path::new(directory), None, &mut sources);
    sources
}

/// Returns the modules that a file imports, such as `module` of `crate::module`.
fn imports(source: &str) -> impl Iterator<Item = &str> {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    ["crate::", "blkstat::"]
        .into_iter()
        .flat_map(move |prefix| {
            code.split(prefix).skip(1).map(|rest| {
                let end = rest
                    .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                    .unwrap_or(rest.len());
                &rest[..end]
            })
        })
}

#[test]
fn a_module_imports_only_those_below_it() {
    let (sources, modules) = (sources("src"), modules());
    let position = |module: &str| modules.iter().position(|name| *name == module);
    for (module, files) in &sources {
        let own =
            position(module).unwrap_or_else(|| panic!("the list lacks the module '{module}'"));
        for (file, source) in files {
            for import in imports(source).filter(|import| *import != module) {
                let is_below = position(import).is_some_and(|other| other < own);
                assert!(is_below, "{}: {module} imports {import}", file.display());
            }
        }
    }
    assert_eq!(
        sources.len(),
        modules.len(),
        "the list has a module that does not exist"
    );
}

#[test]
fn only_its_command_imports_latency() {
    for (module, files) in &sources("src") {
        for (file, source) in files {
            let is_its_own = module == "latency" || file.ends_with("commands/latency.rs");
            assert!(
                is_its_own || !imports(source).any(|import| import == "latency"),
                "{}: only src/commands/latency.rs imports latency",
                file.display()
            );
        }
    }
}

#[test]
fn only_commands_use_clap() {
    for (module, files) in sources("src")
        .iter()
        .filter(|(module, _)| *module != "commands")
    {
        for (file, source) in files {
            assert!(
                !source.contains("clap::"),
                "{}: {module} must not use clap",
                file.display()
            );
        }
    }
}

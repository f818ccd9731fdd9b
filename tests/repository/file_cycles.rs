//! The files of a folder: none imports another one that imports it in turn, not even through others, so that each can be
//! read with those below it. A subfolder counts as one file. `mod.rs` is the folder itself: it may use what is in its
//! files, and they may use what it defines.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::layering::sources;

/// A module as the names of its folders and its file below `src`.
type Module = Vec<String>;

fn module_of(file: &Path) -> Module {
    let path = file.strip_prefix("src").unwrap().with_extension("");
    let mut module: Module = path
        .iter()
        .map(|name| name.to_str().unwrap().to_owned())
        .collect();
    module.pop_if(|name| name == "mod");
    module
}

/// Returns the lines of code, without comments and without the tests at the end of a file.
fn code(source: &str) -> String {
    let mut code = String::new();
    let mut is_after_cfg_test = false;
    for line in source.lines() {
        if is_after_cfg_test && line.starts_with("mod ") && line.ends_with('{') {
            break;
        }
        is_after_cfg_test = line == "#[cfg(test)]";
        if !line.trim_start().starts_with("//") {
            code += line;
            code.push('\n');
        }
    }
    code
}

/// Reads the path at the beginning of a text, or the paths in braces, and adds each to `paths`. `before` is what precedes
/// them. Returns the rest of the text.
fn read_paths<'t>(before: &[String], text: &'t str, paths: &mut Vec<Module>) -> &'t str {
    if let Some(mut rest) = text.strip_prefix('{') {
        loop {
            rest = rest.trim_start_matches([' ', '\n', ',', '*']);
            match rest.strip_prefix('}') {
                Some(rest) => return rest,
                None => rest = read_paths(before, rest, paths),
            }
        }
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (name, rest) = text.split_at(text.find(|c| !is_name(c)).unwrap_or(text.len()));
    let path = [before, &[name.to_owned()]].concat();
    match rest.strip_prefix("::") {
        Some(rest) if rest.starts_with(|c| is_name(c) || c == '{') => {
            read_paths(&path, rest, paths)
        }
        _ => {
            paths.push(path);
            rest
        }
    }
}

/// Returns the paths in the code of a module that begin with `crate` or `super`, from the crate on.
fn imports(module: &Module, code: &str) -> Vec<Module> {
    let mut paths = Vec::new();
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            let is_end_of_path = code[..at].ends_with(|c: char| c.is_alphanumeric() || c == ':');
            if !is_end_of_path {
                read_paths(&[], &code[at..], &mut paths);
            }
        }
    }
    for path in &mut paths {
        let supers = path.iter().take_while(|name| *name == "super").count();
        let above = match supers {
            0 => &[],
            _ => &module[..module.len().saturating_sub(supers)],
        };
        *path = [above, &path[supers.max(1)..]].concat();
    }
    paths
}

/// Returns the names that a `mod.rs` imports from its files, with the file of each.
fn reexports(code: &str) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for statement in code.split(';') {
        if let Some((visibility, imported)) = statement.trim_start().split_once("use ")
            && (visibility.is_empty() || visibility.starts_with("pub"))
        {
            let mut paths = Vec::new();
            read_paths(&[], imported.trim_start_matches("self::"), &mut paths);
            for path in paths {
                files.insert(path.last().unwrap().clone(), path[0].clone());
            }
        }
    }
    files
}

#[test]
fn no_two_files_of_a_folder_import_each_other() {
    let mut codes: BTreeMap<Module, String> = BTreeMap::new();
    for (file, source) in sources("src").into_values().flatten() {
        codes.insert(module_of(&file), code(&source));
    }
    let mut imports_by_folder: BTreeMap<Module, BTreeSet<(String, String)>> = BTreeMap::new();
    for (module, code) in &codes {
        for path in imports(module, code) {
            // The folders that hold both the file and what it imports.
            for depth in 1..module.len() {
                let folder = &module[..depth];
                if path.len() <= depth || path[..depth] != *folder {
                    break;
                }
                let is_file = codes.keys().any(|other| other.starts_with(&path[..=depth]));
                let imported = match is_file {
                    true => Some(path[depth].clone()),
                    false => reexports(&codes[folder]).remove(&path[depth]),
                };
                let own = &module[depth];
                if let Some(imported) = imported.filter(|imported| imported != own) {
                    let imports = imports_by_folder.entry(folder.to_vec()).or_default();
                    imports.insert((own.clone(), imported));
                }
            }
        }
    }
    assert!(imports_by_folder.len() > 10, "{imports_by_folder:?}");
    for (folder, mut imports) in imports_by_folder {
        // A file that imports no other one, or that no other one imports, is in no cycle.
        loop {
            let importing: BTreeSet<String> = imports.iter().map(|(own, _)| own.clone()).collect();
            let imported: BTreeSet<String> =
                imports.iter().map(|(_, other)| other.clone()).collect();
            let before = imports.len();
            imports.retain(|(own, other)| imported.contains(own) && importing.contains(other));
            if imports.len() == before {
                break;
            }
        }
        assert!(imports.is_empty(), "{}: {imports:?}", folder.join("/"));
    }
}

#[test]
fn imports_are_found_in_any_form() {
    let code = "use super::{a::{B, C as D}, e};\nfn f(g: super::super::h::I) -> crate::j::K<L> {}";
    let module = ["room", "folder", "file"].map(str::to_owned).to_vec();
    let found: BTreeSet<String> = imports(&module, code)
        .iter()
        .map(|path| path.join("/"))
        .collect();
    for path in [
        "room/folder/a/B",
        "room/folder/a/C",
        "room/folder/e",
        "room/h/I",
        "j/K",
    ] {
        assert!(found.contains(path), "{path}: {found:?}");
    }
}

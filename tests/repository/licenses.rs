//! The licenses of dependencies, whose texts must accompany a program that contains them. Runs offline.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::supply_chain::{contained, metadata};

/// The beginnings of the names of files with licenses and copyrights.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"];

/// A package whose code becomes a part of the program.
struct Package {
    title: String,
    /// The texts of its licenses. Of several that are a choice, only that of MIT.
    texts: Vec<String>,
}

/// Returns the packages that the program contains, without those that only tests or the compiler use.
fn packages(metadata: &Value) -> Vec<Package> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let is_macro = |package: &Value| {
        let mut kinds = package["targets"]
            .as_array()
            .unwrap()
            .iter()
            .map(|target| &target["kind"]);
        kinds.any(|kinds| {
            kinds
                .as_array()
                .unwrap()
                .iter()
                .any(|kind| kind == "proc-macro")
        })
    };
    let others = contained(metadata, |package| !is_macro(package))
        .into_iter()
        .skip(1);
    let mut packages: Vec<Package> = others
        .map(|package| {
            let [name, version, license] =
                ["name", "version", "license"].map(|key| text(&package[key]));
            let manifest = text(&package["manifest_path"]);
            let texts = license_texts(Path::new(&manifest).parent().unwrap());
            Package {
                title: format!("{name} {version} ({license})"),
                texts,
            }
        })
        .collect();
    packages.sort_by(|one, other| one.title.cmp(&other.title));
    packages
}

fn license_texts(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().to_uppercase();
    let mut files: Vec<_> = entries
        .filter(|path| NAMES.iter().any(|start| name(path).starts_with(start)))
        .collect();
    files.sort();
    if files.iter().any(|path| name(path).contains("MIT")) {
        files.retain(|path| !name(path).contains("APACHE"));
    }
    files
        .iter()
        .map(|path| {
            String::from_utf8_lossy(&fs::read(path).unwrap())
                .trim()
                .to_owned()
        })
        .collect()
}

/// Returns the license of Rust's standard library, which every program contains.
fn standard_library() -> Package {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc)
        .arg("--version")
        .output()
        .unwrap()
        .stdout;
    let version = String::from_utf8(version).unwrap();
    let release = version.split_whitespace().nth(1).unwrap();
    let title = format!("The Rust standard library {release} (MIT OR Apache-2.0)");
    let text = format!(
        "Copyright (c) The Rust Project Contributors\n\n{}",
        mit_permission()
    );
    Package {
        title,
        texts: vec![text],
    }
}

/// Returns the terms of the MIT license, as blkstat's own license has them.
fn mit_permission() -> String {
    let license = fs::read_to_string("LICENSE").unwrap();
    license[license.find("Permission is hereby granted").unwrap()..]
        .trim()
        .to_owned()
}

/// Lists each text once, below the packages that it is for.
fn document(packages: &[Package]) -> String {
    let mut by_texts: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for package in packages {
        by_texts
            .entry(package.texts.join("\n\n"))
            .or_default()
            .push(&package.title);
    }
    let mut groups: Vec<(String, Vec<&str>)> = by_texts.into_iter().collect();
    groups.sort_by(|one, other| one.1.cmp(&other.1));
    let mut document =
        "blkstat contains code of these packages, which come with these licenses.\n".to_owned();
    for (text, titles) in groups {
        let rule = "-".repeat(80);
        write!(
            document,
            "\n{rule}\n{}\n{rule}\n\n{text}\n",
            titles.join("\n")
        )
        .unwrap();
    }
    document
}

/// With `BLKSTAT_LICENSES=FILE`, writes the licenses of all dependencies to FILE.
#[test]
fn every_dependency_brings_the_text_of_its_license() {
    let requested = std::env::var_os("BLKSTAT_LICENSES");
    let Some(metadata) = metadata() else {
        assert!(requested.is_none(), "the licenses cannot be collected");
        return;
    };
    let mut packages = packages(&metadata);
    let without: Vec<&str> = packages
        .iter()
        .filter(|package| package.texts.is_empty())
        .map(|package| package.title.as_str())
        .collect();
    assert!(
        without.is_empty() && packages.len() > 30,
        "{without:?} of {}",
        packages.len()
    );
    packages.push(standard_library());
    if let Some(file) = requested {
        fs::write(file, document(&packages)).unwrap();
    }
}

#[test]
fn a_text_that_packages_share_is_listed_once() {
    let package = |title: &str, text: &str| Package {
        title: title.to_owned(),
        texts: vec![text.to_owned()],
    };
    let document = document(&[
        package("b 1", "MIT b"),
        package("a 1", "MIT"),
        package("c 1", "MIT"),
    ]);
    let (first, second) = document.split_once("MIT b").unwrap();
    assert!(
        first.contains("a 1\nc 1\n---") && first.matches("MIT").count() == 1,
        "{document}"
    );
    assert_eq!(second, "\n");
}

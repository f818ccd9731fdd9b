//! The licenses of dependencies, whose texts must accompany a program that contains them. Runs offline.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::supply_chain::{contained, metadata};

/// The beginnings of the names of files with licenses and copyrights.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"];

/// A package whose code becomes a part of the program.
struct Package {
    title: String,
    name: String,
    version: String,
    /// The expression of its licenses.
    license: String,
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
                name,
                version,
                license,
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
    let license = "MIT OR Apache-2.0".to_owned();
    let title = format!("The Rust standard library {release} ({license})");
    let text = format!(
        "Copyright (c) The Rust Project Contributors\n\n{}",
        mit_permission()
    );
    Package {
        title,
        name: "std".to_owned(),
        version: release.to_owned(),
        license,
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

/// Returns the software bill of materials in the form of CycloneDX: what the program consists of, with the checksums of
/// `Cargo.lock`.
fn bill_of_materials(packages: &[Package]) -> Value {
    let lock = fs::read_to_string("Cargo.lock").unwrap();
    let components = packages.iter().map(|package| {
        let Package {
            name,
            version,
            license,
            ..
        } = package;
        let mut component = json!({
            "type": "library",
            "name": name,
            "version": version,
            // Some packages have the older form with a slash.
            "licenses": [{"expression": license.replace('/', " OR ")}],
        });
        let entry = format!("name = \"{name}\"\nversion = \"{version}\"\n");
        let rest = lock.split_once(&entry).map_or("", |(_, rest)| rest);
        let rest = rest.split("[[package]]").next().unwrap_or_default();
        if let Some((_, checksum)) = rest.split_once("checksum = \"") {
            let sha256 = checksum.split('"').next();
            component["purl"] = json!(format!("pkg:cargo/{name}@{version}"));
            component["hashes"] = json!([{"alg": "SHA-256", "content": sha256}]);
        }
        component
    });
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "name": "blkstat",
                "version": env!("CARGO_PKG_VERSION"),
                "licenses": [{"expression": "MIT"}],
            },
        },
        "components": components.collect::<Vec<_>>(),
    })
}

#[test]
fn every_component_of_the_bill_of_materials_has_a_version_a_license_and_a_checksum() {
    let Some(metadata) = metadata() else { return };
    let bill = bill_of_materials(&packages(&metadata));
    let components = bill["components"].as_array().unwrap();
    assert!(components.len() > 30);
    for component in components {
        assert_eq!(
            component["hashes"][0]["content"].as_str().unwrap().len(),
            64,
            "{component}"
        );
        assert!(
            component["licenses"][0]["expression"]
                .as_str()
                .unwrap()
                .contains(char::is_alphabetic)
        );
    }
}

/// With `BLKSTAT_LICENSES=FILE`, writes the licenses of all dependencies to FILE, and with `BLKSTAT_SBOM=FILE` the software
/// bill of materials.
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
    if let Some(file) = std::env::var_os("BLKSTAT_SBOM") {
        let bill = serde_json::to_string_pretty(&bill_of_materials(&packages)).unwrap();
        fs::write(file, bill + "\n").unwrap();
    }
}

#[test]
fn a_text_that_packages_share_is_listed_once() {
    let package = |title: &str, text: &str| Package {
        title: title.to_owned(),
        name: String::new(),
        version: String::new(),
        license: String::new(),
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

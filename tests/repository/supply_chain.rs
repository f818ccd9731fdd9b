//! The supply chain: licenses that permit distribution, no build script, no network access. Runs offline.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Licenses that only require their own text to be distributed with the program.
const ALLOWED: [&str; 10] = [
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Returns whether a license expression can be satisfied by allowed licenses: `OR` is a choice, `AND` requires both.
fn is_allowed(expression: &str) -> bool {
    // Old manifests have a slash instead of OR.
    let expression = expression.replace('/', " OR ");
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0, 0);
    // Parentheses group alternatives into one part.
    for (at, c) in expression.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ if depth == 0 && expression[at..].starts_with(" AND ") => {
                parts.push(&expression[start..at]);
                start = at + " AND ".len();
            }
            _ => {}
        }
    }
    parts.push(&expression[start..]);
    let is_satisfied = |part: &str| {
        let part = part.trim().trim_start_matches('(').trim_end_matches(')');
        part.split(" OR ").any(|one| ALLOWED.contains(&one.trim()))
    };
    parts.into_iter().all(is_satisfied)
}

#[test]
fn one_license_satisfies_or_and_all_satisfy_and() {
    for good in ["MIT", "MIT OR GPL-3.0", "Unlicense/MIT", "(MIT OR Apache-2.0) AND Unicode-3.0"] {
        assert!(is_allowed(good), "{good}");
    }
    for bad in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR Apache-2.0) AND NCSA", "", "LGPL-2.1 OR MPL-2.0"] {
        assert!(!is_allowed(bad), "{bad}");
    }
}

/// Returns cargo's metadata of this package and its dependencies; `None` if cargo would need the network.
fn metadata() -> Option<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--offline", "--locked", "--format-version", "1", "--filter-platform"])
        .arg("x86_64-unknown-linux-gnu")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    if output.status.success() {
        return Some(serde_json::from_slice(&output.stdout).unwrap());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(std::env::var_os("CI").is_none(), "cargo metadata --offline must work in CI: {why}");
    eprintln!("skipped: cargo metadata --offline failed: {why}");
    None
}

#[test]
fn every_dependency_has_an_allowed_license_and_comes_from_the_registry() {
    let Some(metadata) = metadata() else { return };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    // The list of packages includes those that only other platforms need.
    let used: BTreeSet<String> =
        metadata["resolve"]["nodes"].as_array().unwrap().iter().map(|node| text(&node["id"])).collect();
    let mut refused = Vec::new();
    for package in metadata["packages"].as_array().unwrap() {
        let (name, license, source) =
            (text(&package["name"]), text(&package["license"]), text(&package["source"]));
        if !used.contains(&text(&package["id"])) {
            continue;
        }
        let is_ours = name == env!("CARGO_PKG_NAME");
        if !is_allowed(&license) || !is_ours && !source.starts_with("registry+") {
            refused.push(format!("{name}: '{license}' from '{source}'"));
        }
    }
    assert!(used.len() > 50, "{used:?}");
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn no_runtime_dependency_is_a_network_library() {
    let Some(metadata) = metadata() else { return };
    let nodes = metadata["resolve"]["nodes"].as_array().unwrap();
    let mut reached = BTreeSet::new();
    let mut pending = vec![metadata["resolve"]["root"].as_str().unwrap()];
    while let Some(id) = pending.pop() {
        if !reached.insert(id) {
            continue;
        }
        let node = nodes.iter().find(|node| node["id"] == id).unwrap();
        for dependency in node["deps"].as_array().unwrap() {
            // Ordinary dependencies have the kind null; others are for tests and build scripts.
            let is_runtime =
                dependency["dep_kinds"].as_array().unwrap().iter().any(|kind| kind["kind"].is_null());
            let id = dependency["pkg"].as_str().unwrap();
            pending.extend(is_runtime.then_some(id));
        }
    }
    let networked = [
        "tokio",
        "mio",
        "socket2",
        "hyper",
        "reqwest",
        "ureq",
        "curl",
        "openssl",
        "rustls",
        "async-std",
        "smol",
    ];
    let found: Vec<&&str> =
        reached.iter().filter(|id| networked.iter().any(|name| id.contains(&format!("#{name}@")))).collect();
    assert!(found.is_empty() && reached.len() > 20, "{found:?} of {}", reached.len());
}

/// Collects the paths and texts of all files below a directory.
fn sources(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else {
            found.push((path.display().to_string(), fs::read_to_string(&path).unwrap()));
        }
    }
}

#[test]
fn the_sources_open_no_socket_and_start_no_program_and_there_is_no_build_script() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    assert!(!root.join("build.rs").exists());
    assert!(!fs::read_to_string(root.join("Cargo.toml")).unwrap().contains("\nbuild ="));
    let mut found = Vec::new();
    sources(&root.join("src"), &mut found);
    assert!(found.len() > 50);
    let forbidden =
        ["std::net", "TcpStream", "UdpSocket", "rustix::net", "process::Command", "ToSocketAddrs"];
    for (path, text) in found {
        for word in forbidden {
            assert!(!text.contains(word), "{path} contains {word}");
        }
    }
}

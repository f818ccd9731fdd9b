//! What the program is made of: licences that may be shipped, no build script of ours, no network. Runs offline.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, clippy::print_stderr)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Licences that ask for no more than their own text beside the program.
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

/// Whether a licence expression can be met by what is allowed: `OR` offers a choice, `AND` asks for both.
fn is_allowed(expression: &str) -> bool {
    // Old manifests write a slash for OR.
    let expression = expression.replace('/', " OR ");
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0, 0);
    // What stands in brackets is one part.
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
    let is_met = |part: &str| {
        let part = part.trim().trim_start_matches('(').trim_end_matches(')');
        part.split(" OR ").any(|one| ALLOWED.contains(&one.trim()))
    };
    parts.into_iter().all(is_met)
}

#[test]
fn a_choice_of_licences_is_met_by_one_and_a_sum_by_all() {
    for good in ["MIT", "MIT OR GPL-3.0", "Unlicense/MIT", "(MIT OR Apache-2.0) AND Unicode-3.0"] {
        assert!(is_allowed(good), "{good}");
    }
    for bad in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR Apache-2.0) AND NCSA", "", "LGPL-2.1 OR MPL-2.0"] {
        assert!(!is_allowed(bad), "{bad}");
    }
}

/// What cargo knows of this package and all that it depends on; `None` where it cannot tell without the network.
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
    assert!(std::env::var_os("CI").is_none(), "CI must be able to tell: {why}");
    eprintln!("skipped: cargo metadata --offline cannot tell: {why}");
    None
}

#[test]
fn every_dependency_has_a_licence_that_is_allowed_and_comes_from_the_registry() {
    let Some(metadata) = metadata() else { return };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    // What is built here: packages that other systems need are listed too.
    let used: BTreeSet<String> =
        metadata["resolve"]["nodes"].as_array().unwrap().iter().map(|node| text(&node["id"])).collect();
    let mut refused = Vec::new();
    for package in metadata["packages"].as_array().unwrap() {
        let (name, licence, source) =
            (text(&package["name"]), text(&package["license"]), text(&package["source"]));
        if !used.contains(&text(&package["id"])) {
            continue;
        }
        let is_ours = name == env!("CARGO_PKG_NAME");
        if !is_allowed(&licence) || !is_ours && !source.starts_with("registry+") {
            refused.push(format!("{name}: '{licence}' from '{source}'"));
        }
    }
    assert!(used.len() > 50, "{used:?}");
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn what_is_shipped_depends_on_nothing_that_talks_to_a_network() {
    let Some(metadata) = metadata() else { return };
    let nodes = metadata["resolve"]["nodes"].as_array().unwrap();
    let mut reached = BTreeSet::new();
    let mut left = vec![metadata["resolve"]["root"].as_str().unwrap()];
    while let Some(id) = left.pop() {
        if !reached.insert(id) {
            continue;
        }
        let node = nodes.iter().find(|node| node["id"] == id).unwrap();
        for dependency in node["deps"].as_array().unwrap() {
            // A kind of null is an ordinary one; the others are for tests and build scripts.
            let is_shipped =
                dependency["dep_kinds"].as_array().unwrap().iter().any(|kind| kind["kind"].is_null());
            let id = dependency["pkg"].as_str().unwrap();
            left.extend(is_shipped.then_some(id));
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
fn no_source_of_ours_opens_a_socket_or_starts_a_program_and_nothing_runs_at_build_time() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    assert!(!root.join("build.rs").exists());
    assert!(!fs::read_to_string(root.join("Cargo.toml")).unwrap().contains("\nbuild ="));
    let mut found = Vec::new();
    sources(&root.join("src"), &mut found);
    assert!(found.len() > 50);
    // The names of addresses and sockets of the network, and of other programs.
    let forbidden =
        ["std::net", "TcpStream", "UdpSocket", "rustix::net", "process::Command", "ToSocketAddrs"];
    for (path, text) in found {
        for word in forbidden {
            assert!(!text.contains(word), "{path} names {word}");
        }
    }
}

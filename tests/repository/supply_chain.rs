//! The supply chain: licenses that permit distribution, a build script that only chooses options of the linker, no network
//! access except for `export --listen`. Runs offline.

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

/// The only source that is not of the program.
const BUILD_SCRIPT: &str = "src/build.rs";

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

/// Returns cargo's metadata of this package and its dependencies; `None` if cargo would need the network.
pub(crate) fn metadata() -> Option<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args([
            "metadata",
            "--offline",
            "--locked",
            "--format-version",
            "1",
            "--filter-platform",
        ])
        .arg("x86_64-unknown-linux-gnu")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    if output.status.success() {
        return Some(serde_json::from_slice(&output.stdout).unwrap());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(
        std::env::var_os("CI").is_none(),
        "cargo metadata --offline must work in CI: {why}"
    );
    eprintln!("skipped: cargo metadata --offline failed: {why}");
    None
}

/// Returns the packages that the program contains and that are `wanted`, without those that only tests, build scripts or
/// unwanted ones use. The first is this package.
pub(crate) fn contained<'a>(
    metadata: &'a Value,
    wanted: impl Fn(&Value) -> bool,
) -> Vec<&'a Value> {
    let find = |list: &'a Value, id: &Value| {
        list.as_array()
            .unwrap()
            .iter()
            .find(|one| one["id"] == *id)
            .unwrap()
    };
    let mut found: Vec<&Value> = Vec::new();
    let mut pending = vec![&metadata["resolve"]["root"]];
    while let Some(id) = pending.pop() {
        let package = find(&metadata["packages"], id);
        if found.contains(&package) || !wanted(package) {
            continue;
        }
        found.push(package);
        let dependencies = find(&metadata["resolve"]["nodes"], id)["deps"]
            .as_array()
            .unwrap()
            .iter();
        // Ordinary dependencies have the kind null.
        let is_ordinary = |one: &&Value| {
            one["dep_kinds"]
                .as_array()
                .unwrap()
                .iter()
                .any(|kind| kind["kind"].is_null())
        };
        pending.extend(dependencies.filter(is_ordinary).map(|one| &one["pkg"]));
    }
    found
}

#[test]
fn every_dependency_has_an_allowed_license_and_comes_from_the_registry() {
    let Some(metadata) = metadata() else { return };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    // The list of packages includes those that only other platforms need.
    let used: BTreeSet<String> = metadata["resolve"]["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| text(&node["id"]))
        .collect();
    let mut refused = Vec::new();
    for package in metadata["packages"].as_array().unwrap() {
        let (name, license, source) = (
            text(&package["name"]),
            text(&package["license"]),
            text(&package["source"]),
        );
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

/// Returns the dependencies of this package in the text of a `Cargo.lock` of a package that depends on it.
fn locked_dependencies(lock: &str) -> BTreeSet<String> {
    let ours = format!("name = \"{}\"\n", env!("CARGO_PKG_NAME"));
    let entry = lock
        .split("[[package]]\n")
        .find(|entry| entry.starts_with(&ours))
        .unwrap();
    let list = entry.split_once("dependencies = [\n").unwrap().1;
    let lines = list.lines().take_while(|line| *line != "]");
    // A version follows where there are several.
    lines
        .filter_map(|line| {
            Some(
                line.trim_matches([' ', '"', ','])
                    .split(' ')
                    .next()?
                    .to_owned(),
            )
        })
        .collect()
}

#[test]
fn the_fuzz_targets_lock_the_dependencies_of_this_package() {
    let Some(metadata) = metadata() else { return };
    let packages = metadata["packages"].as_array().unwrap();
    let ours = packages
        .iter()
        .find(|package| package["name"] == env!("CARGO_PKG_NAME"))
        .unwrap();
    let dependencies = ours["dependencies"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["kind"].is_null());
    let expected: BTreeSet<String> = dependencies
        .map(|one| one["name"].as_str().unwrap().to_owned())
        .collect();
    let lock =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/Cargo.lock"));
    let remedy =
        "run 'cargo metadata --manifest-path tests/fuzz/Cargo.toml' and commit its Cargo.lock";
    assert_eq!(locked_dependencies(&lock.unwrap()), expected, "{remedy}");
}

#[test]
fn the_only_network_libraries_are_those_of_the_http_server() {
    let Some(metadata) = metadata() else { return };
    let reached = contained(&metadata, |_| true);
    // hyper and what it stands on serve `export --listen`. None of them resolves names or encrypts.
    let of_server = ["hyper", "hyper-util", "tokio", "mio", "socket2"];
    let networked = [
        "reqwest",
        "ureq",
        "curl",
        "openssl",
        "rustls",
        "native-tls",
        "async-std",
        "smol",
        "hickory-resolver",
    ];
    let is_reached = |name: &&str| reached.iter().any(|package| package["name"] == *name);
    let found: Vec<&str> = networked.into_iter().filter(is_reached).collect();
    assert!(
        found.is_empty() && reached.len() > 20,
        "{found:?} of {}",
        reached.len()
    );
    assert!(of_server.iter().all(is_reached));
}

/// Collects the paths and texts of all files below a directory.
fn sources(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else {
            found.push((
                path.display().to_string(),
                fs::read_to_string(&path).unwrap(),
            ));
        }
    }
}

#[test]
fn the_build_script_only_chooses_options_of_the_linker() {
    let script =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(BUILD_SCRIPT)).unwrap();
    for instruction in script.split("cargo::").skip(1) {
        let is_allowed = [
            "rustc-link-arg-bins=",
            "rustc-link-lib=",
            "rerun-if-changed=",
        ]
        .iter()
        .any(|allowed| instruction.starts_with(allowed));
        assert!(is_allowed, "{instruction}");
    }
    // It makes no source, reads and writes no file, and asks only the linker.
    for word in ["OUT_DIR", "std::fs", "File", "net::"] {
        assert!(!script.contains(word), "{word}");
    }
    assert_eq!(
        script.matches("Command::new(").count(),
        script.matches("Command::new(linker)").count()
    );
}

#[test]
fn only_export_opens_a_socket_and_only_help_starts_a_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    sources(&root.join("src"), &mut found);
    found.retain(|(path, _)| !path.ends_with(BUILD_SCRIPT));
    assert!(found.len() > 50);
    let forbidden = [
        "UdpSocket",
        "rustix::net",
        "process::Command",
        "ToSocketAddrs",
    ];
    let network = [
        "std::net",
        "core::net",
        "TcpStream",
        "tokio::",
        "hyper::",
        "hyper_util::",
    ];
    // The pager of the user, which shows a page of the manual on a terminal.
    let starts_pager = "src/commands/help.rs";
    // The server, its address on the command line, and the bytes that its answers share.
    let may_listen = [
        "src/commands/export/mod.rs",
        "src/commands/export/published.rs",
        "src/commands/export/server.rs",
    ];
    for (path, text) in found {
        let is_server = may_listen.iter().any(|file| path.ends_with(file));
        let is_allowed = |word: &&str| {
            is_server && network.contains(word)
                || path.ends_with(starts_pager) && *word == "process::Command"
        };
        for word in forbidden
            .into_iter()
            .chain(network)
            .filter(|word| !is_allowed(word))
        {
            assert!(!text.contains(word), "{path} contains {word}");
        }
        // Nothing connects to another host.
        for word in ["TcpStream::connect", "UdpSocket", "to_socket_addrs"] {
            assert!(!text.contains(word), "{path} contains {word}");
        }
    }
}

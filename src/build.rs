//! Linker options that make a program for GNU/Linux start faster. Starting takes most of the time of a short run.

use std::env::var;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=src/build.rs");
    let target = |key| var(format!("CARGO_CFG_TARGET_{key}")).unwrap_or_default();
    if target("OS") != "linux" || target("ENV") != "gnu" || target("FEATURE").contains("crt-static")
    {
        return;
    }
    // At a fixed address, no pointer needs to be relocated: there are ten thousand of them, and each page with some
    // would be copied. The price is that only the addresses of the stack, the heap and the libraries are random. As the
    // code contains no unsafe blocks, the addresses of the program are of little use to an attacker.
    println!("cargo::rustc-link-arg-bins=-no-pie");
    // Rust links the unwinder as a shared library, libgcc_s, whose loading takes a tenth of the start-up time. If the C
    // compiler has a static version, the same functions are taken from that.
    if has_static_library("libgcc_eh.a") {
        println!("cargo::rustc-link-lib=gcc_eh");
    }
}

/// Returns whether the linker finds the library: it then prints a path, otherwise only the name.
fn has_static_library(name: &str) -> bool {
    let linker = var("RUSTC_LINKER").unwrap_or_else(|_| "cc".to_owned());
    let found = Command::new(linker)
        .arg(format!("-print-file-name={name}"))
        .output();
    found.is_ok_and(|found| Path::new(String::from_utf8_lossy(&found.stdout).trim()).is_absolute())
}

//! The file that is written.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::tempdir;

use crate::support::fake_root::FakeRoot;
use crate::support::program::{Outcome, blkstat};

const CAPTURE: &str = "fixtures/captures/capped-3000.txt";

fn report(output: &Path, options: &str) -> Outcome {
    blkstat(&format!("report {CAPTURE} {options} -o"))
        .args([output])
        .run()
}

#[test]
fn the_page_is_written_and_nothing_is_printed() {
    let directory = tempdir().unwrap();
    let page = directory.path().join("incident.html");
    let outcome = report(&page, "");
    assert_eq!(
        (outcome.code, outcome.out.as_str(), outcome.err.as_str()),
        (0, "", "")
    );
    assert!(
        fs::read_to_string(&page)
            .unwrap()
            .starts_with("<!DOCTYPE html>")
    );
    assert_eq!(
        fs::read_dir(directory.path()).unwrap().count(),
        1,
        "no temporary file remains"
    );
    let mode = fs::metadata(&page).unwrap().permissions().mode();
    assert_eq!(mode & 0o137, 0, "others may not read it: {mode:o}");
    let refused = format!(
        "blkstat: {} already exists; use --force to overwrite it\n",
        page.display()
    );
    assert_eq!(
        (report(&page, "").err, report(&page, "--force").code),
        (refused, 0)
    );
}

#[test]
fn what_is_not_a_file_is_never_replaced() {
    let directory = tempdir().unwrap();
    let link = directory.path().join("link.html");
    std::os::unix::fs::symlink("/dev/null", &link).unwrap();
    for (path, message) in [
        (directory.path(), "is a directory, not a file"),
        (Path::new("/dev/null"), "exists and is not a regular file"),
        (&link, "exists and is not a regular file"),
        (&directory.path().join("missing/page.html"), "cannot write"),
    ] {
        let refused = report(path, "--force");
        assert!(
            refused.code == 2 && refused.err.contains(message),
            "{}: {}",
            path.display(),
            refused.err
        );
    }
    assert!(link.is_symlink());
}

#[test]
fn a_capture_is_never_overwritten() {
    let directory = tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::copy(CAPTURE, path("recording.txt")).unwrap();
    fs::hard_link(path("recording.txt"), path("other-name.txt")).unwrap();
    let log = "Linux 6.1.0 (db1) \t11/24/26 \t_x86_64_\t(2 CPU)\n";
    fs::write(path("iostat.log"), log).unwrap();
    for (capture, output) in [
        ("recording.txt", "other-name.txt"),
        ("iostat.log", "recording.txt"),
        ("iostat.log", "iostat.log"),
    ] {
        let before = fs::read(path(output)).unwrap();
        let refused = blkstat("report --force")
            .args([&path(capture), Path::new("-o"), &path(output)])
            .run();
        let expected = "is a capture; name another file for the page\n";
        assert!(
            refused.code == 2 && refused.err.ends_with(expected),
            "{capture}: {}",
            refused.err
        );
        assert_eq!(fs::read(path(output)).unwrap(), before);
    }
}

#[test]
fn a_dash_is_standard_output() {
    let page = report(Path::new("-"), "");
    assert!(
        page.code == 0 && page.out.trim_end().ends_with("</html>"),
        "{}",
        page.err
    );
}

#[test]
fn a_page_is_named_after_the_capture_and_never_replaces_another() {
    let directory = tempdir().unwrap();
    let captures = Path::new("captures");
    fs::create_dir(directory.path().join(captures)).unwrap();
    let text = fs::read(CAPTURE).unwrap();
    for (capture, page) in [
        ("inc.txt.gz", "inc.html"),
        ("db1", "db1.html"),
        ("db1.2026-11-20.log", "db1.2026-11-20.html"),
        ("x.html", "x.html.html"),
        (".txt", ".txt.html"),
    ] {
        // Compression is recognized by the content, not by the name.
        fs::write(directory.path().join(captures).join(capture), &text).unwrap();
        let run = |options: &str| {
            let file = captures.join(capture);
            blkstat(&format!("report {} {options}", file.display()))
                .current_dir(directory.path())
                .run()
        };
        let written = run("");
        let expected = (0, "", format!("blkstat: wrote {page}\n"));
        assert_eq!(
            (written.code, written.out.as_str(), written.err),
            expected,
            "{capture}"
        );
        let path = directory.path().join(page);
        assert!(
            fs::read_to_string(&path)
                .unwrap()
                .starts_with("<!DOCTYPE html>")
        );
        fs::write(&path, "precious").unwrap();
        let refused = run("");
        let expected = format!("blkstat: {page} already exists; use --force to overwrite it\n");
        assert_eq!((refused.code, refused.err), (2, expected), "{capture}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
        assert_eq!(run("--force").code, 0);
        assert!(
            fs::read_to_string(&path)
                .unwrap()
                .starts_with("<!DOCTYPE html>")
        );
    }
    let piped = blkstat("report -")
        .input(text)
        .current_dir(directory.path())
        .run();
    assert_eq!(piped.err, "blkstat: wrote stdin.html\n");
}

#[test]
fn a_page_about_the_running_system_is_named_after_the_host_and_the_time() {
    let directory = tempdir().unwrap();
    let host = FakeRoot::new();
    host.file("proc/sys/kernel/hostname", "db1.example.org\n");
    host.file(
        "proc/diskstats",
        "   8       0 sda 10 0 80 5 0 0 0 0 0 5 5\n",
    );
    let written = blkstat("report 0.05 2 --root")
        .args([host.path()])
        .current_dir(directory.path())
        .run();
    let names: Vec<String> = fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let [name] = names.as_slice() else {
        panic!("{names:?}: {}", written.err)
    };
    let time = name
        .strip_prefix("blkstat-db1-")
        .and_then(|rest| rest.strip_suffix(".html"))
        .unwrap();
    let has_form = time
        .bytes()
        .zip(b"00000000-000000")
        .all(|(a, b)| a.is_ascii_digit() == b.is_ascii_digit());
    assert!(time.len() == 15 && has_form, "{name}");
    assert!(
        written.err.ends_with(&format!("blkstat: wrote {name}\n")),
        "{}",
        written.err
    );
}

#[test]
fn a_page_needs_data() {
    let directory = tempdir().unwrap();
    let page = directory.path().join("page.html");
    let no_device = blkstat(&format!("report {CAPTURE} sdq -o"))
        .args([&page])
        .run();
    assert!(
        no_device.code == 1 && no_device.err.contains("sdq"),
        "{}",
        no_device.err
    );
    let empty = blkstat("report - -o").args([&page]).input("").run();
    assert!(empty.code == 1 && !page.exists(), "{}", empty.err);
    let second = blkstat(&format!("report {CAPTURE} LICENSE -o"))
        .args([&page])
        .run();
    assert_eq!(
        second.err,
        "blkstat: no samples found in LICENSE, one of several files\n"
    );
    let without_option = blkstat(&format!("report {CAPTURE} page.html")).run();
    let expected = "blkstat: no device 'page.html'; the page to write is named with -o page.html\n";
    assert_eq!(
        (without_option.err.as_str(), without_option.code),
        (expected, 2)
    );
}

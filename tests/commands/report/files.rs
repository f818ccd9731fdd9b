//! The file that is written.

use std::fs;
use std::path::Path;

use tempfile::tempdir;

use crate::support::program::{Outcome, blkstat};

const CAPTURE: &str = "fixtures/captures/capped-3000.txt";

fn report(output: &Path, options: &str) -> Outcome {
    blkstat(&format!("report {CAPTURE} {options} -o")).args([output]).run()
}

#[test]
fn the_page_is_written_and_nothing_is_printed() {
    let directory = tempdir().unwrap();
    let page = directory.path().join("incident.html");
    let outcome = report(&page, "");
    assert_eq!((outcome.code, outcome.out.as_str(), outcome.err.as_str()), (0, "", ""));
    assert!(fs::read_to_string(&page).unwrap().starts_with("<!DOCTYPE html>"));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "no temporary file remains");
}

#[test]
fn an_existing_file_is_overwritten_only_by_force() {
    let directory = tempdir().unwrap();
    let page = directory.path().join("incident.html");
    fs::write(&page, "precious").unwrap();
    let refused = report(&page, "");
    assert_eq!(refused.code, 2);
    assert_eq!(
        refused.err,
        format!("blkstat: {} already exists; use --force to overwrite it\n", page.display())
    );
    assert_eq!(fs::read_to_string(&page).unwrap(), "precious");
    assert_eq!(report(&page, "--force").code, 0);
    assert!(fs::read_to_string(&page).unwrap().starts_with("<!DOCTYPE html>"));
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
        assert!(refused.code == 2 && refused.err.contains(message), "{}: {}", path.display(), refused.err);
    }
    assert!(link.is_symlink());
}

#[test]
fn a_dash_is_standard_output() {
    let page = report(Path::new("-"), "");
    assert!(page.code == 0 && page.out.trim_end().ends_with("</html>"), "{}", page.err);
}

#[test]
fn a_page_needs_a_name_and_data() {
    let missing = blkstat(&format!("report {CAPTURE}")).run();
    assert!(missing.code == 2 && missing.err.contains("--output <OUT.html>"), "{}", missing.err);
    let directory = tempdir().unwrap();
    let page = directory.path().join("page.html");
    let no_device = blkstat(&format!("report {CAPTURE} sdq -o")).args([&page]).run();
    assert!(no_device.code == 1 && no_device.err.contains("sdq"), "{}", no_device.err);
    let empty = blkstat("report - -o").args([&page]).input("").run();
    assert!(empty.code == 1 && !page.exists(), "{}", empty.err);
    let second = blkstat(&format!("report {CAPTURE} {CAPTURE} -o")).args([&page]).run();
    assert_eq!(second.err, format!("blkstat: '{CAPTURE}' is a second FILE; report takes one\n"));
}

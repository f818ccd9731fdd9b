//! The pictures of a page in the README.

use std::fs;
use std::process::Stdio;

use tempfile::tempdir;

use super::page::{page, text_of};
use crate::support::program::Program;

const CAPTURE: &str = "fixtures/captures/throttled-volume.txt.gz";
/// What precedes the headline in the README, and what follows it.
const BEFORE: &str = "alt=\"A page of blkstat report:";
const AFTER: &str = "\">";

/// Draws a page with Chromium.
fn draw(page: &str, picture: &str, option: &str) {
    let directory = tempdir().unwrap();
    let file = directory.path().join("page.html");
    fs::write(&file, page).unwrap();
    let options = format!(
        "chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1100,860 {option} \
         --screenshot={picture} file://{}",
        file.display()
    );
    let words: Vec<&str> = options.split_whitespace().collect();
    let mut chromium = Program::new(&words)
        .env("HOME", directory.path())
        .spawn(Stdio::null(), Stdio::null());
    assert!(chromium.wait().unwrap().success(), "{options}");
}

/// The text in the README is the headline that was drawn, so a picture of another diagnosis than that of the program
/// fails. With BLKSTAT_REFRESH=1, draws the pictures and writes the headline, where Chromium is installed.
#[test]
fn the_pictures_of_the_page_have_the_headline_of_the_program() {
    let page = page(CAPTURE, "");
    let headline = text_of(&page, "h1");
    let readme = fs::read_to_string("README.md").unwrap();
    let (begin, rest) = readme.split_once(BEFORE).unwrap();
    let (shown, end) = rest.split_once(AFTER).unwrap();
    let is_current = shown.split_whitespace().eq(headline.split_whitespace());
    if std::env::var_os("BLKSTAT_REFRESH").is_none() || is_current {
        assert!(
            is_current,
            "README.md shows a page with '{shown}', not '{headline}'"
        );
        return;
    }
    draw(
        &page,
        ".github/report-light.png",
        "--disable-features=DarkMode",
    );
    draw(&page, ".github/report-dark.png", "--force-dark-mode");
    let current = format!("{begin}{BEFORE}\n    {headline}{AFTER}{end}");
    fs::write("README.md", current).unwrap();
}

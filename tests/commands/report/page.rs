//! The contents of a page.

use std::path::Path;

use serde_json::Value;
use tempfile::tempdir;

use crate::support::program::{BLKSTAT, Program, blkstat, output};

/// Returns the page about a capture.
fn page(arguments: &str, input: &str) -> String {
    let (page, err, code) = output(&format!("report {arguments} -o -"), input);
    assert_eq!(code, 0, "{err}");
    page
}

/// Returns the embedded data.
fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

fn numbers(series: &Value) -> Vec<Option<f64>> {
    series.as_str().unwrap().split(',').map(|word| word.parse().ok()).collect()
}

#[test]
fn the_worst_event_is_the_headline() {
    let page = page("fixtures/captures/capped-3000.txt", "");
    let (_, headline) = page.split_once("<h1>").unwrap();
    let headline = headline.split_once("</h1>").unwrap().0;
    assert!(headline.starts_with("<bdi>loop0</bdi> was capped from 18:22:"), "{headline}");
    assert!(headline.contains("limit 3,000 reads/s"), "{headline}");
    assert!(page.contains("<code>blkstat --csv --from fixtures/captures/capped-3000.txt</code>"));
    // The disk below is ok: a band and a row of a table, but no section.
    assert_eq!(page.matches("<section class=\"device\"").count(), 1);
    assert!(page.contains("1 device that was ok"));
}

#[test]
fn a_named_device_has_charts_although_it_is_ok() {
    let page = page("fixtures/captures/capped-3000.txt vda", "");
    assert!(page.contains("<section class=\"device\" id=\"d0\"") && page.contains("<bdi>vda</bdi>"));
    assert!(!page.contains("<bdi>loop0</bdi>"));
}

#[test]
fn the_data_are_those_of_json() {
    let capture = "fixtures/captures/mixed.txt";
    let data = data(&page(capture, ""));
    let lines = blkstat(&format!("--json --from {capture} --all")).run().out;
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut compared = 0;
    for group in data["groups"].as_array().unwrap() {
        let of_device: Vec<&Value> = lines.iter().filter(|line| line["device"] == group["name"]).collect();
        for (key, series) in group["series"].as_object().unwrap() {
            let drawn = numbers(&series["mean"]);
            for (line, drawn) in of_device.iter().zip(drawn).filter(|_| of_device.len() == 33) {
                if line[key].is_null() || !line["flags"].as_array().unwrap().is_empty() {
                    continue;
                }
                let (expected, drawn) = (line[key].as_f64().unwrap(), drawn.unwrap());
                assert!(
                    (drawn - expected).abs() <= 1e-4 * expected.abs() + 1e-6,
                    "{key} at {}",
                    line["time"]
                );
                compared += 1;
            }
        }
    }
    assert!(compared > 300, "{compared}");
}

#[test]
fn hostile_names_are_text() {
    let hostile = "<script>alert(1)</script>";
    let text = std::fs::read_to_string("fixtures/captures/capped-3000.txt").unwrap();
    let page = page("- ", &text.replace("loop0", hostile));
    assert!(!page.contains(hostile) && page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert_eq!(page.matches("<script").count(), 2, "the data and the script");
}

#[test]
fn a_page_fetches_nothing() {
    let page = page("fixtures/captures/mixed.txt", "");
    assert!(page.contains("content=\"default-src 'none'; "));
    for word in ["http:", "https:", "//cdn", "@import", "url(", "src=", "fetch(", "XMLHttp", "WebSocket"] {
        assert!(!page.contains(word), "{word}");
    }
}

/// The Base64 of bytes, without padding.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits: Vec<u8> = bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)).collect();
    let value = |six: &[u8]| (0..6).fold(0, |value, at| value << 1 | usize::from(*six.get(at).unwrap_or(&0)));
    bits.chunks(6).map(|six| char::from(LETTERS[value(six)])).collect()
}

#[test]
fn the_policy_permits_the_script_and_no_other() {
    let page = page("fixtures/captures/mixed.txt", "");
    let (_, script) = page.rsplit_once("<script>").unwrap();
    let sum = Program::new(&["sha256sum"]).input(script.split_once("</script>").unwrap().0).run().out;
    let hash: Vec<u8> = (0..32).map(|at| u8::from_str_radix(&sum[2 * at..2 * at + 2], 16).unwrap()).collect();
    let policy = format!("script-src 'sha256-{}='", base64(&hash));
    assert!(page.contains(&policy), "SCRIPT_SHA256 in src/report/html/mod.rs must be {policy}");
}

#[test]
fn the_command_for_exact_values_can_be_pasted_into_a_shell() {
    let directory = tempdir().unwrap();
    for name in ["plain.txt", "it's $(here) & <b>.txt", "x\u{1b}[2J\\'\n.txt", "дис\u{202e}к.txt"] {
        let capture = directory.path().join(name);
        std::fs::copy("fixtures/captures/capped-3000.txt", &capture).unwrap();
        let page = blkstat("report -o - --from").args([&capture]).run().out;
        let (_, code) = page.split_once("<code>").unwrap();
        let mut command = code.split_once("</code>").unwrap().0.to_owned();
        for (entity, c) in [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")] {
            command = command.replace(entity, c);
        }
        let bin = Path::new(BLKSTAT).parent().unwrap();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let printed = Program::new(&["bash", "-c", &command]).env("PATH", path).run();
        assert_eq!(printed.code, 0, "{command}: {}", printed.err);
        assert_eq!(printed.out, blkstat("--csv --from").args([&capture]).run().out);
    }
}

//! What a browser shows of a page, and what it does not do.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::devtools::Browser;
use crate::support::program::blkstat;

const CAPPED: &str = "fixtures/captures/capped-3000.txt";
const HOSTILE: &str = "<img/src=x:/onerror=hacked=1><script>hacked=2</script>\"'`\u{202e}&amp;";

/// Writes the page about a capture.
fn write_page(browser: &Browser, arguments: &str, input: &str) -> PathBuf {
    let page = browser.directory().join("page.html");
    let outcome = blkstat(&format!("report {arguments} --force -o")).args([&page]).input(input).run();
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    page
}

/// The middle of the chart with this title in the window, after it was scrolled into view; and its width.
fn chart(browser: &Browser, title: &str) -> (f64, f64, f64) {
    let found = browser.evaluate(&format!(
        "(() => {{ const panel = [...document.querySelectorAll('.panel')].find((p) => p.querySelector('b').textContent === '{title}');
         const plot = panel.querySelector('.plot'); plot.scrollIntoView({{ block: 'center' }});
         const box = plot.getBoundingClientRect(); return [box.left + box.width / 2, box.top + box.height / 2, box.width]; }})()"
    ));
    (found[0].as_f64().unwrap(), found[1].as_f64().unwrap(), found[2].as_f64().unwrap())
}

/// The values in the legends under the cursor, by series.
fn legend(browser: &Browser) -> Value {
    browser.evaluate(
        "Object.fromEntries([...document.querySelectorAll('#d0 .key[data-k]')].map((key) => [key.dataset.k, key.querySelector('output').textContent]))",
    )
}

#[test]
fn a_page_loads_without_an_error_and_without_a_request() {
    let Some(browser) = Browser::start() else { return };
    for capture in [
        CAPPED,
        "fixtures/captures/mixed.txt",
        "fixtures/captures/stalls.txt",
        "fixtures/captures/hotplug.txt",
    ] {
        browser.open(&write_page(&browser, capture, ""));
        assert_eq!(browser.complaints(), Vec::<Value>::new(), "{capture}");
        assert_eq!(browser.evaluate("document.documentElement.className"), "js", "the script has run");
    }
}

#[test]
fn the_policy_forbids_the_network() {
    let Some(browser) = Browser::start() else { return };
    browser.open(&write_page(&browser, CAPPED, ""));
    let blocked = browser.evaluate(
        "new Promise((done) => { const blocked = [];
         document.addEventListener('securitypolicyviolation', (event) => { blocked.push(event.effectiveDirective); if (blocked.length === 4) done(blocked.sort()); });
         document.body.append(Object.assign(new Image(), { src: 'http://192.0.2.1/x.png' }));
         document.body.append(Object.assign(document.createElement('script'), { textContent: 'hacked = 1' }));
         fetch('http://192.0.2.1/').catch(() => {});
         new FontFace('f', 'url(http://192.0.2.1/f.woff)').load().catch(() => {});
         setTimeout(() => done(blocked.sort()), 5000); })",
    );
    assert_eq!(blocked, json!(["connect-src", "font-src", "img-src", "script-src-elem"]));
    assert_eq!(browser.evaluate("typeof hacked"), "undefined");
}

#[test]
fn the_pointer_shows_the_values_of_json_in_all_charts() {
    let Some(browser) = Browser::start() else { return };
    browser.resize(1400, 900);
    browser.open(&write_page(&browser, CAPPED, ""));
    let lines = blkstat(&format!("--json --from {CAPPED} loop0")).run().out;
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (x, y, width) = chart(&browser, "Latency");
    for fraction in [0.15, 0.5, 0.83] {
        browser.mouse("mouseMoved", (x + (fraction - 0.5) * width, y));
        let values = legend(&browser);
        let line = &lines[(fraction * lines.len() as f64) as usize];
        let number = |key: &str| line[key].as_f64().unwrap();
        let shown = |key: &str| values[key].as_str().unwrap().replace(',', "");
        assert_eq!(shown("reads_per_s"), format!("{:.0}/s", number("reads_per_s")));
        assert_eq!(shown("in_flight").parse::<f64>().unwrap(), number("in_flight"));
        let near =
            |key: &str, shown: f64| assert!((shown / number(key) - 1.0).abs() < 0.006, "{key}: {values}");
        near("queue", shown("queue").parse().unwrap());
        let latency = shown("read_await_ms");
        let (value, unit) = latency.split_once(' ').unwrap();
        near("read_await_ms", value.parse::<f64>().unwrap() * if unit == "ms" { 1.0 } else { 1e-3 });
        assert_eq!(shown("read_saturation"), format!("{:.1}x", number("read_saturation")));
    }
    assert_eq!(
        browser.evaluate("[...document.querySelectorAll('.cursor')].every((cursor) => !cursor.hidden)"),
        true
    );
}

#[test]
fn a_drag_zooms_all_charts_and_escape_shows_everything() {
    let Some(browser) = Browser::start() else { return };
    browser.resize(1400, 900);
    browser.open(&write_page(&browser, CAPPED, ""));
    let boxes = "[...new Set([...document.querySelectorAll('.plot.time svg')].map((svg) => svg.getAttribute('viewBox')))]";
    let all = browser.evaluate(boxes);
    let (x, y, width) = chart(&browser, "Queue");
    browser.mouse("mouseMoved", (x - width / 4.0, y));
    browser.mouse("mousePressed", (x - width / 4.0, y));
    browser.mouse("mouseMoved", (x + width / 4.0, y));
    browser.mouse("mouseReleased", (x + width / 4.0, y));
    let zoomed = browser.evaluate(boxes);
    let view: Vec<f64> =
        zoomed[0].as_str().unwrap().split(' ').map(|number| number.parse().unwrap()).collect();
    assert_eq!(zoomed.as_array().unwrap().len(), 1, "one view in all charts");
    assert!((view[0] - 500.0).abs() < 10.0 && (view[2] - 1000.0).abs() < 10.0, "{zoomed}");
    let band = browser.evaluate("document.querySelector('.device .band .inner').style.width");
    let band: f64 = band.as_str().unwrap().trim_end_matches('%').parse().unwrap();
    assert!((band - 200.0).abs() < 3.0, "{band}");
    browser.key("Escape");
    assert_eq!(browser.evaluate(boxes), all);
}

#[test]
fn the_keys_move_the_cursor() {
    let Some(browser) = Browser::start() else { return };
    browser.resize(1400, 900);
    browser.open(&write_page(&browser, CAPPED, ""));
    browser.evaluate("document.querySelector('#d0 .plot.time').focus()");
    let now = || browser.evaluate("document.querySelector('#now span').textContent");
    browser.key("Home");
    assert_eq!(now(), "18:22:11 to 18:22:12");
    browser.key("ArrowRight");
    assert_eq!(now(), "18:22:12 to 18:22:13");
    browser.key("End");
    let end = now();
    browser.key("ArrowLeft");
    assert!(end.as_str().unwrap() > now().as_str().unwrap(), "{end}");
}

#[test]
fn the_data_can_be_saved_as_csv() {
    let Some(browser) = Browser::start() else { return };
    browser.open(&write_page(&browser, CAPPED, ""));
    let folder = browser.directory().join("downloads");
    fs::create_dir(&folder).unwrap();
    browser.call("Browser.setDownloadBehavior", &json!({"behavior": "allow", "downloadPath": folder}));
    browser.evaluate("document.querySelector('button.csv').click()");
    let file = folder.join("blkstat-loop0.csv");
    let found = (0..300).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        fs::read_to_string(&file).is_ok_and(|text| text.lines().count() > 1)
    });
    assert!(found, "no download");
    let csv = fs::read_to_string(&file).unwrap();
    let mut lines = csv.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert_eq!(header[..4], ["start", "end", "verdict", "read_await_ms"]);
    let rates = header.iter().position(|title| *title == "reads_per_s").unwrap();
    let saved: Vec<f64> = lines.map(|line| line.split(',').nth(rates).unwrap().parse().unwrap()).collect();
    let json = blkstat(&format!("--json --from {CAPPED} loop0")).run().out;
    let expected = json
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["reads_per_s"].as_f64().unwrap());
    for (saved, expected) in saved.iter().zip(expected) {
        assert!((saved - expected).abs() <= 1e-5 * expected, "{saved} {expected}");
    }
    assert_eq!(browser.complaints().len(), 0);
}

#[test]
fn hostile_names_do_nothing() {
    let Some(browser) = Browser::start() else { return };
    let text = fs::read_to_string(CAPPED).unwrap();
    let name: String = HOSTILE.replace(' ', "");
    browser.open(&write_page(&browser, "-", &text.replace("loop0", &name)));
    assert_eq!(browser.evaluate("typeof hacked"), "undefined");
    assert_eq!(
        browser.evaluate(
            "document.querySelectorAll('img, iframe, object, script:not(#data):not(:last-of-type)').length"
        ),
        0
    );
    let heading = browser.evaluate("document.querySelector('#d0 h2 bdi').textContent");
    assert_eq!(heading, name.replace('\u{202e}', "\\u{202e}"));
    assert_eq!(browser.complaints(), Vec::<Value>::new());
}

#[test]
fn nothing_is_wider_than_a_narrow_window() {
    let Some(browser) = Browser::start() else { return };
    for width in [400, 1400] {
        browser.resize(width, 900);
        for capture in [CAPPED, "fixtures/captures/mixed.txt"] {
            browser.open(&write_page(&browser, capture, ""));
            let excess = browser.evaluate("document.documentElement.scrollWidth - window.innerWidth");
            assert!(excess.as_f64().unwrap() <= 0.0, "{capture} at {width}: {excess}");
        }
    }
}

#[test]
fn without_javascript_everything_is_drawn() {
    let Some(browser) = Browser::start() else { return };
    browser.call("Emulation.setScriptExecutionDisabled", &json!({"value": true}));
    browser.open(&write_page(&browser, CAPPED, ""));
    browser.call("Emulation.setScriptExecutionDisabled", &json!({"value": false}));
    assert_eq!(browser.evaluate("document.documentElement.className"), "", "the script has not run");
    let drawn = browser.evaluate(
        "[...document.querySelectorAll('.panel')].every((panel) => [...panel.querySelectorAll('.plot path')].some((path) => path.getBBox().width > 100))",
    );
    assert_eq!(drawn, true);
    assert_eq!(browser.evaluate("getComputedStyle(document.querySelector('p.script')).display"), "none");
}

//! What a browser shows of a page, and what it does not do.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::devtools::Browser;
use crate::support::program::blkstat;

const CAPPED: &str = "fixtures/captures/capped-3000.txt";
/// A volume that a cgroup uses up to its limit, with the cgroups and the tasks that wait.
const THROTTLED: &str = "fixtures/captures/throttled-volume.txt.gz";
/// Names that are markup, quotes, control characters and marks that change the direction of writing. Devices have no blanks in
/// theirs, and cgroups no slashes.
const HOSTILE_DEVICE: &str = "<img/src=x:/onerror=hacked=1></script><script>hacked=2</script>\"'`\u{202e}&amp;\u{1b}[31m\u{7}";
const HOSTILE_HOST: &str = "</title><script>hacked=3</script>'\"\u{2067}&lt;\u{1b}]0;x\u{7}";
const HOSTILE_CGROUP: &str =
    "<svg onload=hacked=4>\"><b onmouseover='hacked=5'>\u{202d}\u{200f}\u{9b}31m\n";
const HOSTILE_TASK: &str = "'\"><a href=javascript:hacked=6>\u{2066}\u{1b}c";

/// Writes the page about a capture.
fn write_page(browser: &Browser, arguments: &str, input: &str) -> PathBuf {
    let page = browser.directory().join("page.html");
    let outcome = blkstat(&format!("report {arguments} --force -o"))
        .args([&page])
        .input(input)
        .run();
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
    (
        found[0].as_f64().unwrap(),
        found[1].as_f64().unwrap(),
        found[2].as_f64().unwrap(),
    )
}

/// The values in the legends under the cursor, by series.
fn legend(browser: &Browser) -> Value {
    browser.evaluate(
        "Object.fromEntries([...document.querySelectorAll('#d0 .key[data-k]')].map((key) => [key.dataset.k, key.querySelector('output').textContent]))",
    )
}

#[test]
fn a_page_loads_without_an_error_and_without_a_request() {
    let Some(browser) = Browser::start() else {
        return;
    };
    for capture in [
        CAPPED,
        "fixtures/captures/mixed.txt",
        "fixtures/captures/stalls.txt",
        "fixtures/captures/hotplug.txt",
        THROTTLED,
    ] {
        browser.open_with_script(&write_page(&browser, capture, ""));
        assert_eq!(browser.complaints(), Vec::<Value>::new(), "{capture}");
    }
}

#[test]
fn the_policy_forbids_the_network() {
    let Some(browser) = Browser::start() else {
        return;
    };
    browser.open_with_script(&write_page(&browser, CAPPED, ""));
    let blocked = browser.evaluate(
        "new Promise((done) => { const blocked = [];
         document.addEventListener('securitypolicyviolation', (event) => { blocked.push(event.effectiveDirective); if (blocked.length === 4) done(blocked.sort()); });
         document.body.append(Object.assign(new Image(), { src: 'http://192.0.2.1/x.png' }));
         document.body.append(Object.assign(document.createElement('script'), { src: 'http://192.0.2.1/x.js' }));
         fetch('http://192.0.2.1/').catch(() => {});
         new FontFace('f', 'url(http://192.0.2.1/f.woff)').load().catch(() => {});
         setTimeout(() => done(blocked.sort()), 5000); })",
    );
    assert_eq!(
        blocked,
        json!(["connect-src", "font-src", "img-src", "script-src-elem"])
    );
}

#[test]
fn the_pointer_shows_the_values_of_json_in_all_charts() {
    let Some(browser) = Browser::start() else {
        return;
    };
    browser.resize(1400, 900);
    browser.open_with_script(&write_page(&browser, CAPPED, ""));
    let lines = blkstat(&format!("--json --from {CAPPED} loop0")).run().out;
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let (x, y, width) = chart(&browser, "Latency");
    for fraction in [0.15, 0.5, 0.83] {
        browser.mouse("mouseMoved", (x + (fraction - 0.5) * width, y));
        let values = legend(&browser);
        let line = &lines[(fraction * lines.len() as f64) as usize];
        let number = |key: &str| line[key].as_f64().unwrap();
        let shown = |key: &str| values[key].as_str().unwrap().replace(',', "");
        assert_eq!(
            shown("reads_per_s"),
            format!("{:.0}/s", number("reads_per_s"))
        );
        assert_eq!(
            shown("in_flight").parse::<f64>().unwrap(),
            number("in_flight")
        );
        let near = |key: &str, shown: f64| {
            assert!((shown / number(key) - 1.0).abs() < 0.006, "{key}: {values}")
        };
        near("queue", shown("queue").parse().unwrap());
        let latency = shown("read_await_ms");
        let (value, unit) = latency.split_once(' ').unwrap();
        near(
            "read_await_ms",
            value.parse::<f64>().unwrap() * if unit == "ms" { 1.0 } else { 1e-3 },
        );
        assert_eq!(
            shown("read_saturation"),
            format!("{:.1}x", number("read_saturation"))
        );
    }
    assert_eq!(
        browser.evaluate(
            "[...document.querySelectorAll('.cursor')].every((cursor) => !cursor.hidden)"
        ),
        true
    );
}

#[test]
fn a_drag_zooms_all_charts_and_escape_shows_everything() {
    let Some(browser) = Browser::start() else {
        return;
    };
    browser.resize(1400, 900);
    browser.open_with_script(&write_page(&browser, CAPPED, ""));
    let boxes = "[...new Set([...document.querySelectorAll('.plot.time svg')].map((svg) => svg.getAttribute('viewBox')))]";
    let all = browser.evaluate(boxes);
    let (x, y, width) = chart(&browser, "Queue");
    browser.mouse("mouseMoved", (x - width / 4.0, y));
    browser.mouse("mousePressed", (x - width / 4.0, y));
    browser.mouse("mouseMoved", (x + width / 4.0, y));
    browser.mouse("mouseReleased", (x + width / 4.0, y));
    let zoomed = browser.evaluate(boxes);
    let view: Vec<f64> = zoomed[0]
        .as_str()
        .unwrap()
        .split(' ')
        .map(|number| number.parse().unwrap())
        .collect();
    assert_eq!(
        zoomed.as_array().unwrap().len(),
        1,
        "one view in all charts"
    );
    assert!(
        (view[0] - 500.0).abs() < 10.0 && (view[2] - 1000.0).abs() < 10.0,
        "{zoomed}"
    );
    let band = browser.evaluate("document.querySelector('.device .band .inner').style.width");
    let band: f64 = band
        .as_str()
        .unwrap()
        .trim_end_matches('%')
        .parse()
        .unwrap();
    assert!((band - 200.0).abs() < 3.0, "{band}");
    browser.key("Escape");
    assert_eq!(browser.evaluate(boxes), all);
}

#[test]
fn the_keys_move_the_cursor() {
    let Some(browser) = Browser::start() else {
        return;
    };
    browser.resize(1400, 900);
    browser.open_with_script(&write_page(&browser, CAPPED, ""));
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
    let Some(browser) = Browser::start() else {
        return;
    };
    browser.open_with_script(&write_page(&browser, CAPPED, ""));
    let folder = browser.directory().join("downloads");
    fs::create_dir(&folder).unwrap();
    browser.call(
        "Browser.setDownloadBehavior",
        &json!({"behavior": "allow", "downloadPath": folder}),
    );
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
    let rates = header
        .iter()
        .position(|title| *title == "reads_per_s")
        .unwrap();
    let saved: Vec<f64> = lines
        .map(|line| line.split(',').nth(rates).unwrap().parse().unwrap())
        .collect();
    let json = blkstat(&format!("--json --from {CAPPED} loop0")).run().out;
    let expected = json.lines().map(|line| {
        serde_json::from_str::<Value>(line).unwrap()["reads_per_s"]
            .as_f64()
            .unwrap()
    });
    for (saved, expected) in saved.iter().zip(expected) {
        assert!(
            (saved - expected).abs() <= 1e-5 * expected,
            "{saved} {expected}"
        );
    }
    assert_eq!(browser.complaints().len(), 0);
}

/// The text of the recording of the throttled volume.
fn throttled_recording() -> String {
    let mut text = String::new();
    std::io::Read::read_to_string(
        &mut flate2::read::MultiGzDecoder::new(fs::File::open(THROTTLED).unwrap()),
        &mut text,
    )
    .unwrap();
    text
}

/// The recording of the throttled volume, in which the host, the volume, its cgroup and the tasks have hostile names.
fn hostile_recording() -> String {
    let text = throttled_recording();
    let json = |name: &str| {
        let quoted = serde_json::to_string(name).unwrap();
        quoted[1..quoted.len() - 1].to_owned()
    };
    let lines = text.split_inclusive('\n').map(|line| {
        if !line.starts_with("#blkstat ") {
            return line.replace(" loop0 ", &format!(" {HOSTILE_DEVICE} "));
        }
        line.replace("\"loop0\"", &format!("\"{}\"", json(HOSTILE_DEVICE)))
            .replace(
                "\"host\":\"db7\"",
                &format!("\"host\":\"{}\"", json(HOSTILE_HOST)),
            )
            .replace("/orders-db.service", &format!("/{}", json(HOSTILE_CGROUP)))
            .replace(
                "\"comm\":\"fio\"",
                &format!("\"comm\":\"{}\"", json(HOSTILE_TASK)),
            )
    });
    lines.collect()
}

#[test]
fn hostile_names_do_nothing() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let page = write_page(&browser, "-", &hostile_recording());
    let text = fs::read_to_string(&page).unwrap();
    let forbidden = |c: &char| {
        c.is_control() && *c != '\n' || "\u{202d}\u{202e}\u{2066}\u{2067}\u{200f}".contains(*c)
    };
    assert_eq!(
        text.chars().find(forbidden),
        None,
        "a control character in the file"
    );
    for script in [true, false] {
        browser.call(
            "Emulation.setScriptExecutionDisabled",
            &json!({"value": !script}),
        );
        if script {
            browser.open_with_script(&page)
        } else {
            browser.open(&page)
        }
        browser.call(
            "Emulation.setScriptExecutionDisabled",
            &json!({"value": false}),
        );
        // Whatever a name could start has time to start, and to ask for something.
        browser.evaluate("new Promise((done) => setTimeout(done, 300))");
        assert_eq!(browser.evaluate("typeof hacked"), "undefined");
        let foreign = "document.querySelectorAll('img, iframe, object, embed, base, a[href^=\"javascript\" i], script:not(#data):not(:last-of-type)').length";
        assert_eq!(browser.evaluate(foreign), 0);
        let handlers = "[...document.querySelectorAll('*')].filter((e) => [...e.attributes].some((a) => a.name.startsWith('on'))).length";
        assert_eq!(browser.evaluate(handlers), 0);
        let shown = |selector: &str| {
            let texts =
                format!("[...document.querySelectorAll('{selector}')].map((e) => e.textContent)");
            let texts = browser.evaluate(&texts);
            let texts = texts
                .as_array()
                .unwrap()
                .iter()
                .map(|text| text.as_str().unwrap().to_owned());
            texts.collect::<Vec<String>>()
        };
        let host = "</title><script>hacked=3</script>'\"\\u{2067}&lt;\\u{1b}]0;x\\u{7}";
        assert_eq!(shown("header .source b")[0], host);
        assert!(
            shown("title")[0].starts_with(&format!("{host}: ")),
            "{:?}",
            shown("title")
        );
        let device = "<img/src=x:/onerror=hacked=1></script><script>hacked=2</script>\"'`\\u{202e}&amp;\\u{1b}[31m\\u{7}";
        let devices = [
            shown("#d0 h2 bdi"),
            shown("h1 bdi"),
            shown(".overview bdi"),
            shown("table.events bdi"),
        ];
        for texts in devices {
            assert!(texts.iter().any(|text| text == device), "{texts:?}");
        }
        let cgroup =
            "<svg onload=hacked=4>\"><b onmouseover='hacked=5'>\\u{202d}\\u{200f}\\u{9b}31m\\n";
        for texts in [
            shown("table.events td"),
            shown("table bdi"),
            shown(".key"),
            shown("header p"),
        ] {
            assert!(texts.iter().any(|text| text.contains(cgroup)), "{texts:?}");
        }
        let task = "'\"><a href=javascript:hacked=6>\\u{2066}\\u{1b}c";
        let tasks = shown("#host table bdi");
        assert!(tasks.iter().any(|text| text == task), "{tasks:?}");
        assert_eq!(browser.complaints(), Vec::<Value>::new());
    }
}

/// The recording of the throttled volume with the name of a long cgroup, which has to break.
fn recording_with_a_long_cgroup() -> String {
    throttled_recording().replace(
        "orders-db.service",
        &format!("{}.service", "a-database-of-orders-".repeat(5)),
    )
}

#[test]
fn nothing_is_wider_than_the_window_and_no_number_or_word_breaks() {
    let Some(browser) = Browser::start() else {
        return;
    };
    // Numbers, times and words, the names of devices included, stay on one line. Long names of cgroups and tasks may break.
    let broken = "[...document.querySelectorAll('td, th')].flatMap((cell) => { const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), found = [];
         while (texts.nextNode()) for (const word of texts.currentNode.data.matchAll(/[^ ]+/g)) {
             const range = document.createRange(); range.setStart(texts.currentNode, word.index); range.setEnd(texts.currentNode, word.index + word[0].length);
             if (word[0].length <= 24 && !word[0].includes('-') && new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1) found.push(word[0]); }
         return found; })";
    let cut = "[...document.querySelectorAll('table.events td')].filter((cell) => cell.getBoundingClientRect().right > window.innerWidth).length";
    // The last label of the time axis is at the right end of that range.
    let edge = format!("{CAPPED} --end 18:23:01");
    let long = recording_with_a_long_cgroup();
    let inputs = [
        (CAPPED, ""),
        (edge.as_str(), ""),
        ("fixtures/captures/mixed.txt", ""),
        ("fixtures/captures/stalls.txt", ""),
        (THROTTLED, ""),
        ("-", long.as_str()),
    ];
    for (arguments, input) in inputs {
        let page = write_page(&browser, arguments, input);
        browser.resize(1400, 900);
        browser.open_with_script(&page);
        browser.evaluate(
            "document.querySelectorAll('details').forEach((one) => { one.open = true; })",
        );
        for width in (320..=1800).step_by(40) {
            browser.resize(width, 900);
            let excess =
                browser.evaluate("document.documentElement.scrollWidth - window.innerWidth");
            assert!(
                excess.as_f64().unwrap() <= 0.0,
                "{arguments} at {width}: {excess}"
            );
            assert_eq!(
                browser.evaluate(cut),
                0,
                "{arguments} at {width}: cells of the events"
            );
            assert_eq!(
                browser.evaluate(broken),
                json!([]),
                "{arguments} at {width}: broken"
            );
        }
    }
}

#[test]
fn without_javascript_everything_is_drawn() {
    let Some(browser) = Browser::start() else {
        return;
    };
    browser.call(
        "Emulation.setScriptExecutionDisabled",
        &json!({"value": true}),
    );
    browser.open(&write_page(&browser, CAPPED, ""));
    browser.call(
        "Emulation.setScriptExecutionDisabled",
        &json!({"value": false}),
    );
    assert_eq!(
        browser.evaluate("document.documentElement.className"),
        "",
        "the script has not run"
    );
    let drawn = browser.evaluate(
        "[...document.querySelectorAll('.panel')].every((panel) => [...panel.querySelectorAll('.plot path')].some((path) => path.getBBox().width > 100))",
    );
    assert_eq!(drawn, true);
    assert_eq!(
        browser.evaluate("getComputedStyle(document.querySelector('p.script')).display"),
        "none"
    );
}

//! The contents of a page.

use std::path::Path;

use serde_json::Value;
use tempfile::tempdir;

use crate::analyze::capped_volume_on_disk;
use crate::support::program::{BLKSTAT, Program, blkstat, output};
use crate::support::text::json_lines;
use crate::synthetic::reads_line;

/// A recording of a volume whose cgroup is at its limit on the disk below.
const THROTTLED: &str = "fixtures/captures/throttled-volume.txt.gz";

/// Returns the page about a capture.
pub(super) fn page(arguments: &str, input: &str) -> String {
    let (page, err, code) = output(&format!("report {arguments} -o -"), input);
    assert_eq!(code, 0, "{err}");
    page
}

/// Returns the embedded data.
pub(super) fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

/// Returns the text of the first element of a name, without tags.
pub(super) fn text_of(page: &str, element: &str) -> String {
    let (_, rest) = page.split_once(&format!("<{element}>")).unwrap();
    let (inner, _) = rest.split_once(&format!("</{element}>")).unwrap();
    inner
        .split('<')
        .map(|part| part.split_once('>').map_or(part, |(_, text)| text))
        .collect()
}

pub(super) fn numbers(series: &Value) -> Vec<Option<f64>> {
    series
        .as_array()
        .unwrap()
        .iter()
        .map(Value::as_f64)
        .collect()
}

#[test]
fn the_worst_incident_is_the_headline() {
    let page = page("fixtures/captures/capped-3000.txt", "");
    let headline = text_of(&page, "h1");
    assert_eq!(
        headline,
        "loop0 capped since 2026-11-20 18:22:29 UTC (40 s, ongoing)."
    );
    let harm =
        "loop0 stays at 3,000 reads/s, as if limited; reads take 8.37 ms (was 319 µs), queue 24.7.";
    assert!(text_of(&page, "header").contains(harm));
    let header = text_of(&page, "header");
    assert!(
        header.contains("Peak: reads 21.2 ms, queue 63.6. On average 2,904 reads/s, 11.3 MiB/s."),
        "{header}"
    );
    assert!(page.contains(&format!(
        "<title>{} - blkstat report</title>",
        headline.trim_end_matches('.')
    )));
    // Nothing says in which directory it was.
    assert!(page.contains("<code>blkstat --csv --from capped-3000.txt</code>"));
    assert!(!page.contains("fixtures"));
    // The disk below is ok: a band and a row of a table, but no section.
    let page = self::page("-", &capped_volume_on_disk());
    assert_eq!(page.matches("<section class=\"device\"").count(), 1);
    assert!(page.contains("1 device that was ok"));
}

#[test]
fn the_longer_trouble_is_the_headline_and_a_short_stall_is_named() {
    let page = page("-", &stall_and_throttled_volume());
    let headline = text_of(&page, "h1");
    assert!(headline.starts_with("loop0 capped "), "{headline}");
    let header = text_of(&page, "header");
    assert!(header.contains("; sdx stalled at "), "{header}");
}

#[test]
fn one_cause_is_one_incident() {
    let page = page(THROTTLED, "");
    let header = text_of(&page, "header");
    assert!(header.contains("Same incident: vda."), "{header}");
    assert!(
        header.contains("orders-db.service is at its limit of 400 reads/s on vda (blkio.throttle)"),
        "{header}"
    );
    assert!(!header.contains("other incident"), "{header}");
    let (_, table) = page.split_once("<table class=\"events\">").unwrap();
    let table = table.split_once("</table>").unwrap().0;
    // The titles and the incident.
    assert_eq!(table.matches("<tr").count(), 2);
    assert!(
        table.contains("also <a href=\"#d1\"><bdi>vda</bdi></a>"),
        "{table}"
    );
}

#[test]
fn baseline_threshold_and_saturation_agree() {
    let cases = [
        (
            "capped-3000",
            ">unloaded read 322 µs<",
            ">saturated from 965 µs<",
        ),
        // It was always loaded: what is known is its mean since boot.
        (
            "capped-770-340",
            ">unloaded read 502 µs<",
            ">saturated from 1.51 ms<",
        ),
    ];
    for (name, baseline, threshold) in cases {
        let capture = format!("fixtures/captures/{name}.txt");
        let report: Value =
            serde_json::from_str(&output(&format!("analyze --json {capture}"), "").0).unwrap();
        let read = &report["devices"][0]["read"];
        let mean = |quantity: &str| read[quantity]["p50"].as_f64().unwrap();
        let times = mean("await_ms") / read["baseline_await_ms"].as_f64().unwrap();
        assert!((mean("saturation") / times - 1.0).abs() < 0.01, "{read}");
        let page = page(&capture, "");
        assert!(
            page.contains(baseline) && page.contains(threshold),
            "{name}"
        );
        assert!(page.contains("How much slower than unloaded?"));
    }
}

#[test]
fn labels_at_the_ends_of_the_time_axis_stay_on_the_page() {
    let page = page(
        "fixtures/captures/capped-3000.txt --begin 18:22:19 --end 18:23:01",
        "",
    );
    let (_, labels) = page.split_once("<div class=\"xs\">").unwrap();
    let labels: Vec<&str> = labels
        .split_once("</div>")
        .unwrap()
        .0
        .split("<i")
        .skip(1)
        .collect();
    assert!(
        labels[0].starts_with(" class=\"first\" style=\"left:2.4%\">18:22:20"),
        "{labels:?}"
    );
    assert!(
        labels[labels.len() - 1].starts_with(" class=\"last\" style=\"left:97.6%\">18:23:00"),
        "{labels:?}"
    );
    assert!(
        labels[1..labels.len() - 1]
            .iter()
            .all(|label| label.starts_with(" style=")),
        "{labels:?}"
    );
}

#[test]
fn page_text_and_json_agree_on_the_worst_device_and_event() {
    for (arguments, input) in [
        (THROTTLED, String::new()),
        ("-", stall_and_throttled_volume()),
    ] {
        let page = page(arguments, &input);
        let analyze = |options: &str| output(&format!("analyze {options} {arguments}"), &input).0;
        let text = analyze("");
        let json: Value = serde_json::from_str(&analyze("--json")).unwrap();
        let incidents = json["incidents"].as_array().unwrap();
        let field = |incident: &Value, name: &str| incident[name].as_str().unwrap().to_owned();
        let said = |incident: &Value| {
            (
                format!(
                    "{} {} ",
                    field(incident, "victim"),
                    field(incident, "verdict")
                ),
                field(incident, "text"),
            )
        };
        let said: Vec<(String, String)> = incidents.iter().map(said).collect();
        // Page and text begin with the worst, the list below and JSON have the order of time.
        let headline = text_of(&page, "h1");
        let worst = said
            .iter()
            .find(|(lead, _)| headline.contains(lead.as_str()))
            .unwrap();
        let header = text_of(&page, "header");
        for part in worst.1.trim_end_matches('.').split("; ") {
            assert!(
                header.contains(part.trim_start_matches("to ")),
                "{part}: {header}"
            );
        }
        // Facts of the host come before it.
        let from = text.find(&worst.0).unwrap();
        let one_line = text[from..]
            .split_once("\n\n")
            .unwrap()
            .0
            .replace('\n', " ");
        assert!(one_line.contains(&worst.1), "{one_line}: {worst:?}");
        if said.len() > 1 {
            let list = text.split_once("\nIncidents\n").unwrap().1;
            let lines: Vec<&str> = list.lines().take_while(|line| !line.is_empty()).collect();
            assert_eq!(lines.len(), said.len());
            for (line, (lead, why)) in lines.iter().zip(&said) {
                assert!(
                    line.starts_with(lead) && line.contains(why),
                    "{line}: {lead}{why}"
                );
            }
        }
        let table = text.split_once("\ndevice ").unwrap().1;
        assert!(
            table
                .lines()
                .nth(1)
                .unwrap()
                .starts_with(worst.0.split_once(' ').unwrap().0),
            "{table}"
        );
    }
}

#[test]
fn trouble_from_before_the_page_says_so() {
    let capture = "fixtures/captures/capped-3000.txt";
    let cut = text_of(&page(&format!("{capture} --begin +40s"), ""), "h1");
    assert!(
        cut.contains(" since 2026-11-20 18:22:29 UTC (") && cut.contains(", ongoing)"),
        "{cut}"
    );
    // Without the samples before, nobody knows when it began, although it is known to be trouble.
    let text = std::fs::read_to_string(capture).unwrap();
    let late: Vec<&str> = text.split("TS ").skip(1).skip(43).collect();
    let start = late[0].split_whitespace().nth(2).unwrap();
    let page = page("- --baseline-ms 0.3", &format!("TS {}", late.join("TS ")));
    let headline = text_of(&page, "h1");
    assert!(
        headline.contains(&format!(" {start} UTC (&gt;")),
        "{headline}"
    );
    assert!(headline.contains(", ongoing)"), "{headline}");
    let table = page.split_once("<table class=\"events\">").unwrap().1;
    assert!(
        table.contains(&format!("since before {start}<")) && table.contains(">&gt;"),
        "{table}"
    );
}

/// A capture of devices that are all in trouble, each at its own time, with numbers that are hard to compress.
pub(super) fn many_bad_devices(devices: u64, seconds: u64) -> String {
    let mut counters = vec![[0u64; 4]; devices as usize];
    let mut random = 1u64;
    let mut below = move |limit: u64| {
        // The numbers of Knuth's MMIX.
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % limit
    };
    let mut text = String::new();
    for second in 0..seconds {
        text.push_str(&format!(
            "TS {}.0 2026-11-20 00:00:00\n",
            1_795_200_000 + second
        ));
        for (index, [reads, read_ms, writes, write_ms]) in counters.iter_mut().enumerate() {
            let is_slow = (second + 7 * index as u64) % 60 < 25;
            let more = (
                300 + below(100),
                100 + below(80),
                if is_slow { 30 } else { 1 },
            );
            (*reads, *writes) = (*reads + more.0, *writes + more.1);
            *read_ms += more.0 * more.2 * (70 + below(60)) / 100;
            *write_ms += more.1 * more.2 * (140 + below(120)) / 100;
            let busy_ms = 700 * second;
            let flushes = *writes / 20;
            text.push_str(&format!(
                "8 {0} disk{index} {reads} 0 {1} {read_ms} {writes} 0 {2} {write_ms} 0 {busy_ms} {3} 0 0 0 0 {flushes} {4}\n",
                16 * index,
                8 * *reads,
                16 * *writes,
                *read_ms + *write_ms,
                *write_ms / 10,
            ));
        }
    }
    text
}

/// A capture of a disk with this many reads of 1 ms in each second.
fn reads(per_second: &[u64]) -> String {
    let (mut text, mut sum) = (String::new(), 0);
    for (second, reads) in per_second.iter().enumerate() {
        sum += reads;
        let line = reads_line("8 0 sda", sum, sum, 0, sum);
        text += &format!(
            "TS {}.0 2026-11-20 00:00:00\n{line}",
            1_795_200_000 + second
        );
    }
    text
}

#[test]
fn a_burst_does_not_hide_how_the_rate_changed_and_is_marked_where_it_is_cut() {
    let steady = [vec![1000; 20], vec![300; 20]].concat();
    let with_burst = [&steady[..], &[22_000], &steady[..]].concat();
    let axis = |per_second: &[u64]| {
        let page = page("- sda", &reads(per_second));
        let (before, _) = page.split_once("aria-label=\"Operations\"").unwrap();
        let top = before
            .rsplit_once("</i></div>")
            .unwrap()
            .0
            .rsplit_once('>')
            .unwrap()
            .1
            .to_owned();
        let legend = before.rsplit_once("<figure").unwrap().1;
        (top, legend.contains("cut: up to 22,000</span>"))
    };
    assert_eq!(axis(&steady), ("1,000".to_owned(), false));
    assert_eq!(axis(&with_burst), ("1,500".to_owned(), true));
    // Half of the time is no burst.
    assert_eq!(
        axis(&[vec![22_000; 20], vec![300; 20]].concat()).0,
        "30,000"
    );
}

#[test]
fn a_device_that_was_busy_for_two_intervals_has_no_charts() {
    for (busy, charts) in [(2, false), (3, true)] {
        let page = page(
            "- sda",
            &reads(&[vec![0; 10], vec![500; busy], vec![0; 10]].concat()),
        );
        assert_eq!(page.contains("aria-label=\"Latency\""), charts);
        assert!(page.contains("<section class=\"device\" id=\"d0\""));
    }
}

#[test]
fn charts_of_a_healthy_capture_are_open_and_begin_with_the_important_ones() {
    let page = page("-", &reads(&[500; 20]));
    let headline = text_of(&page, "h1");
    assert!(
        headline.ends_with(" UTC: no device was in trouble."),
        "{headline}"
    );
    let (_, section) = page.split_once("<section class=\"device\"").unwrap();
    let (first, more) = section.split_once("<details class=\"more\">").unwrap();
    for title in ["Latency", "Operations", "Queue", "Bandwidth"] {
        assert!(first.contains(&format!("<b>{title}</b>")), "{title}");
    }
    assert!(more.contains("<b>Utilization</b>") && !first.contains("<b>Utilization</b>"));
    assert!(!page.contains("without an incident"));
}

#[test]
fn the_limit_is_drawn_where_it_acts() {
    let page = page(THROTTLED, "");
    let (operations, _) = page.split_once("aria-label=\"Operations\"").unwrap();
    let legend = operations.rsplit_once("<figure").unwrap().1;
    // The device does more than the cgroup may.
    assert!(
        legend.contains(">limit of orders-db.service: 400</span>"),
        "{legend}"
    );
    let header = text_of(&page, "header");
    assert!(
        header.contains("; the limit is that of orders-db.service, not of the device."),
        "{header}"
    );
    assert!(
        header.contains("What to do: unless it is meant, raise it in "),
        "{header}"
    );
}

#[test]
fn a_page_about_many_bad_devices_is_small_and_has_every_interval() {
    let page = page("-", &many_bad_devices(20, 240));
    assert_eq!(page.matches("<section class=\"device\"").count(), 20);
    assert!(page.len() < 1_800_000, "{} bytes", page.len());
    let data = data(&page);
    assert_eq!(numbers(&data["starts"]).len(), 239);
}

#[test]
fn a_named_device_has_charts_although_it_is_ok() {
    let page = page("fixtures/captures/capped-3000.txt vda", "");
    assert!(
        page.contains("<section class=\"device\" id=\"d0\"") && page.contains("<bdi>vda</bdi>")
    );
    assert!(!page.contains("<bdi>loop0</bdi>"));
}

#[test]
fn the_data_are_those_of_json() {
    let capture = "fixtures/captures/mixed.txt";
    let data = data(&page(capture, ""));
    let lines = blkstat(&format!("--json --from {capture} --all")).run().out;
    let lines = json_lines(&lines);
    let mut compared = 0;
    for group in data["groups"].as_array().unwrap() {
        let of_device: Vec<&Value> = lines
            .iter()
            .filter(|line| line["device"] == group["name"])
            .collect();
        // The page is judged with hindsight, lines are as they come.
        let is_measured = |key: &str| !key.ends_with("saturation");
        let series = group["series"].as_object().unwrap().iter();
        for (key, series) in series.filter(|(key, _)| is_measured(key)) {
            let drawn = numbers(&series["mean"]);
            for (line, drawn) in of_device
                .iter()
                .zip(drawn)
                .filter(|_| of_device.len() == 33)
            {
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
    assert_eq!(
        page.matches("<script").count(),
        2,
        "the data and the script"
    );
}

/// The capture of a throttled volume, with a disk that stalls for three seconds at its beginning.
fn stall_and_throttled_volume() -> String {
    let text = std::fs::read_to_string("fixtures/captures/capped-3000.txt").unwrap();
    let mut samples = 0u64;
    let mut with_stall = String::new();
    for line in text.split_inclusive('\n') {
        with_stall.push_str(line);
        if line.starts_with("TS ") {
            // A hundred reads of 1 ms per second; then nothing completes for three seconds.
            let done = 100 * (samples.min(20) + samples.saturating_sub(23));
            let in_flight = if (21..=23).contains(&samples) { 7 } else { 0 };
            with_stall += &reads_line("   8      16 sdx", done, done, in_flight, done);
            samples += 1;
        }
    }
    with_stall
}

#[test]
fn the_policy_permits_nothing_from_outside() {
    let page = page("fixtures/captures/mixed.txt", "");
    let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";
    assert!(page.contains(&format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">"
    )));
}

#[test]
fn the_command_for_exact_values_can_be_pasted_into_a_shell() {
    let directory = tempdir().unwrap();
    for name in [
        "plain.txt",
        "it's $(here) & <b>.txt",
        "x\u{1b}[2J\\'\n.txt",
        "дис\u{202e}к.txt",
    ] {
        let capture = directory.path().join(name);
        std::fs::copy("fixtures/captures/capped-3000.txt", &capture).unwrap();
        let page = blkstat("report -o - --from").args([&capture]).run().out;
        let (_, code) = page.split_once("<code>").unwrap();
        let mut command = code.split_once("</code>").unwrap().0.to_owned();
        for (entity, c) in [
            ("&lt;", "<"),
            ("&gt;", ">"),
            ("&quot;", "\""),
            ("&#39;", "'"),
            ("&amp;", "&"),
        ] {
            command = command.replace(entity, c);
        }
        let bin = Path::new(BLKSTAT).parent().unwrap();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        // Where the capture is.
        let command = format!("cd '{}' && {command}", directory.path().display());
        let printed = Program::new(&["bash", "-c", &command])
            .env("PATH", path)
            .run();
        assert_eq!(printed.code, 0, "{command}: {}", printed.err);
        assert_eq!(
            printed.out,
            blkstat("--csv --from").args([&capture]).run().out
        );
    }
}

#[test]
fn the_charts_of_all_disks_have_the_numbers_of_the_total() {
    let capture = "fixtures/captures/mixed.txt";
    let data = data(&page(capture, ""));
    let groups = data["groups"].as_array().unwrap();
    let host = groups.iter().find(|group| group["name"] == "host").unwrap();
    let lines = blkstat(&format!("--json --total --from {capture}"))
        .run()
        .out;
    let mut totals = json_lines(&lines);
    totals.retain(|row| row["device"] == "total");
    assert!(totals.len() > 10);
    for name in ["queue", "reads_per_s", "writes_per_s"] {
        let drawn = numbers(&host["series"][name]["mean"]);
        assert!(drawn.iter().flatten().any(|value| *value > 0.0), "{name}");
        for (point, total) in drawn.iter().zip(&totals) {
            let (point, total) = (point.unwrap_or(0.0), total[name].as_f64().unwrap_or(0.0));
            assert!(
                (point - total).abs() <= 0.005 * total.abs() + 0.005,
                "{name}: {point} {total}"
            );
        }
        assert_eq!(drawn.len(), totals.len());
    }
}

//! JSON and CSV against each other and against the table.

use crate::support::program::output;
use crate::support::text::json_lines;

#[test]
fn every_json_line_has_the_fields_of_the_csv_header() {
    for capture in [
        "mixed",
        "hotplug",
        "names",
        "old-kernel",
        "stalls",
        "hostile",
    ] {
        let from = format!("--all --from fixtures/captures/{capture}.txt");
        let (json, _, _) = output(&format!("--json {from}"), "");
        let (csv, _, _) = output(&format!("--csv {from}"), "");
        let names = csv.lines().next().unwrap().split(',').collect::<Vec<_>>();
        assert_eq!(names.len(), 68);
        assert_eq!(json.lines().count() + 1, csv.lines().count(), "{capture}");
        for line in json.lines() {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            let object = value.as_object().unwrap();
            assert_eq!(object.len(), names.len());
            assert!(
                names.iter().all(|name| object.contains_key(*name)),
                "{line}"
            );
            assert!(!line.contains(|c: char| c.is_control()), "{line:?}");
        }
    }
}

#[test]
fn table_json_and_csv_have_the_same_lines() {
    for capture in ["mixed", "hotplug", "old-kernel", "stalls"] {
        let from = format!("--total --all --from fixtures/captures/{capture}.txt");
        let (table, _, _) = output(&format!("--width 300 {from}"), "");
        let mut names = Vec::new();
        for line in table
            .lines()
            .filter(|line| !line.starts_with(|c: char| c.is_ascii_digit()))
        {
            let mut words = line.split_whitespace();
            match words.next() {
                Some("└") if line.contains("appeared") => {
                    names.push(words.next().unwrap().to_owned());
                }
                Some("device" | "└") | None => {}
                Some(name) => names.push(name.to_owned()),
            }
        }
        let (csv, _, _) = output(&format!("--csv {from}"), "");
        // The table has the devices of incidents first.
        names.sort();
        let mut of_csv: Vec<_> = csv
            .lines()
            .skip(1)
            .filter_map(|line| line.split(',').nth(2))
            .collect();
        of_csv.sort();
        assert_eq!(of_csv, names, "{capture}");
        let (json, _, _) = output(&format!("--json {from}"), "");
        let total = |line: &str| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            (line["device"] == "total").then(|| line["reads_per_s"].as_f64())
        };
        let of_json: Vec<Option<f64>> = json.lines().filter_map(total).collect();
        let of_table = table.lines().filter(|line| line.starts_with("total "));
        for (number, line) in of_json.iter().zip(of_table) {
            let printed = line.split_whitespace().nth(1).unwrap().parse::<f64>().ok();
            let is_same = match (number, printed) {
                (Some(number), Some(printed)) => {
                    (number - printed).abs() <= printed * 0.005 + 0.005
                }
                (number, printed) => number.is_none() && printed.is_none(),
            };
            assert!(is_same, "{capture}: {number:?} in JSON, {line}");
        }
        assert!(!of_json.is_empty(), "{capture}");
    }
}

#[test]
fn fields_are_chosen_by_the_names_of_json_of_titles_and_of_iostat() {
    let from = "--from fixtures/captures/mixed.txt loop0";
    let named = "time,device,iops,read_kib_per_s,queue,util_pct,longest_await_ms,verdict";
    let of_table = |fields: &str| output(&format!("-o {fields} {from}"), "").0;
    let of_csv = |fields: &str| output(&format!("--csv --fields {fields} {from}"), "").0;
    assert!(of_csv(named).starts_with(&format!("{named}\n")));
    let titles = "time     device      r+w/s rMiB/s queue  util   await        verdict\n";
    assert!(of_table(named).contains(titles), "{}", of_table(named));
    for fields in [
        "time,device,r+w/s,rMiB/s,queue,util,await,verdict",
        "TIME,device,iops,rkB/s,aqu-sz,%util,await,Verdict",
    ] {
        assert_eq!(of_csv(fields), of_csv(named), "{fields}");
        assert_eq!(of_table(fields), of_table(named), "{fields}");
    }
    let (json, _, _) = output(&format!("--json -o util,device {from}"), "");
    assert!(json.starts_with("{\"util_pct\":"), "{json}");
    for (options, message) in [
        (
            "--json -o device,xyzzy",
            "-o: there is no field 'xyzzy'; '-o help' lists them",
        ),
        (
            "-o r_awiat",
            "-o: there is no field 'r_awiat'; did you mean 'r_await'?",
        ),
        (
            "-o r/s,host",
            "-o: the table has no 'host'; --json, --csv and --influx have it",
        ),
    ] {
        let (out, err, code) = output(&format!("{options} {from}"), "");
        assert_eq!((out.as_str(), code), ("", 2), "{options}");
        assert_eq!(err, format!("blkstat: {message}\n"));
    }
}

/// Every name that the help of `-o` lists is accepted, by the table if it has a title there.
#[test]
fn what_o_help_lists_can_be_chosen() {
    let (help, err, code) = output("-o help", "");
    assert_eq!((err.as_str(), code), ("", 0));
    let (_, list) = help.split_once("\n\n").unwrap();
    let (mut names, mut titles) = (Vec::new(), Vec::new());
    for line in list.lines() {
        names.push(line[..25].trim());
        let title: String = line.chars().skip(25).take(9).collect();
        if title != " ".repeat(9) {
            titles.push(title.trim().to_owned());
        }
    }
    let from = "fixtures/captures/mixed.txt loop0 --end 18:28:10";
    let (csv, _, _) = output(&format!("--csv -o {} {from}", names.join(",")), "");
    assert_eq!(csv.lines().next(), Some(names.join(",").as_str()));
    let (table, err, _) = output(&format!("-o {} {from}", titles.join(",")), "");
    assert_eq!(err, "");
    let shown = table.lines().find(|line| line.starts_with("time")).unwrap();
    assert_eq!(shown.split_whitespace().collect::<Vec<_>>(), titles);
}

#[test]
fn every_line_has_the_time_in_seconds_and_the_host() {
    let from = "fixtures/recordings-0.1.0/recording.txt";
    for words in ["--json", "who --json"] {
        let (out, _, _) = output(&format!("{words} --from {from}"), "");
        assert!(words != "--json" || !out.is_empty());
        for line in out.lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let time: jiff::Timestamp = line["time"].as_str().unwrap().parse().unwrap();
            let difference = line["time_s"].as_f64().unwrap() - time.as_microsecond() as f64 / 1e6;
            assert!(difference.abs() < 1e-6, "{line}");
            assert!(line["host"].is_string(), "{line}");
        }
    }
}

/// Splits a line of the line protocol into the measurement with its tags, the fields and the time.
fn influx_parts(line: &str) -> [&str; 3] {
    let (mut is_escaped, mut is_quoted) = (false, false);
    let mut blanks = Vec::new();
    for (at, c) in line.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' if !blanks.is_empty() => is_quoted = !is_quoted,
            ' ' if !is_quoted => blanks.push(at),
            _ => {}
        }
    }
    let [first, second] = blanks[..] else {
        panic!("{line}");
    };
    [
        &line[..first],
        &line[first + 1..second],
        &line[second + 1..],
    ]
}

#[test]
fn lines_of_influxdb_have_the_values_of_json() {
    for capture in ["mixed", "hostile", "hotplug", "stalls"] {
        let from = format!("--all --from fixtures/captures/{capture}.txt");
        let (json, _, _) = output(&format!("--json {from}"), "");
        let (influx, _, _) = output(&format!("--influx {from}"), "");
        let json = json_lines(&json);
        // Only an event without any number may have no line.
        assert!(influx.lines().count() > json.len() / 2, "{capture}");
        let mut rest = json.iter();
        for line in influx.lines() {
            let [tags, fields, time] = influx_parts(line);
            assert!(tags.starts_with("blkstat,device="), "{line}");
            let time: i128 = time.parse().unwrap();
            let of_line = |one: &&serde_json::Value| {
                let at = one["time_s"].as_f64().unwrap();
                (at - time as f64 / 1e9).abs() < 2e-6
                    && fields.contains(&format!(
                        "elapsed_s={:?}",
                        one["elapsed_s"].as_f64().unwrap()
                    ))
            };
            let one = rest
                .find(of_line)
                .unwrap_or_else(|| panic!("{capture}: {line}"));
            if let Some(reads) = one["reads_per_s"].as_f64() {
                assert!(fields.contains(&format!("reads_per_s={reads:?}")), "{line}");
            }
        }
    }
}

/// The columns of CSV with their types in SQL, from the manual.
fn sql_types() -> Vec<(String, String)> {
    let page = std::fs::read_to_string("src/manual/json.md").unwrap();
    let (_, table) = page.split_once("### Types in SQL").unwrap();
    let mut types = Vec::new();
    let (list, _) = table.split_once("\n\nSQLite").unwrap();
    for item in list.split("\n- ").skip(1) {
        let mut words = item.split('`').skip(1).step_by(2);
        let sql_type = words.next().unwrap();
        types.extend(words.map(|column| (column.to_owned(), sql_type.to_owned())));
    }
    types
}

#[test]
fn every_column_has_the_type_in_sql_that_the_manual_states() {
    let mut types = sql_types();
    let captures = [
        "fixtures/captures/mixed.txt",
        "fixtures/captures/stalls.txt",
        "fixtures/captures/throttled-volume.txt.gz",
        "fixtures/captures/hotplug.txt",
    ];
    for capture in captures {
        let (csv, _, _) = output(&format!("--csv --all --from {capture}"), "");
        let (json, _, _) = output(&format!("--json --all --from {capture}"), "");
        let header: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
        types.sort_by_key(|(column, _)| header.iter().position(|name| name == column));
        let documented: Vec<&str> = types.iter().map(|(column, _)| column.as_str()).collect();
        assert_eq!(documented, header);
        for line in json.lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            for (column, sql_type) in &types {
                let value = &line[column.as_str()];
                let fits = match sql_type.as_str() {
                    "timestamp" => value
                        .as_str()
                        .is_some_and(|text| text.parse::<jiff::Timestamp>().is_ok()),
                    "double" => value.is_f64(),
                    "bigint" => value.is_u64(),
                    "boolean" => value.is_boolean(),
                    "varchar" => value.is_string() || value.is_array(),
                    _ => false,
                };
                assert!(
                    fits || value.is_null(),
                    "{capture}: {column} {value} {sql_type}"
                );
            }
        }
    }
}

//! JSON and CSV against each other and against the table.

use crate::support::program::output;

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
        assert_eq!(names.len(), 67);
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
                Some("device" | "└") | None => {}
                Some("+" | "-") => names.push(words.next().unwrap().to_owned()),
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

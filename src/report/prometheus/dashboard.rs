//! A Grafana dashboard: the panels of Percona's Disk Details, verdicts, limits, and the fleet.

/// The dashboard as JSON. Grafana asks for the data source when the dashboard is imported.
pub const DASHBOARD: &str = include_str!("dashboard.json");

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::analysis::Verdict;
    use crate::report::prometheus::{Family, families};

    /// The columns of Grafana's grid.
    const GRID_COLUMNS: u64 = 24;

    /// Returns the expressions of all panels.
    fn expressions() -> Vec<String> {
        let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
        let panels = dashboard["panels"].as_array().unwrap().iter();
        let queries = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
        queries.map(|query| query["expr"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn every_metric_of_the_dashboard_exists_and_most_metrics_are_on_it() {
        let mut known: Vec<String> = Vec::new();
        for Family { name, kind, .. } in families() {
            let suffixes: &[&str] = if *kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
            known.extend(suffixes.iter().map(|suffix| format!("{name}{suffix}")));
        }
        let expressions = expressions().join(" ");
        let words = expressions.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let used: std::collections::BTreeSet<&str> =
            words.filter(|word| word.starts_with("blkstat_")).collect();
        for name in &used {
            assert!(known.iter().any(|known| known == name), "{name}");
        }
        assert!(used.len() > 25, "{used:?}");
    }

    #[test]
    fn panels_have_identifiers_of_their_own_and_units_that_grafana_knows() {
        let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
        let panels = dashboard["panels"].as_array().unwrap();
        let ids: std::collections::BTreeSet<u64> =
            panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
        assert_eq!(ids.len(), panels.len());
        // All units are in the list of @grafana/data 13.2.
        let units = ["none", "short", "s", "bytes", "Bps", "iops", "percentunit"];
        for panel in panels {
            let unit = panel["fieldConfig"]["defaults"]["unit"].as_str().unwrap();
            assert!(units.contains(&unit), "{}: {unit}", panel["title"]);
        }
    }

    #[test]
    fn panels_fill_the_grid_without_overlap() {
        let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
        let mut cells = std::collections::BTreeSet::new();
        for panel in dashboard["panels"].as_array().unwrap() {
            let at = |key: &str| panel["gridPos"][key].as_u64().unwrap();
            for x in at("x")..at("x") + at("w") {
                assert!(x < GRID_COLUMNS);
                for y in at("y")..at("y") + at("h") {
                    assert!(cells.insert((x, y)), "{}", panel["title"]);
                }
            }
        }
    }

    #[test]
    fn the_timeline_of_verdicts_has_all_of_them_by_severity() {
        let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
        let panels = dashboard["panels"].as_array().unwrap();
        let timeline = panels.iter().find(|panel| panel["type"] == "state-timeline").unwrap();
        let names = &timeline["fieldConfig"]["defaults"]["mappings"][0]["options"];
        let query = timeline["targets"][0]["expr"].as_str().unwrap();
        // Level 0 stands for no verdict.
        let verdicts = Verdict::ALL.map(|verdict| (verdict.severity() + 1, verdict.name()));
        assert_eq!(names.as_object().unwrap().len(), verdicts.len() + 1);
        for (level, name) in verdicts.into_iter().chain([(0, "unknown")]) {
            assert_eq!(names[level.to_string()]["text"], name);
            assert!(
                query.contains(&format!("{level} * (rate(blkstat_disk_verdict_seconds_total{{")),
                "{name}"
            );
            assert!(query.contains(&format!(",verdict=\"{name}\"}}[$__rate_interval])")), "{name}");
        }
    }
}

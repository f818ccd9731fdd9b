//! A Grafana dashboard. Its panels are the table in [`panels`]; this file turns them into Grafana's JSON.

mod panels;

use serde_json::{Value, json};

use self::panels::{PANELS, Panel, PanelKind, Query, verdict_levels};

/// The columns of Grafana's grid.
const GRID_COLUMNS: u32 = 24;
/// The height of a panel in units of the grid.
const PANEL_HEIGHT: u32 = 8;
/// The identifier of the dashboard, so that importing it again replaces it.
const UID: &str = "blkstat";

/// Returns the dashboard as JSON. Grafana asks for the data source when the dashboard is imported.
pub fn dashboard() -> String {
    let (mut x, mut y) = (0, 0);
    let mut panels = Vec::new();
    for (index, panel) in PANELS.iter().enumerate() {
        let (width, height) = match panel.kind {
            PanelKind::Row => (GRID_COLUMNS, 1),
            PanelKind::VerdictTimeline | PanelKind::Table => (GRID_COLUMNS, PANEL_HEIGHT),
            PanelKind::Graph | PanelKind::LogGraph | PanelKind::Heatmap => (GRID_COLUMNS / 2, PANEL_HEIGHT),
        };
        if x + width > GRID_COLUMNS {
            (x, y) = (0, y + PANEL_HEIGHT);
        }
        let position = json!({"x": x, "y": y, "w": width, "h": height});
        panels.push(panel_json(panel, index + 1, &position));
        x += width;
        if x == GRID_COLUMNS {
            (x, y) = (0, y + height);
        }
    }
    let dashboard = json!({
        "title": "blkstat: block devices",
        "uid": UID,
        "description": "Metrics of 'blkstat export': counters of the kernel, verdicts, limits, and latency against the unloaded device.",
        "tags": ["blkstat", "disk"],
        "schemaVersion": 39,
        "version": 1,
        "editable": true,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "browser",
        "graphTooltip": 1,
        "templating": {"list": [
            {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"},
            variable("instance", "label_values(blkstat_disk_info, instance)", "Host"),
            variable("device", "label_values(blkstat_disk_info{instance=~\"$instance\"}, device)", "Device"),
        ]},
        "panels": panels,
    });
    format!("{dashboard:#}\n")
}

fn variable(name: &str, query: &str, label: &str) -> Value {
    json!({
        "name": name,
        "label": label,
        "type": "query",
        "datasource": data_source(),
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "sort": 3,
        "multi": true,
        "includeAll": true,
        "current": {"text": "All", "value": "$__all"},
    })
}

fn data_source() -> Value {
    json!({"type": "prometheus", "uid": "${datasource}"})
}

fn panel_json(panel: &Panel, id: usize, position: &Value) -> Value {
    let type_name = match panel.kind {
        PanelKind::Row => "row",
        PanelKind::Graph | PanelKind::LogGraph => "timeseries",
        PanelKind::VerdictTimeline => "state-timeline",
        PanelKind::Table => "table",
        PanelKind::Heatmap => "heatmap",
    };
    let queries = panel.queries.iter().zip('A'..);
    json!({
        "id": id,
        "title": panel.title,
        "description": panel.description,
        "type": type_name,
        "gridPos": position,
        "datasource": data_source(),
        "targets": queries.map(|(query, letter)| query_json(panel, query, letter)).collect::<Vec<_>>(),
        "fieldConfig": {"defaults": field_defaults(panel), "overrides": []},
        "options": options(panel),
        "transformations": transformations(panel),
    })
}

fn query_json(panel: &Panel, query: &Query, letter: char) -> Value {
    let is_table = panel.kind == PanelKind::Table;
    let format = match panel.kind {
        PanelKind::Table => "table",
        PanelKind::Heatmap => "heatmap",
        _ => "time_series",
    };
    json!({
        "refId": letter.to_string(),
        "datasource": data_source(),
        "expr": (query.expression)(),
        "legendFormat": query.legend,
        "format": format,
        "instant": is_table,
        "range": !is_table,
    })
}

fn field_defaults(panel: &Panel) -> Value {
    let scale = match panel.kind {
        PanelKind::LogGraph => json!({"type": "log", "log": 2}),
        _ => json!({"type": "linear"}),
    };
    let draw = if panel.kind == PanelKind::LogGraph { "points" } else { "line" };
    let mut defaults = json!({
        "unit": panel.unit,
        "custom": {"drawStyle": draw, "pointSize": 3, "fillOpacity": 10, "scaleDistribution": scale, "spanNulls": false},
    });
    if panel.kind == PanelKind::VerdictTimeline {
        defaults["custom"] = json!({"fillOpacity": 80, "lineWidth": 0});
        let option = |(index, (level, name, color))| {
            (format!("{level}"), json!({"text": name, "color": color, "index": index}))
        };
        let options: serde_json::Map<String, Value> =
            verdict_levels().into_iter().enumerate().map(option).collect();
        defaults["mappings"] = json!([{"type": "value", "options": options}]);
    }
    defaults
}

fn options(panel: &Panel) -> Value {
    match panel.kind {
        PanelKind::Graph | PanelKind::LogGraph => json!({
            "legend": {"displayMode": "table", "placement": "bottom", "calcs": ["mean", "max"]},
            "tooltip": {"mode": "multi", "sort": "desc"},
        }),
        PanelKind::VerdictTimeline => json!({"mergeValues": true, "showValue": "never", "rowHeight": 0.9}),
        PanelKind::Heatmap => json!({
            "calculate": false,
            "yAxis": {"unit": panel.unit},
            "color": {"mode": "scheme", "scheme": "Oranges"},
        }),
        PanelKind::Table | PanelKind::Row => json!({}),
    }
}

fn transformations(panel: &Panel) -> Value {
    if panel.kind != PanelKind::Table {
        return json!([]);
    }
    json!([
        {"id": "organize", "options": {
            "excludeByName": {"Time": true},
            "renameByName": {"Value": panel.queries.first().map_or("", |query| query.legend)},
        }},
        {"id": "sortBy", "options": {"sort": [{"field": panel.queries.first().map_or("", |query| query.legend), "desc": true}]}},
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::openmetrics::metric_descriptions;

    /// Returns the expressions of all panels.
    fn expressions() -> Vec<String> {
        let dashboard: Value = serde_json::from_str(&dashboard()).unwrap();
        let panels = dashboard["panels"].as_array().unwrap().iter();
        let queries = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
        queries.map(|query| query["expr"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn every_metric_of_the_dashboard_exists_and_most_metrics_are_on_it() {
        let mut known: Vec<String> = Vec::new();
        for (name, kind, _) in metric_descriptions() {
            let suffixes: &[&str] = if kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
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
        let dashboard: Value = serde_json::from_str(&dashboard()).unwrap();
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
        let dashboard: Value = serde_json::from_str(&dashboard()).unwrap();
        let mut cells = std::collections::BTreeSet::new();
        for panel in dashboard["panels"].as_array().unwrap() {
            let at = |key: &str| panel["gridPos"][key].as_u64().unwrap();
            for x in at("x")..at("x") + at("w") {
                assert!(x < u64::from(GRID_COLUMNS));
                for y in at("y")..at("y") + at("h") {
                    assert!(cells.insert((x, y)), "{}", panel["title"]);
                }
            }
        }
    }
}

//! Content negotiation (RFC 9110, section 12.5): the format that a client reads, and whether it may be compressed.

use crate::report::openmetrics::MetricsFormat;

/// Returns the format that a client with these `Accept` headers prefers: the classic one unless it asks for OpenMetrics
/// 1.0.0, or for any version.
pub(super) fn negotiate_format<'a>(accept: impl Iterator<Item = &'a str>) -> MetricsFormat {
    let (mut open, mut classic) = (0.0, None::<f64>);
    for range in accept.flat_map(|header| header.split(',')) {
        let mut parameters = range.split(';').map(str::trim);
        let media = parameters.next().unwrap_or_default().to_ascii_lowercase();
        let (mut quality, mut version) = (1.0, None);
        for (name, value) in parameters.filter_map(|parameter| parameter.split_once('=')) {
            let value = value.trim().trim_matches('"');
            match name.trim().to_ascii_lowercase().as_str() {
                "q" => quality = value.parse::<f64>().unwrap_or(0.0).clamp(0.0, 1.0),
                "version" => version = Some(value),
                _ => {}
            }
        }
        match (media.as_str(), version) {
            ("application/openmetrics-text", None | Some("1.0.0")) => open = quality.max(open),
            ("text/plain", None | Some("0.0.4")) => classic = Some(quality.max(classic.unwrap_or(0.0))),
            _ => {}
        }
    }
    if open > 0.0 && open >= classic.unwrap_or(0.0) {
        MetricsFormat::OpenMetrics
    } else {
        MetricsFormat::Classic
    }
}

/// Returns whether a client with these `Accept-Encoding` headers reads gzip.
pub(super) fn accepts_gzip<'a>(accept_encoding: impl Iterator<Item = &'a str>) -> bool {
    accept_encoding.flat_map(|header| header.split(',')).any(|coding| {
        let (name, parameters) = coding.split_once(';').unwrap_or((coding, ""));
        let parameters = parameters.trim().to_ascii_lowercase();
        let quality = parameters.strip_prefix("q=").map_or(Ok(1.0), str::parse::<f64>);
        name.trim().eq_ignore_ascii_case("gzip") && quality.is_ok_and(|quality| quality > 0.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prometheus_gets_openmetrics_and_everything_else_the_classic_format() {
        // Prometheus 2.42, 3.x, curl, a browser, node_exporter's own clients.
        for (accept, format) in [
            (
                "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                MetricsFormat::OpenMetrics,
            ),
            (
                "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
                MetricsFormat::OpenMetrics,
            ),
            ("*/*", MetricsFormat::Classic),
            ("text/html,application/xhtml+xml,*/*;q=0.8", MetricsFormat::Classic),
            ("text/plain;version=0.0.4;q=0.9, application/openmetrics-text;q=0.2", MetricsFormat::Classic),
            ("application/openmetrics-text;version=\"1.0.0\"", MetricsFormat::OpenMetrics),
            ("application/openmetrics-text; version=0.0.1", MetricsFormat::Classic),
            ("application/openmetrics-text;q=0", MetricsFormat::Classic),
            ("application/openmetrics-text;q=x", MetricsFormat::Classic),
            (";;=,,", MetricsFormat::Classic),
            ("", MetricsFormat::Classic),
        ] {
            assert_eq!(negotiate_format([accept].into_iter()), format, "{accept}");
        }
        assert_eq!(negotiate_format([].into_iter()), MetricsFormat::Classic);
    }

    #[test]
    fn gzip_is_used_only_where_it_is_accepted() {
        for (header, is_accepted) in [
            ("gzip", true),
            ("deflate, GZIP;q=0.5", true),
            ("gzip;q=0", false),
            ("gzip; Q=0", false),
            ("gzip;q=0.0, br", false),
            ("gzip;q=x", false),
            ("identity", false),
            ("xgzip", false),
            ("", false),
        ] {
            assert_eq!(accepts_gzip([header].into_iter()), is_accepted, "{header}");
        }
    }
}

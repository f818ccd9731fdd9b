//! Alert rules and their tests.

/// Alert rules for Prometheus.
pub const ALERT_RULES: &str = include_str!("alert_rules.yml");

/// Unit tests of the alert rules, for `promtool test rules`. They expect the rules in a file called
/// `blkstat-alerts.yml`.
pub const ALERT_TESTS: &str = include_str!("alert_tests.yml");

//! A machine of which nothing is known: its first intervals have a verdict.

use serde_json::Value;

use crate::capture::simulate;
use crate::judge::rows;
use crate::random::Random;
use crate::simulator::{Arrivals, Load, Mix, Setup, Spread, Station, closed};

/// Returns the verdicts on a device that has done nothing before.
fn verdicts(arrivals: Arrivals, options: &[&str]) -> Vec<Value> {
    let mut setup = Setup::new(30);
    setup.is_recording = false;
    setup.station = Station::new(16, 0.0002, Spread::Lognormal(0.3));
    setup.loads = vec![Load::always(arrivals, Mix::READS)];
    let mut random = Random::new("new machine", 1);
    let rows = rows(&simulate(&setup, &mut random).text, options);
    assert_eq!(rows.len(), 30);
    rows.into_iter().map(|row| row["verdict"].clone()).collect()
}

#[test]
fn a_healthy_disk_is_ok_from_the_first_interval() {
    let light = verdicts(Arrivals::Poisson { rate: 700.0 }, &[]);
    assert!(light.iter().all(|verdict| verdict == "ok"), "{light:?}");
}

#[test]
fn a_full_queue_from_the_start_is_busy_and_saturated_where_the_class_is_known() {
    let unknown = verdicts(closed(64), &[]);
    assert!(
        unknown.iter().all(|verdict| verdict == "busy"),
        "{unknown:?}"
    );
    let nvme = verdicts(closed(64), &["--class", "sda=nvme"]);
    let is_beyond_class = |verdict: &Value| verdict == "queueing" || verdict == "saturated";
    assert!(nvme.iter().all(is_beyond_class), "{nvme:?}");
}

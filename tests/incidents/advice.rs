//! Advice is given only where it helps and harms nobody: for each kind, a case in which it helps, and cases that look alike in which
//! following it would be wrong.

use std::sync::Arc;

use blkstat::attribution::{IoDirection, Limit, LimitSource, RateUnit};
use blkstat::counters::CgroupHierarchy;
use blkstat::incidents::{
    Advice, Cause, DeviceSecond, HostSecond, Incidents, Moment, Process, Requests, Scan, Second,
    Task, Told, Use,
};
use blkstat::judge::Verdict;
use blkstat::topology::{DeviceNames, Node, Topology};

const DB: &str = "/system.slice/db.service";
const BACKUP: &str = "/system.slice/backup.service";

/// A disk with what its users do in a second.
#[derive(Clone)]
struct Case {
    device: DeviceSecond,
    host: HostSecond,
    scan: Scan,
}

impl Case {
    /// The database does 100 writes per second of 4 KiB, 1 ms each.
    fn calm() -> Self {
        let writes = Requests {
            per_s: 100.0,
            await_ms: Some(1.0),
        };
        Self {
            device: DeviceSecond {
                place: 0,
                names: DeviceNames::without_alias("sda"),
                verdict: Verdict::Ok,
                limit: None,
                capped_at: None,
                is_suspended: false,
                is_syncing: false,
                is_waited_for: false,
                late_s: 0.0,
                in_flight: 0,
                queue: 0.1,
                util_pct: Some(10.0),
                iops: 100.0,
                kib_per_s: [0.0, 400.0],
                requests: [
                    Requests::default(),
                    writes,
                    Requests::default(),
                    Requests::default(),
                ],
            },
            host: HostSecond {
                cpu_available_pct: Some(80.0),
                io_pressure_pct: Some(5.0),
                swapped_pages_per_s: None,
            },
            scan: Scan {
                uses: vec![using(DB, 400.0)],
                processes: vec![Process {
                    cgroup: DB.into(),
                    program: "mariadbd".into(),
                    seconds: 1.0,
                    kib_per_s: 400.0,
                    is_of_ended_children: false,
                    is_server: false,
                }],
                ..Scan::default()
            },
        }
    }

    /// The same with so many requests at a time, of so many milliseconds, and this word.
    fn queue(verdict: Verdict, queue: f64, await_ms: f64) -> Self {
        let mut case = Self::calm();
        case.device.verdict = verdict;
        case.device.queue = queue;
        case.device.in_flight = queue as u64;
        case.device.util_pct = Some(100.0);
        case.device.requests[1].await_ms = Some(await_ms);
        case.host.io_pressure_pct = Some(90.0);
        case
    }

    /// Nothing completes.
    fn stall(in_flight: u64) -> Self {
        let mut case = Self::queue(Verdict::Stalled, in_flight as f64, 0.0);
        case.device.iops = 0.0;
        case.device.kib_per_s = [0.0; 2];
        case.device.requests = Default::default();
        case
    }

    /// Somebody reads so many KiB per second.
    fn with_load(mut self, cgroup: &str, kib_per_s: f64) -> Self {
        self.device.kib_per_s[0] += kib_per_s;
        self.device.iops += kib_per_s / 64.0;
        self.scan.uses.push(using(cgroup, kib_per_s));
        self
    }

    fn with_waiter(mut self, cgroup: &str, program: &str) -> Self {
        self.scan.tasks.push(Task {
            pid: 7,
            cgroup: Some(cgroup.into()),
            program: program.into(),
            device: Some("sda".into()),
            is_server: false,
        });
        self
    }
}

fn using(cgroup: &str, kib_per_s: f64) -> Use {
    Use {
        device: "sda".into(),
        cgroup: Some(cgroup.into()),
        seconds: 1.0,
        ios_per_s: [0.0, kib_per_s / 4.0],
        kib_per_s: [0.0, kib_per_s],
        limits: Vec::new(),
    }
}

/// A limit of 50 writes per second on the database.
fn limit() -> Limit {
    Limit {
        owner: Some(DB.into()),
        device: "sda".into(),
        direction: IoDirection::Writes,
        unit: RateUnit::Requests,
        value: 50.0,
        source: LimitSource::Cgroup(CgroupHierarchy::V2),
    }
}

/// What is told after some calm seconds and ten of trouble; `None` if nothing is.
fn told(calm_s: usize, trouble: &Case) -> Option<Told> {
    told_on(&[], calm_s, trouble)
}

fn told_on(mountpoints: &[&str], calm_s: usize, trouble: &Case) -> Option<Told> {
    let topology = Topology::new(vec![Node {
        name: "sda".to_owned(),
        mountpoints: mountpoints.iter().map(|one| (*one).to_owned()).collect(),
        ..Node::default()
    }]);
    let mut incidents = Incidents::default();
    for second in 0..calm_s + 10 {
        let case = if second < calm_s {
            &Case::calm()
        } else {
            trouble
        };
        incidents.push(
            Second {
                end: Moment {
                    at: None,
                    run_s: 1.0 + second as f64,
                },
                seconds: 1.0,
                missed: 0,
                host: case.host,
                devices: vec![case.device.clone()],
                scan: Some(case.scan.clone()),
            },
            &topology,
        );
    }
    let worst = incidents.open().min_by(|a, b| a.worst_first(b));
    worst.map(|told| Told::clone(told))
}

fn advice(calm_s: usize, trouble: &Case) -> Option<Advice> {
    told(calm_s, trouble)?.advice
}

/// A queue to which a backup has led, while the database waits.
fn backup() -> Case {
    Case::queue(Verdict::Saturated, 20.0, 60.0)
        .with_load(BACKUP, 500_000.0)
        .with_waiter(DB, "mariadbd")
}

#[test]
fn an_owner_is_limited_only_if_its_load_rose_and_others_wait() {
    assert_eq!(advice(60, &backup()), Some(Advice::LimitOwner));
    // What was before is not known: it may be the victim.
    assert_eq!(advice(2, &backup()), None);
    // Nobody waits for it.
    let alone = Case::queue(Verdict::Saturated, 20.0, 60.0).with_load(BACKUP, 500_000.0);
    assert_eq!(advice(60, &alone), None);
    // Nobody but itself.
    assert_eq!(advice(60, &alone.with_waiter(BACKUP, "tar")), None);
    // It is no unit of systemd.
    let container = Case::queue(Verdict::Saturated, 20.0, 60.0)
        .with_load("/lxc/web", 500_000.0)
        .with_waiter(DB, "mariadbd");
    assert_eq!(advice(60, &container), None);
    // It only waits since then: a victim that came.
    let victim = Case::queue(Verdict::Saturated, 20.0, 60.0).with_waiter(BACKUP, "tar");
    let told = told(60, &victim).unwrap();
    assert_eq!(told.advice, None, "{told:?}");
}

#[test]
fn a_limit_is_raised_only_if_somebody_waits_for_it() {
    let mut limited = Case::queue(Verdict::Slow, 1.0, 20.0);
    limited.device.limit = Some(limit());
    assert_eq!(
        advice(60, &limited.clone().with_waiter(DB, "mariadbd")),
        Some(Advice::RaiseLimit)
    );
    // Nobody waits, and hardly any request does: it is what the limit is for.
    assert_eq!(advice(60, &limited), None);
    assert!(matches!(told(60, &limited).unwrap().cause, Cause::Limit(_)));
}

#[test]
fn a_volume_is_resumed_only_if_it_is_suspended_and_something_waits() {
    let mut suspended = Case::stall(2);
    suspended.device.is_suspended = true;
    assert_eq!(advice(60, &suspended), Some(Advice::Resume));
    // A snapshot is being made of a volume that nobody waits for.
    let mut idle = Case::calm();
    idle.device.is_suspended = true;
    assert_eq!(told(60, &idle), None);
}

#[test]
fn a_path_is_looked_at_only_if_requests_are_in_flight_and_a_file_system_unfrozen_only_if_none_is() {
    assert_eq!(advice(60, &Case::stall(2)), Some(Advice::LookAtPath));
    assert_eq!(advice(60, &Case::stall(0)), Some(Advice::Unfreeze));
}

#[test]
fn a_rebuild_is_slowed_only_if_it_makes_the_array_slow() {
    let mut rebuilding = Case::queue(Verdict::Slow, 3.0, 20.0);
    rebuilding.device.is_syncing = true;
    assert_eq!(advice(60, &rebuilding), Some(Advice::SlowSync));
    let mut healthy = Case::calm();
    healthy.device.is_syncing = true;
    assert_eq!(told(60, &healthy), None);
}

#[test]
fn memory_is_short_only_where_the_device_is_swap() {
    let swapping = told_on(&[Node::SWAP], 60, &backup()).unwrap();
    assert_eq!(
        (swapping.advice, swapping.cause),
        (Some(Advice::Memory), Cause::Swap)
    );
    assert_ne!(advice(60, &backup()), Some(Advice::Memory));
}

#[test]
fn the_cpu_comes_first_only_if_few_requests_wait() {
    let mut starved = Case::queue(Verdict::Slow, 0.5, 5.0);
    starved.device.util_pct = Some(30.0);
    starved.host.cpu_available_pct = Some(0.0);
    starved.host.io_pressure_pct = Some(5.0);
    assert_eq!(advice(60, &starved), Some(Advice::CpuFirst));
    // The disk has a queue, whatever the CPU does.
    let mut both = Case::queue(Verdict::Saturated, 20.0, 60.0);
    both.host.cpu_available_pct = Some(0.0);
    assert_ne!(advice(60, &both), Some(Advice::CpuFirst));
    let mut loaded = backup();
    loaded.host.cpu_available_pct = Some(0.0);
    assert_eq!(advice(60, &loaded), Some(Advice::LimitOwner));
}

#[test]
fn a_device_is_looked_at_only_if_it_does_less_and_nobody_does_more() {
    let mut less = Case::queue(Verdict::Slow, 4.0, 80.0).with_waiter(DB, "mariadbd");
    less.device.iops = 40.0;
    less.device.kib_per_s = [0.0, 160.0];
    less.device.requests[1].per_s = 40.0;
    less.scan.uses = vec![using(DB, 160.0)];
    assert_eq!(advice(60, &less), Some(Advice::LookAtDevice));
    // It does as much as before: who makes the queue is not known.
    assert_eq!(
        advice(
            60,
            &Case::queue(Verdict::Slow, 4.0, 80.0).with_waiter(DB, "mariadbd")
        ),
        None
    );
    let owner: Arc<str> = BACKUP.into();
    assert_eq!(told(60, &backup()).unwrap().owner.unwrap().cgroups, [owner]);
}

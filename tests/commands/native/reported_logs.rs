//! Logs as people reported them: what each of them holds is known, and is shown.

use serde_json::Value;

use crate::support::program::output;
use crate::support::text::json_lines;

/// Reads JSON lines. Returns them with standard error.
pub(super) fn read(options: &str, input: impl AsRef<[u8]>) -> (Vec<Value>, String) {
    let (out, err, code) = output(&format!("--json {options} --from -"), input);
    assert!(code < 2, "{err}");
    (json_lines(&out), err)
}

/// The values of a device, one for each interval.
pub(super) fn of<'a>(lines: &'a [Value], device: &str, field: &str) -> Vec<&'a Value> {
    let of_device = lines.iter().filter(|line| line["device"] == device);
    of_device.map(|line| &line[field]).collect()
}

fn numbers(lines: &[Value], device: &str, field: &str) -> Vec<f64> {
    let values = of(lines, device, field);
    values
        .into_iter()
        .map(|value| value.as_f64().unwrap())
        .collect()
}

/// The time of day of each interval of a device.
fn times(lines: &[Value], device: &str) -> Vec<String> {
    let times = of(lines, device, "time").into_iter();
    times
        .map(|time| time.as_str().unwrap()[..19].to_owned())
        .collect()
}

const HEAD: &str = "Linux 5.10.0 (db1) \t01/15/2024 \t_x86_64_\t(4 CPU)\n\n";
const COLUMNS: &str = "Device r/s w/s rkB/s wkB/s rrqm/s wrqm/s r_await w_await aqu-sz %util\n";

/// A table of a device with so many reads and writes per second.
fn table(reads: f64, writes: f64) -> String {
    format!("{COLUMNS}{}\n", row(reads, writes))
}

fn row(reads: f64, writes: f64) -> String {
    let (kib_read, kib_written) = (4.0 * reads, 8.0 * writes);
    format!(
        "sda {reads:.2} {writes:.2} {kib_read:.2} {kib_written:.2} 0.00 0.00 1.00 2.00 0.05 4.80\n"
    )
}

#[test]
fn a_device_that_hangs_is_stalled_as_queue_and_util_show() {
    let busy = "sda 0.00 57.00 0.00 456.00 0.00 0.00 0.00 0.60 0.03 3.00\n";
    let hung = "sda 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 37.00 100.00\n";
    let mut log = HEAD.to_owned();
    for second in 0..40 {
        let row = if (11..31).contains(&second) {
            hung
        } else {
            busy
        };
        log += &format!("01/15/2024 10:00:{second:02}\n{COLUMNS}{row}\n");
    }
    let (lines, err) = read("", &log);
    let verdicts = of(&lines, "sda", "verdict");
    assert!(
        verdicts[10..30]
            .iter()
            .all(|verdict| **verdict == "stalled"),
        "{err}{verdicts:?}"
    );
    assert!(
        verdicts.iter().all(|verdict| **verdict != "idle"),
        "{verdicts:?}"
    );
    assert_eq!(of(&lines, "sda", "stalled_s")[29], 20.0);
    let (out, ..) = output("analyze --from -", &log);
    assert!(out.starts_with("sda stalled"), "{out}");
    // Old versions print one latency for both.
    let log = log
        .replace("r_await w_await aqu-sz", "await svctm avgqu-sz")
        .replace("0.00 0.60 0.03", "0.60 0.10 0.03");
    let (lines, _) = read("", &log);
    assert_eq!(
        of(&lines, "sda", "verdict")[10..30],
        of(&lines, "sda", "verdict")[10..11].repeat(20)
    );
    assert_eq!(of(&lines, "sda", "verdict")[10], "stalled");
}

#[test]
fn the_length_of_intervals_is_decided_once_and_every_rate_is_as_printed() {
    for seconds in [2, 5, 10, 30, 60_u32] {
        let counts: Vec<[u32; 2]> = (1..40_u32)
            .map(|at| [at * 7919 % (seconds * 13), at * 104_729 % (seconds * 5)])
            .collect();
        let rate = |count: u32| format!("{:.2}", f64::from(count) / f64::from(seconds));
        let mut log = HEAD.to_owned();
        for [reads, writes] in &counts {
            let (reads, writes) = (rate(*reads), rate(*writes));
            log += &format!(
                "{COLUMNS}sda {reads} {writes} 0.00 0.00 0.00 0.00 1.00 2.00 0.05 4.80\n\n"
            );
        }
        let (lines, err) = read("--all", &log);
        assert!(
            err.contains(&format!("are, as their numbers show, {seconds} s apart")),
            "{err}"
        );
        let elapsed = numbers(&lines, "sda", "elapsed_s");
        assert_eq!(elapsed, vec![f64::from(seconds); counts.len() - 1]);
        let expected = |at: usize| -> Vec<f64> {
            let counts = counts[1..].iter();
            counts
                .map(|counts| rate(counts[at]).parse().unwrap())
                .collect()
        };
        assert_eq!(numbers(&lines, "sda", "reads_per_s"), expected(0));
        assert_eq!(numbers(&lines, "sda", "writes_per_s"), expected(1));
    }
}

#[test]
fn a_date_before_each_run_is_the_time_of_its_first_report() {
    let run = |date: &str, reports: &[f64]| {
        let tables: String = reports.iter().map(|reads| table(*reads, 16.0)).collect();
        format!("{date}\n{HEAD}{tables}")
    };
    let dates = [
        [
            "Mon Jan 15 10:00:00 UTC 2024",
            "Mon Jan 15 10:01:00 UTC 2024",
        ],
        ["2024-01-15T10:00:00+0000", "2024-01-15T10:01:00+0000"],
        [
            "zzz ***Mon Jan 15 10:00:00 UTC 2024",
            "zzz ***Mon Jan 15 10:01:00 UTC 2024",
        ],
    ];
    for [first, second] in dates {
        let log = run(first, &[23.0, 17.0, 11.0]) + &run(second, &[23.0, 19.0, 13.0]);
        let (lines, err) = read("", log);
        let expected = ["10:00:01", "10:00:02", "10:01:01", "10:01:02"];
        assert_eq!(
            times(&lines, "sda"),
            expected.map(|time| format!("2024-01-15T{time}")),
            "{err}"
        );
        assert_eq!(
            numbers(&lines, "sda", "reads_per_s"),
            [17.0, 11.0, 19.0, 13.0]
        );
    }
    // With -y, each run has one report, which is that of an interval.
    let rates = [8.4, 12.2, 30.6, 2.8, 17.0];
    let log: String = (0..)
        .zip(rates)
        .map(|(minute, reads)| run(&format!("2024-01-15 10:0{minute}:00"), &[reads]))
        .collect();
    let (lines, err) = read("--every 5s", &log);
    assert_eq!(numbers(&lines, "sda", "reads_per_s"), rates, "{err}");
    assert_eq!(numbers(&lines, "sda", "elapsed_s"), [5.0; 5]);
    assert_eq!(times(&lines, "sda")[1], "2024-01-15T10:01:00");
    // Averages since boot hardly differ, and are none of an interval.
    let log: String = (0..5)
        .map(|minute| {
            run(
                &format!("2024-01-15 10:0{minute}:00"),
                &[20.0 + 0.01 * f64::from(minute)],
            )
        })
        .collect();
    let (lines, err) = read("", &log);
    assert!(
        lines.is_empty() && err.contains("averages since boot"),
        "{err}"
    );
}

#[test]
fn both_kinds_together_have_rate_latency_and_queue() {
    // Writes alone, then both kinds: what is printed for both is that of the kind that is alone.
    let rows = [
        "0.00 800.00 16.00 0.50 5.00",
        "400.00 800.00 16.00 30.00 300.00",
        "400.00 0.00 16.00 30.00 300.00",
    ];
    let mut log =
        format!("{HEAD}10:00:00 DEV tps rd_sec/s wr_sec/s avgrq-sz avgqu-sz await %util\n");
    for (minute, row) in (1..).zip(rows) {
        log += &format!("10:0{minute}:00 dev8-0 100.00 {row} 90.00\n");
    }
    let (lines, err) = read("", &log);
    assert_eq!(numbers(&lines, "dev8-0", "iops"), [100.0; 3], "{err}");
    assert_eq!(numbers(&lines, "dev8-0", "await_ms"), [5.0, 300.0, 300.0]);
    assert_eq!(numbers(&lines, "dev8-0", "queue"), [0.5, 30.0, 30.0]);
    let value = |field: &str| of(&lines, "dev8-0", field);
    assert_eq!(
        value("writes_per_s"),
        [&100.0.into(), &Value::Null, &0.0.into()]
    );
    assert_eq!(
        value("write_await_ms"),
        [&5.0.into(), &Value::Null, &Value::Null]
    );
    assert_eq!(
        value("read_await_ms"),
        [&Value::Null, &Value::Null, &300.0.into()]
    );
    assert!(
        value("verdict")
            .iter()
            .all(|verdict| **verdict != "idle" && !verdict.is_null())
    );
    let (table, ..) = output("--width 200 --from -", &log);
    assert!(
        table.contains(" r+w/s rw_await ") && table.contains("  300ms "),
        "{table}"
    );
    // iostat before version 10 counts both kinds, but has one latency.
    let columns = "Device: rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await svctm %util\n";
    let report = |second: u32, await_ms: f64| {
        format!(
            "10:00:0{second}\n{columns}sda 0.00 0.00 70.00 30.00 280.00 120.00 8.00 0.80 {await_ms:.2} 1.00 80.00\n\n"
        )
    };
    let reports: String = (0..4).map(|second| report(second, 8.0)).collect();
    let (lines, _) = read("", format!("{HEAD}{reports}"));
    assert_eq!(numbers(&lines, "sda", "await_ms"), [8.0; 3]);
    assert_eq!(numbers(&lines, "sda", "reads_per_s"), [70.0; 3]);
    assert!(
        of(&lines, "sda", "read_await_ms")
            .iter()
            .all(|await_ms| await_ms.is_null())
    );
}

#[test]
fn an_impossible_value_costs_only_itself() {
    let log = format!(
        "{HEAD}03:00:20 PM DEV tps rd_sec/s wr_sec/s avgrq-sz avgqu-sz await svctm %util\n\
         03:00:25 PM sda 12.00 96.00 0.00 8.00 0.02 1.60 1.60 1.92\n\
         03:00:25 PM sdb 0.00 0.00 0.00 0.00 3689348814741909.50 0.00 0.00 99.84\n\
         03:00:30 PM sda 10.00 80.00 0.00 8.00 0.02 -nan 1.60 1.92\n\
         03:00:30 PM sdb 2.00 16.00 0.00 8.00 0.01 1.60 1.60 99.84\n"
    );
    let (lines, err) = read("--all", &log);
    assert_eq!(numbers(&lines, "sda", "iops"), [12.0, 10.0], "{err}");
    assert_eq!(of(&lines, "sda", "await_ms"), [&1.6.into(), &Value::Null]);
    assert_eq!(of(&lines, "sdb", "queue"), [&Value::Null, &0.01.into()]);
    assert_eq!(numbers(&lines, "sdb", "util_pct"), [99.84; 2]);
    assert!(
        err.contains(
            "'3689348814741909.50' in column avgqu-sz of sdb is no possible value; it is not known"
        ),
        "{err}"
    );
}

#[test]
fn a_device_that_a_report_lists_twice_counts_once() {
    let rows = row(10.0, 20.0)
        + &row(10.0, 20.0)
        + "sdb 1.00 1.00 4.00 4.00 0.00 0.00 1.00 1.00 0.01 1.00\n";
    let log = format!("{HEAD}{COLUMNS}{rows}\n{COLUMNS}{rows}\n{COLUMNS}{rows}\n");
    let (lines, err) = read("", &log);
    assert_eq!(numbers(&lines, "sda", "reads_per_s"), [10.0; 2], "{err}");
    assert_eq!(numbers(&lines, "sdb", "reads_per_s"), [1.0; 2]);
    assert!(
        err.contains("sda is in the same report twice; skipped"),
        "{err}"
    );
}

#[test]
fn a_head_that_stands_once_is_that_of_all_reports() {
    let rows: Vec<String> = (10..18).map(|reads| row(f64::from(reads), 20.0)).collect();
    let expected: Vec<f64> = (11..18).map(f64::from).collect();
    let log = COLUMNS.to_owned() + &rows.concat();
    let (lines, err) = read("", log);
    assert_eq!(numbers(&lines, "sda", "reads_per_s"), expected, "{err}");
    let mut log = format!("2024-01-15T10:00:00 {COLUMNS}");
    for (second, row) in rows.iter().enumerate() {
        log += &format!("2024-01-15T10:00:0{second} {row}");
    }
    let (lines, err) = read("", &log);
    assert_eq!(numbers(&lines, "sda", "reads_per_s"), expected, "{err}");
    assert_eq!(times(&lines, "sda")[6], "2024-01-15T10:00:07");
    // The head has the time before the first row.
    let log = log.replace("10:00:00 Device", "09:59:59 Device");
    let (lines, err) = read("", log);
    assert_eq!(numbers(&lines, "sda", "elapsed_s"), [1.0; 7], "{err}");
}

#[test]
fn blanks_and_times_that_a_program_put_before_lines_do_no_harm() {
    let log: String = (0..4)
        .map(|second| {
            format!(
                "01/15/2024 10:00:0{second}\n{}",
                table(10.0 + f64::from(second), 3.0)
            )
        })
        .collect();
    let log = HEAD.to_owned() + &log;
    let put_before = |prefix: &str| -> String {
        log.lines()
            .map(|line| format!("{prefix}{line}\n"))
            .collect()
    };
    for prefix in ["", "    ", "\t", "> ", "  | ", "  7  ", "\u{a0} \u{a0}"] {
        let (lines, err) = read("", put_before(prefix));
        assert_eq!(
            numbers(&lines, "sda", "reads_per_s"),
            [11.0, 12.0, 13.0],
            "'{prefix}' {err}"
        );
    }
    let glued: String = (10..14)
        .map(|second| {
            let table = table(f64::from(second), 3.0);
            let lines = table.lines().filter(|line| !line.is_empty());
            lines
                .map(|line| format!("[18:01:{second}]{line}\n"))
                .collect::<String>()
                + "\n"
        })
        .collect();
    let (lines, err) = read("", format!("{HEAD}{glued}"));
    assert_eq!(
        numbers(&lines, "sda", "reads_per_s"),
        [11.0, 12.0, 13.0],
        "{err}"
    );
    assert_eq!(times(&lines, "sda")[2], "2024-01-15T18:01:13");
}

#[test]
fn logs_of_two_tools_in_a_file_are_both_read() {
    let iostat: String = (0..3)
        .map(|second| format!("01/15/2024 10:00:0{second}\n{}", table(10.0, 3.0)))
        .collect();
    let sar = "10:00:30 DEV tps rkB/s wkB/s areq-sz aqu-sz await %util\n\
         10:00:31 sda 302.00 2416.00 0.00 8.00 0.09 0.29 10.00\n\
         10:00:32 sda 176.00 1408.00 0.00 8.00 0.06 0.37 7.50\n";
    let (lines, err) = read("", format!("{HEAD}{iostat}\n{HEAD}{sar}"));
    assert_eq!(
        numbers(&lines, "sda", "iops"),
        [13.0, 13.0, 302.0, 176.0],
        "{err}"
    );
    // The date before the first table of the other log is its own.
    let later = iostat.replace("10:00:0", "10:01:0");
    let (lines, err) = read("", format!("{HEAD}{sar}\n{HEAD}{later}"));
    assert_eq!(numbers(&lines, "sda", "elapsed_s"), [1.0; 4], "{err}");
    assert_eq!(times(&lines, "sda")[2], "2024-01-15T10:01:01");
    // A capture that follows has its own numbers.
    let copies: String = (0..3)
        .map(|second| {
            format!(
                "TS {}\n8 0 sda {} 0 0 0 0 0 0 0 0 0 0\n",
                1_705_312_860 + second,
                1000 + 40 * second
            )
        })
        .collect();
    let (lines, err) = read("", format!("{HEAD}{iostat}\n{copies}"));
    assert_eq!(
        numbers(&lines, "sda", "reads_per_s"),
        [10.0, 10.0, 40.0, 40.0],
        "{err}"
    );
}

#[test]
fn json_with_a_comma_before_its_first_report_is_read() {
    let disk = |reads: u32| {
        format!(
            "\t{{\"disk\": [{{\"disk_device\": \"sdc\", \"r/s\": {reads}.50, \"w/s\": 4.50, \"rkB/s\": 70208.00, \"wkB/s\": 2720.00, \"r_await\": 38.03, \"w_await\": 44.44, \"aqu-sz\": 11.14, \"util\": 100.00}}]}}"
        )
    };
    let log = format!(
        "{{\"sysstat\": {{\n\"hosts\": [\n{{\n\"nodename\": \"h1\", \"date\": \"04/23/2019\",\n\"statistics\": [\n,\n{},\n{}\n]\n}}\n]\n}}}}\n",
        disk(282),
        disk(280)
    );
    let (lines, err) = read("", log);
    assert_eq!(
        numbers(&lines, "sdc", "reads_per_s"),
        [282.5, 280.5],
        "{err}"
    );
}

#[test]
fn dates_in_chinese_japanese_and_korean_are_read() {
    for (date, [hours, minutes, seconds]) in [
        ("2018年03月26日", ["時", "分", "秒"]),
        ("2018年03月26日", ["时", "分", "秒"]),
        ("2018년 03월 26일", [":", ":", ""]),
    ] {
        let time = |second: u32| format!("17{hours}45{minutes}0{second}{seconds}");
        let mut log = format!("Linux 4.13.0 (host) \t{date} \t_x86_64_\t(4 CPU)\n\n");
        log += &format!(
            "{} DEV tps rkB/s wkB/s areq-sz aqu-sz await %util\n",
            time(1)
        );
        for second in 2..5 {
            log += &format!(
                "{} sda 100.00 400.00 0.00 4.00 0.50 5.00 50.00\n",
                time(second)
            );
        }
        let (lines, err) = read("", log);
        assert_eq!(
            times(&lines, "sda")[0],
            "2018-03-26T17:45:02",
            "{date} {err}"
        );
    }
}

#[test]
fn output_of_other_tools_is_refused_by_its_name_with_what_to_do() {
    let sar = "Linux 5.10.0 (db1) \t01/15/2024 \t_x86_64_\t(4 CPU)\n\n10:00:01";
    for (input, name, instead) in [
        (
            "                    extended device statistics              \ndevice    r/s    w/s   kr/s   kw/s wait actv  svc_t  %w  %b \nsd5     224.8  157.8 10701.8 6114.7  0.0  9.5   24.7   0 100 \nsd5     243.2  110.4 11565.3 4065.0  0.0  9.7   27.5   0 100 \n".to_owned(),
            "iostat of Solaris",
            "iostat -xt 1",
        ),
        (
            "    r/s    w/s   kr/s   kw/s wait actv wsvc_t asvc_t  %w  %b device\n  224.8  157.8 10701.8 6114.7  0.0  9.5   0.0   24.7   0 100 c0t0d0\n".to_owned(),
            "iostat of Solaris",
            "iostat -xt 1",
        ),
        (
            "              disk0       cpu    load average\n    KB/t  tps  MB/s  us sy id   1m   5m   15m\n   20.03   31  0.60   5  3 92  1.47 1.66 1.72\n".to_owned(),
            "iostat of macOS",
            "iostat -xt 1",
        ),
        (
            "disk- ------------reads------------ ------------writes----------- -----IO------\n       total merged sectors      ms  total merged sectors      ms    cur    sec\nsda    10000    200  800000    5000  20000   3000 1600000   90000      0     70\n".to_owned(),
            "vmstat",
            "cat /proc/diskstats",
        ),
        (
            "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n 1  0      0 100000  20000 300000    0    0     5     9   10   20  1  1 98  0  0\n".to_owned(),
            "vmstat",
            "cat /proc/diskstats",
        ),
        (
            "AAA,progname,nmon\nAAA,interval,10\nZZZZ,T0001,12:00:01,14-NOV-2023\nDISKBUSY,T0001,3.2,0.1\n".to_owned(),
            "nmon",
            "iostat -xt 1",
        ),
        (
            "----total-cpu-usage---- -dsk/total- -net/total-\nusr sys idl wai stl| read  writ| recv  send\n  1   1  98   0   0|  10k   20k|   0     0 \n".to_owned(),
            "dstat",
            "iostat -xt 1",
        ),
        (
            "# DISK STATISTICS (/sec)\n#Time     Name       KBytes Merged  IOs Size\n19:37:07 vda            108      0    6   18\n".to_owned(),
            "collectl",
            "collectl -sD -f",
        ),
        (
            "ATOP - db1         2024/01/15  10:00:00         ------            10s elapsed\nDSK |          sda | busy      3% | read      10 | write     20 | avio 0.50 ms |\n".to_owned(),
            "atop",
            "iostat -xt 1",
        ),
        (
            format!("{sar}     CPU     %user     %nice   %system   %iowait    %steal     %idle\n10:00:02     all      1.00      0.00      1.00      0.00      0.00     98.00\n"),
            "sar without disks",
            "sar -d -f FILE",
        ),
        (
            format!("{sar}          tps      rtps      wtps   bread/s   bwrtn/s\n10:00:02        10.00      5.00      5.00     40.00     40.00\n"),
            "sar without disks",
            "sar -d -f FILE",
        ),
        (
            "# HELP node_disk_reads_completed_total Reads.\n# TYPE node_disk_reads_completed_total counter\nnode_disk_reads_completed_total{device=\"sda\"} 7\n".to_owned(),
            "Prometheus",
            "blkstat record FILE",
        ),
        (
            "diskio,host=db1,name=sda reads=1i,writes=2i,read_bytes=3i 1700000000000000000\n".to_owned(),
            "telegraf",
            "blkstat record FILE",
        ),
        (
            format!("{HEAD}avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n           8.69    0.00    6.79    0.00    0.00   84.52\n\nDevice             tps    kB_read/s    kB_wrtn/s    kB_read    kB_wrtn\n\n\n").repeat(3),
            "WSL 1",
            "iostat -xt 1",
        ),
    ] {
        let (out, err, code) = output("--from -", &input);
        assert_eq!((out.as_str(), code), ("", 1), "{name}: {err}");
        assert!(err.contains(name) && err.contains(instead), "{name}: {err}");
        assert_eq!(err.lines().count(), 1, "{err}");
    }
}

#[test]
fn a_log_of_several_hosts_is_refused() {
    let log = |host: &str, reads: f64| {
        let reports: String = (0..4)
            .map(|second| format!("01/15/2024 10:00:0{second}\n{}", table(reads, 3.0)))
            .collect();
        HEAD.replace("db1", host) + &reports
    };
    let (first, second) = (log("db1", 10.0), log("db2", 900.0));
    let before = |host: &str, log: &str| -> Vec<String> {
        log.lines()
            .map(|line| format!("{host}: {line}\n"))
            .collect()
    };
    let interleaved: String = before("db1", &first)
        .into_iter()
        .zip(before("db2", &second))
        .map(|(first, second)| first + &second)
        .collect();
    let row = |host: &str, minute: u32, reads: u32| {
        format!(
            "{host};600;2024-01-15 10:{minute}0:00 UTC;sda;{reads}.00;40.00;0.00;4.00;0.05;1.00;3.00\n"
        )
    };
    let sadf: String = (1..5)
        .map(|minute| row("db1", minute, 10) + &row("db2", minute, 900))
        .collect();
    let sadf = format!(
        "# hostname;interval;timestamp;DEV;tps;rkB/s;wkB/s;areq-sz;aqu-sz;await;%util\n{sadf}"
    );
    for text in [first + &second, interleaved, sadf] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, &text).unwrap();
        let (out, err, code) = output(&format!("--json {}", path.display()), "");
        assert_eq!((out.as_str(), code), ("", 2), "{err}");
        assert!(
            err.ends_with("several hosts: db1, db2; give each host a file of its own\n"),
            "{err}"
        );
    }
}

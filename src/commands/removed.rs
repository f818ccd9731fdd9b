//! What was cut from the command line, and what to do instead: people have it in scripts, notes and fingers.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::suggestions::named_command;

/// An option that the program had, or a value of an option.
pub struct Removed {
    /// The command whose option it was; [`ANY`] if no command has it any more.
    pub command: &'static str,
    /// The option as one types it: `--compare`, or `--csv=spreadsheet` if only this value is gone.
    pub option: &'static str,
    /// What to do instead, as the end of a sentence.
    pub instead: &'static str,
}

/// The name that clap has for the view without the name of a command.
pub const VIEW: &str = "blkstat";
/// Stands for every command.
pub const ANY: &str = "";

const CSV: &str = "plain --csv puts an apostrophe before what a spreadsheet would run as a formula";
const SATURATION: &str = "a device is saturated from 3 times its unloaded latency on; read_saturation and \
                          write_saturation of JSON and CSV are that multiple";

/// Everything that was cut, in the order of the commands.
pub const REMOVED: &[Removed] = &[
    Removed {
        command: ANY,
        option: "--host",
        instead: "give each host a file of its own, as with 'grep ^db1: FILE | blkstat --from -'",
    },
    Removed {
        command: ANY,
        option: "--baseline",
        instead: "live views read what the recorder of 'blkstat help service' has learned; --baseline-ms states numbers",
    },
    Removed {
        command: ANY,
        option: "--saturated-at",
        instead: SATURATION,
    },
    Removed {
        command: ANY,
        option: "--saturation-threshold",
        instead: SATURATION,
    },
    Removed {
        command: ANY,
        option: "--realtime",
        instead: "recordings are no longer played; in 'blkstat top' the keys left, right, [, ] and w step through one",
    },
    Removed {
        command: VIEW,
        option: "--all-columns",
        instead: "'--width 300' has space for every column, and '-o COLUMN,...' chooses some",
    },
    Removed {
        command: VIEW,
        option: "--min-util",
        instead: "idle devices are hidden without it, and '--sort util --top N' shows the busiest",
    },
    Removed {
        command: VIEW,
        option: "--show",
        instead: "-o, with the long name --fields, chooses columns of the table as it does fields of JSON and CSV",
    },
    Removed {
        command: VIEW,
        option: "--times",
        instead: "'-o time,r/s,r_await,w/s,w_await,util,verdict' begins each row with the time",
    },
    Removed {
        command: VIEW,
        option: "--mounts",
        instead: "'blkstat devices' shows the mount points, and the files behind loop devices",
    },
    Removed {
        command: VIEW,
        option: "--no-summary",
        instead: "a summary comes only with --summary, or after Ctrl-C on a terminal; COUNT ends without it",
    },
    Removed {
        command: VIEW,
        option: "--csv=spreadsheet",
        instead: CSV,
    },
    Removed {
        command: "top",
        option: "--ascii",
        instead: "'LC_ALL=C blkstat top' uses only ASCII characters",
    },
    Removed {
        command: "top",
        option: "--no-mouse",
        instead: "most terminals select text as usual while Shift is held",
    },
    Removed {
        command: "analyze",
        option: "--compare",
        instead: "run 'blkstat analyze --json' on each capture, and compare the documents",
    },
    Removed {
        command: "analyze",
        option: "--pair",
        instead: "captures are no longer compared; 'blkstat analyze --json' shows each as a document",
    },
    Removed {
        command: "analyze",
        option: "--save-baseline",
        instead: "'record --learn-baseline FILE' learns baselines; 'blkstat help baselines' says more",
    },
    Removed {
        command: "who",
        option: "--kind",
        instead: "--csv has cgroups and processes; its column 'kind' tells which",
    },
    Removed {
        command: "who",
        option: "--csv=spreadsheet",
        instead: CSV,
    },
    Removed {
        command: "latency",
        option: "--csv=spreadsheet",
        instead: CSV,
    },
    Removed {
        command: "latency",
        option: "--buckets",
        instead: "--heatmap shows the histograms, and --json has their percentiles",
    },
    Removed {
        command: "record",
        option: "--columns",
        instead: "'blkstat pt-diskstats' reads every recording; for an old pt-diskstats: awk '/^ *[0-9]/ {NF = 14} 1' FILE",
    },
    Removed {
        command: "export",
        option: "--alerts",
        instead: "'--print alert-rules' prints them",
    },
    Removed {
        command: "export",
        option: "--alert-tests",
        instead: "'--print alert-tests' prints them",
    },
    Removed {
        command: "export",
        option: "--peer-rules",
        instead: "'--print peer-rules' prints them",
    },
    Removed {
        command: "export",
        option: "--dashboard",
        instead: "'--print dashboard' prints it",
    },
    Removed {
        command: "export",
        option: "--node-exporter-rules",
        instead: "'--print peer-rules' has the same for blkstat's own metrics",
    },
    Removed {
        command: "export",
        option: "--textfile-every",
        instead: "the file is written every 15 s; a timer can call 'export --once' at other times",
    },
    Removed {
        command: "man",
        option: "--list",
        instead: "'blkstat man DIR' writes all man pages to a directory",
    },
    Removed {
        command: "service",
        option: "--program",
        instead: "the units start /usr/bin/blkstat; for another path, pipe them through sed 's|/usr/bin/blkstat|PATH|'",
    },
];

impl Removed {
    /// The sentence about it.
    pub fn sentence(&self) -> String {
        format!("{} is gone: {}", self.option, self.instead)
    }
}

/// Returns what was cut, if that is the reason why clap refuses these arguments.
pub(super) fn find_removed(error: &clap::Error, words: &[&str]) -> Option<&'static Removed> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let mut option = text(ContextKind::InvalidArg)?.to_owned();
    match error.kind() {
        ErrorKind::UnknownArgument => {}
        ErrorKind::TooManyValues => option += &format!("={}", text(ContextKind::InvalidValue)?),
        _ => return None,
    }
    let command = named_command(words);
    let command = command.as_deref().unwrap_or(VIEW);
    REMOVED
        .iter()
        .find(|one| one.option == option && (one.command == command || one.command == ANY))
}

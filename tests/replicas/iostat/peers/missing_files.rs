//! Hosts that lack files of /proc or all of /sys, such as containers: words and exit codes are those of iostat.

use std::process::Command;

use super::real_iostat;
use crate::support::program::BLKSTAT;
use crate::wait_for_turn;

/// Runs iostat and blkstat where some files are missing, and prints the differences. Numbers count as equal, because
/// counters move on meanwhile.
const SCRIPT: &str = r#"
    blkstat=$1 missing=$2
    shift 2
    proc=$(mktemp -d)
    mount -t tmpfs none "$proc"
    mkdir -p "$proc/self" "$proc/sys/kernel"
    for file in cpuinfo version stat uptime diskstats filesystems mounts devices; do
        cat "/proc/$file" > "$proc/$file"
    done
    for file in $missing; do
        if [ "$file" = sys ]; then mount -t tmpfs none /sys; else rm "$proc/$file"; fi
    done
    mount --bind "$proc" /proc
    run() { "$@" 2>&1 | sed -E 's/[0-9.]+/N/g; s/ +/ /g'; echo "exit ${PIPESTATUS[0]}"; }
    for line in "" -x "-d 1 1" -c "-xp loop0" "-p ALL" "-x ALL" "-x vda" -N "-o JSON" "-g group vda"; do
        theirs=$(run iostat $line) ours=$(run "$blkstat" iostat $line)
        [ "$theirs" = "$ours" ] || printf -- '-- iostat %s without %s:\n%s\n-- blkstat:\n%s\n' "$line" "$missing" "$theirs" "$ours"
    done
"#;

#[test]
fn a_host_without_some_files_has_the_words_and_exit_codes_of_iostat() {
    let _turn = wait_for_turn();
    let can_mount = || {
        let unshare = Command::new("unshare").args(["-m", "true"]).status();
        unshare.is_ok_and(|status| status.success())
    };
    if real_iostat().is_none() || !can_mount() {
        return;
    }
    let sets = [
        "stat",
        "uptime",
        "diskstats",
        "sys",
        "stat uptime",
        "diskstats sys",
        "stat uptime diskstats sys",
    ];
    for missing in sets {
        let mut command = Command::new("unshare");
        command
            .args(["-m", "bash", "-c", SCRIPT, "bash", BLKSTAT, missing])
            .env("LC_ALL", "C");
        let out = command.output().unwrap();
        let text = format!(
            "{}{}",
            String::from_utf8_lossy(&out.stdout),
            String::from_utf8_lossy(&out.stderr)
        );
        assert_eq!(text, "", "without {missing}");
    }
}

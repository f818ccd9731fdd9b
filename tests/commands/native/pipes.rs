//! Standard output in a pipe that is closed, and on a full disk.

use std::path::Path;

use crate::support::program::{BLKSTAT, Program};

#[test]
fn a_closed_pipe_is_a_normal_end() {
    for format in ["", "--json", "--csv", "--summary"] {
        let shell = format!(
            "{BLKSTAT} {format} --from fixtures/captures/mixed.txt | head -n 1; echo ${{PIPESTATUS[0]}}"
        );
        let outcome = Program::new(&["bash", "-c", &shell]).run();
        assert_eq!(outcome.err, "");
        assert!(outcome.out.ends_with("\n0\n"), "{}", outcome.out);
    }
}

#[test]
fn a_full_standard_output_is_exit_2() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let shell = format!("{BLKSTAT} --from fixtures/captures/mixed.txt > /dev/full; echo $?");
    let outcome = Program::new(&["bash", "-c", &shell]).run();
    assert_eq!(outcome.out, "2\n");
    let message = outcome.err;
    assert!(
        message.starts_with("blkstat: cannot write to standard output") && message.lines().count() == 1,
        "{message}"
    );
}

//! Input that is no capture, or an incomplete one.

use crate::support::program::output;

const LINE: &str = "8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n";

#[test]
fn a_binary_file_is_an_error() {
    for words in [
        "--from -",
        "--json --from -",
        "analyze -",
        "iostat --from -",
    ] {
        // A program may contain the words with which a log begins.
        let log = "\nLinux 6.1.0 (db1) \t11/24/26 \t_x86_64_\t(2 CPU)\n";
        for rest in ["\n\0\n", log] {
            let program = [b"\x7fELF\0\0\xff\xfe", rest.as_bytes()].concat();
            let (_, err, code) = output(words, program);
            let message =
                "blkstat: standard input is not a text file; expected a diskstats capture\n";
            assert_eq!((err.as_str(), code), (message, 2), "{words}");
        }
    }
}

#[test]
fn input_without_an_interval_is_one_line_and_exit_1() {
    let message = |input: &str| {
        let (out, err, code) = output("--from -", input);
        assert_eq!(
            (out.as_str(), err.lines().count(), code),
            ("", 1, 1),
            "{err}"
        );
        err
    };
    assert!(message("").contains("standard input: no samples found"));
    assert!(message(&format!("TS 10\n{LINE}")).contains("only one complete sample"));
    let (out, err, code) = output("--from fixtures/captures/mixed.txt vdb", "");
    assert_eq!((out.as_str(), code), ("", 1));
    assert_eq!(
        err,
        "blkstat: fixtures/captures/mixed.txt: no such device 'vdb'; did you mean 'vda'?\n"
    );
}

#[test]
fn strict_turns_a_warning_into_an_error() {
    let (out, err, code) = output("--strict --from fixtures/captures/faults.txt", "");
    assert_eq!((out.as_str(), code), ("", 2));
    assert!(
        err.starts_with("blkstat: fixtures/captures/faults.txt:1: ") && err.lines().count() == 1,
        "{err}"
    );
}

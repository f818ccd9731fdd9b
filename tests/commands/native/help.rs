//! Help, manual pages and completions.

use crate::support::program::output;

#[test]
fn completions_and_the_manual_page_are_printed() {
    for shell in ["bash", "zsh", "fish"] {
        let (out, _, code) = output(&format!("completions {shell}"), "");
        assert!(code == 0 && out.contains("blkstat") && out.contains("since-boot"), "{shell}");
    }
    // In zsh, nothing may precede the command, or it would be taken for that.
    let (out, _, _) = output("completions zsh", "");
    let first_operand =
        out.lines().find(|line| [r#"":"#, "'*:", "':"].iter().any(|start| line.starts_with(start)));
    assert_eq!(first_operand, Some(r#"":: :_blkstat_commands" \"#));
    assert!(out.contains("case $line[1] in\n            (iostat)"));
    let (out, _, code) = output("man", "");
    assert!(code == 0 && out.contains(".TH \"blkstat\" \"1\"") && out.contains("since\\-boot"), "{out}");
}

#[test]
fn the_help_explains_columns_and_verdicts() {
    for (topic, terms) in [
        ("columns", ["r_sat ", "inflt ", "≤util ", "~1.00ms ", "<500µs ", "25%? "]),
        ("verdicts", ["stalled ", "saturated ", "capped ", "queueing ", "accounting_off ", "- "]),
    ] {
        let (out, err, code) = output(&format!("help {topic}"), "");
        assert_eq!((err.as_str(), code), ("", 0));
        for term in terms {
            assert!(out.lines().any(|line| line.trim_start().starts_with(term)), "{term}: {out}");
        }
        assert!(output("help", "").0.contains(&format!("blkstat help {topic}")));
    }
    assert_eq!(output("help analyze", ""), output("analyze --help", ""));
    assert_eq!(output("help nosuch", "").2, 2);
}

#[test]
fn usage_lines_have_whole_brackets() {
    for command in ["", "analyze", "who", "record", "man", "devices", "completions", "service", "version"] {
        let (out, _, _) = output(&format!("{command} --help"), "");
        let usage = out.split("Options:").next().unwrap();
        for (open, close) in [('[', ']'), ('<', '>')] {
            assert_eq!(usage.matches(open).count(), usage.matches(close).count(), "{usage}");
        }
        let takes_interval = matches!(command, "" | "analyze" | "who" | "record");
        assert_eq!(usage.contains("[INTERVAL [COUNT]]\n"), takes_interval, "{usage}");
    }
}

#[test]
fn a_command_has_a_manual_page_of_its_own() {
    let (out, _, code) = output("man analyze", "");
    assert!(code == 0 && out.contains(".TH \"blkstat-analyze\"") && out.contains("save\\-baseline"), "{out}");
    let (out, err, code) = output("man nosuch", "");
    assert_eq!((out.as_str(), code), ("", 2));
    assert!(err.starts_with("blkstat: no manual page for 'nosuch'; expected one of: "), "{err}");
}

//! The arguments of pt-diskstats. They are parsed by hand: options may be abbreviated and may come from
//! percona-toolkit's configuration files, and errors have the messages and exit codes of pt-diskstats.

mod config;
mod messages;
mod parsed_args;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::Path;

use self::config::{config_arguments, config_files};
use self::parsed_args::ParsedArgs;
use super::options::Options;
use crate::console::ArgError;
use crate::exit::Exit;
use crate::os_error::os_error_text;

/// Parses the arguments of pt-diskstats. `read` returns the text of a configuration file.
///
/// # Errors
/// The text to print instead of a run: an error, or the help or version that was requested.
pub fn parse(
    arguments: &[OsString],
    root: &Path,
    environment: &dyn Fn(&str) -> Option<OsString>,
    read: &dyn Fn(&Path) -> std::io::Result<String>,
) -> Result<Options, ArgError> {
    let mut arguments: VecDeque<String> =
        arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let mut parsed = ParsedArgs::default();
    for file in config_files(&mut arguments, environment)? {
        match read(&file.path) {
            Ok(text) => parsed.add(config_arguments(&text)),
            Err(error) if file.is_required => {
                let message = format!("Cannot open {}: {}\n", file.path.display(), os_error_text(&error));
                return Err(ArgError { message, exit: Exit::Error });
            }
            Err(_) => {}
        }
    }
    parsed.add(arguments);
    parsed.resolve(root)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pt_diskstats::options::GroupBy;

    fn parsed(arguments: &str, config: &str) -> Result<Options, ArgError> {
        let arguments: Vec<OsString> = arguments.split_whitespace().map(OsString::from).collect();
        let read = |path: &Path| match path.ends_with(".pt-diskstats.conf") || path == Path::new("c") {
            true => Ok(config.to_owned()),
            false => Err(std::io::ErrorKind::NotFound.into()),
        };
        parse(&arguments, Path::new("/"), &|_| None, &read)
    }

    #[test]
    fn options_may_be_abbreviated_and_take_values_with_a_blank_or_an_equals_sign() {
        let options = parsed("--group-by=disk --head scroll --sample-t 5 --show-i f", "").unwrap();
        assert_eq!(
            (options.group_by, options.group_headers, options.scroll_headers),
            (GroupBy::Disk, false, true)
        );
        assert_eq!((options.sample_time, options.show_inactive, options.file), (5, true, Some("f".into())));
    }

    #[test]
    fn unknown_and_ambiguous_options_and_invalid_values_are_errors() {
        assert_eq!(parsed("--show f", "").unwrap_err().exit, Exit::PtUsage);
        assert_eq!(parsed("--bogus", "").unwrap_err().exit, Exit::PtUsage);
        assert_eq!(parsed("--interval x", "").unwrap_err().exit, Exit::PtUsage);
        assert_eq!(parsed("--group-by x", "").unwrap_err().exit, Exit::PtDied);
    }

    #[test]
    fn the_command_line_wins_over_configuration_files() {
        let config = "# mine\n\ngroup-by=sample  # always\n; more\nshow-inactive\ninterval = 7\n--\nfile\n";
        let options = parsed("--interval 3", config).unwrap();
        assert_eq!((options.group_by, options.show_inactive, options.interval), (GroupBy::Sample, true, 3));
        assert_eq!(options.file, Some("file".into()));
        assert_eq!(parsed("--config c", "group-by=disk").unwrap().group_by, GroupBy::Disk);
        assert_eq!(parsed("--config missing", "").unwrap_err().exit, Exit::Error);
        assert_eq!(parsed("f --config c", "").unwrap_err().exit, Exit::PtUsage);
    }

    #[test]
    fn an_abbreviation_of_several_options_is_an_error_unless_they_are_one() {
        for arguments in ["--c rd", "--no", "--no-v", "--version-", "--group-by=disks", "--group-by=0"] {
            assert!(parsed(arguments, "").is_ok(), "{arguments}");
        }
        // --version and --version-check; --headers and --help; --config must come first.
        for arguments in ["--ver", "--he", "--conf c", "--version-check=1"] {
            assert_eq!(parsed(arguments, "").unwrap_err().exit, Exit::PtUsage, "{arguments}");
        }
    }

    #[test]
    fn an_option_is_no_value_of_the_option_before_it() {
        for arguments in
            ["--devices-regex --show-inactive", "--columns-regex=-interval", "--save-samples --help"]
        {
            assert_eq!(parsed(arguments, "").unwrap_err().exit, Exit::PtUsage, "{arguments}");
        }
        assert_eq!(parsed("--devices-regex --show f", "").unwrap().devices.as_deref(), Some("--show"));
        assert!(!parsed("--headers --show-inactive f", "").unwrap().show_inactive);
    }

    #[test]
    fn zero_is_no_pattern_and_no_file() {
        let options = parsed("--devices-regex 0 0", "").unwrap();
        assert_eq!((options.devices, options.file), (None, None));
        assert_eq!(parsed("--columns-regex=0", "").unwrap_err().exit, Exit::PtUsage);
    }

    #[test]
    fn whole_numbers_may_have_underscores_and_any_size() {
        let sample_time =
            |text: &str| parsed(&format!("--sample-time={text}"), "").map(|o| o.sample_time).ok();
        assert_eq!(["1_0_", "_-7", "-_7", "+7"].map(sample_time), [Some(10), None, Some(-7), Some(7)]);
        assert_eq!(sample_time("99999999999999999999"), Some(i64::MAX));
        assert_eq!(["1.5", "0x10", "_", "-", ""].map(sample_time), [None; 5]);
    }

    #[test]
    fn help_and_version_win_over_errors_wherever_they_stand() {
        assert_eq!(parsed("--bogus --hel", "").unwrap_err().exit, Exit::Success);
        assert_eq!(parsed("--group-by=x", "bogus\nversion").unwrap_err().exit, Exit::Success);
        assert_eq!(parsed("", "help").unwrap_err().exit, Exit::Success);
        assert!(parsed("--help --version", "").unwrap_err().message.starts_with("pt-diskstats 3.2.1"));
    }

    #[test]
    fn a_configuration_file_has_options_without_dashes() {
        for config in ["--show-inactive", "-x", "show-inactive\n--group-by=disk"] {
            assert_eq!(parsed("", config).unwrap_err().exit, Exit::PtUsage, "{config}");
        }
    }

    #[test]
    fn the_version_check_is_accepted_without_effect() {
        for arguments in ["--version-check", "--no-version-check", "--noversion-check"] {
            assert!(parsed(arguments, "").is_ok(), "{arguments}");
        }
    }
}

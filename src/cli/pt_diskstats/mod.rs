//! The arguments of pt-diskstats. They are parsed by hand: options may be abbreviated and may come from
//! percona-toolkit's configuration files, and errors have the messages and exit codes of pt-diskstats.

mod config;
mod messages;
mod parsed_args;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::Path;

use self::config::{config_arguments, config_files};
use self::messages::{help, version};
use self::parsed_args::ParsedArgs;
use super::ArgError;
use crate::exit::Exit;
use crate::os_error::os_error_text;
use crate::pt_diskstats::Options;

/// Parses the arguments of pt-diskstats. `read` returns the text of a configuration file.
///
/// # Errors
/// The text to print instead of a run: an error, or the help or version that was requested.
pub(super) fn parse(
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
            Ok(text) => parsed.add(config_arguments(&text, &file.path)?, true)?,
            Err(error) if file.is_required => {
                let message = format!("Cannot open {}: {}\n", file.path.display(), os_error_text(&error));
                return Err(ArgError { message, exit: Exit::Error });
            }
            Err(_) => {}
        }
    }
    // Help and version win over errors in other arguments.
    let is_requested = |option: &str| {
        arguments.iter().take_while(|argument| *argument != "--").any(|argument| argument == option)
    };
    let (wants_version, wants_help) = (is_requested("--version"), is_requested("--help"));
    let added = parsed.add(arguments, false);
    if wants_version {
        return Err(version());
    }
    if wants_help {
        return Err(help());
    }
    added?;
    parsed.resolve(root, environment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pt_diskstats::GroupBy;

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
    fn the_version_check_is_accepted_without_effect() {
        for arguments in ["--version-check", "--no-version-check", "--noversion-check"] {
            assert!(parsed(arguments, "").is_ok(), "{arguments}");
        }
    }
}

//! A command line of iostat on a synthetic machine.

use std::path::Path;

/// One command line on one machine.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) machine: String,
    /// The file of its recorded output, among the references: `MACHINE`, or `MACHINE/GROUP`.
    pub(crate) file: String,
    /// The line, `VAR=value ... OPTIONS`, which identifies the case.
    pub(crate) line: String,
    /// Environment variables, in addition to a locale and a time zone.
    pub(crate) environment: Vec<(String, String)>,
    /// The arguments after `iostat`, in which `@CURRENT@` is replaced by the root of the current step.
    pub(crate) arguments: Vec<String>,
    pub(crate) end: End,
}

/// The way in which a run ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// By itself.
    Itself,
    /// By a signal of this name, some time after the last step.
    Signal(&'static str),
}

impl Case {
    /// Parses a line of a file: variables, then arguments. `@` means an interval of one second and as many reports
    /// as the machine has steps, `''` an empty argument, and a final `&INT` or `&TERM` the signal that ends the run.
    pub(crate) fn parse(file: &str, steps: usize, line: &str) -> Self {
        let mut environment = Vec::new();
        let mut arguments = Vec::new();
        let mut end = End::Itself;
        for word in line.split_whitespace() {
            match word {
                "@" => arguments.extend(["1".to_owned(), steps.to_string()]),
                "''" => arguments.push(String::new()),
                "&INT" => end = End::Signal("INT"),
                "&TERM" => end = End::Signal("TERM"),
                _ => match word.split_once('=').filter(|_| arguments.is_empty()) {
                    Some((name, value)) if is_variable(name) => {
                        environment.push((name.to_owned(), value.to_owned()));
                    }
                    _ => arguments.push(word.to_owned()),
                },
            }
        }
        let (machine, file) = (Self::machine_of(file).to_owned(), file.to_owned());
        Self {
            machine,
            file,
            line: line.to_owned(),
            environment,
            arguments,
            end,
        }
    }

    /// Returns the machine of a file.
    pub(crate) fn machine_of(file: &str) -> &str {
        file.split('/').next().unwrap_or(file)
    }

    /// Returns the arguments for a machine below `top`.
    pub(crate) fn arguments_at(&self, top: &Path) -> Vec<String> {
        let current = top.join("current").display().to_string();
        self.arguments
            .iter()
            .map(|word| word.replace("@CURRENT@", &current))
            .collect()
    }

    /// Returns the arguments for a machine that is the root directory, with an interval that no test waits for.
    pub(crate) fn arguments_without_waiting(&self) -> Vec<String> {
        let mut arguments = self.arguments_at(Path::new("/"));
        if let (Some(at), Some(1..)) = (self.interval_index(), self.interval()) {
            arguments[at].push_str("000");
        }
        arguments
    }

    /// Returns whether a one-letter option is given, alone or in a cluster.
    pub(crate) fn has(&self, letter: char) -> bool {
        self.options()
            .any(|word| !word.starts_with("--") && word[1..].contains(letter))
    }

    /// Returns whether an option is given.
    pub(crate) fn has_word(&self, option: &str) -> bool {
        self.options().any(|word| word == option)
    }

    /// Returns the arguments that begin with a dash and are not the value of another option.
    fn options(&self) -> impl Iterator<Item = &str> {
        let words = self.words_without_values();
        words
            .map(|(_, word)| word)
            .filter(|word| word.starts_with('-'))
    }

    /// Returns the arguments that are not the value of another one, with their positions.
    fn words_without_values(&self) -> impl Iterator<Item = (usize, &str)> {
        let takes_value = |word: &str| ["-g", "-f", "+f", "-j", "-o"].contains(&word);
        let mut is_value = false;
        let words = self.arguments.iter().map(String::as_str).enumerate();
        words.filter(move |(_, word)| {
            let was_value = is_value;
            is_value = !was_value && takes_value(word);
            !was_value
        })
    }

    /// Returns the seconds between two reports; `None` for a single report.
    pub(crate) fn interval(&self) -> Option<usize> {
        self.arguments[self.interval_index()?].parse().ok()
    }

    fn interval_index(&self) -> Option<usize> {
        let is_number =
            |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        let mut words = self.words_without_values();
        words
            .find(|(_, word)| is_number(word))
            .map(|(index, _)| index)
    }

    /// Returns the index of the sample that the first report ends with.
    pub(crate) fn first_sample(&self) -> usize {
        usize::from(self.has('y') && self.interval().is_some_and(|every| every > 0))
    }
}

fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

//! A command line on a machine.

use std::path::Path;

/// iostat, called in one way on one machine.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) machine: String,
    /// As the table has it: `VAR=value ... OPTIONS`. It names the case.
    pub(crate) line: String,
    /// Set for the command, beside a locale and a time zone.
    pub(crate) environment: Vec<(String, String)>,
    /// What follows `iostat`; `@CURRENT@` stands for the folder that always holds the current step.
    pub(crate) arguments: Vec<String>,
    pub(crate) end: End,
}

/// How a run ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// By itself.
    Itself,
    /// A signal of this name comes when the last step has stood for a while.
    Signal(&'static str),
}

impl Case {
    /// From a line of the table: variables, then arguments. `@` stands for an interval of a second and as many
    /// reports as the machine has steps, `''` for an empty word, a final `&INT` or `&TERM` for the signal that
    /// ends it.
    pub(crate) fn parse(machine: &str, steps: usize, line: &str) -> Self {
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
        Self { machine: machine.to_owned(), line: line.to_owned(), environment, arguments, end }
    }

    /// The arguments on a machine that lies below `top`.
    pub(crate) fn arguments_at(&self, top: &Path) -> Vec<String> {
        let current = top.join("current").display().to_string();
        self.arguments.iter().map(|word| word.replace("@CURRENT@", &current)).collect()
    }

    /// Whether a one-letter option is given, alone or in a cluster.
    pub(crate) fn has(&self, letter: char) -> bool {
        self.options().any(|word| !word.starts_with("--") && word[1..].contains(letter))
    }

    /// Whether a word is among the options.
    pub(crate) fn has_word(&self, option: &str) -> bool {
        self.options().any(|word| word == option)
    }

    /// The words that begin with a dash and are no other option's value.
    fn options(&self) -> impl Iterator<Item = &str> {
        let takes_value = |word: &str| ["-g", "-f", "+f", "-j", "-o"].contains(&word);
        let mut is_value = false;
        self.arguments.iter().map(String::as_str).filter(move |word| {
            let is_option = !is_value && word.starts_with('-');
            is_value = !is_value && takes_value(word);
            is_option
        })
    }

    /// The seconds between two reports; `None` for a single report.
    pub(crate) fn interval(&self) -> Option<usize> {
        self.arguments.iter().find_map(|word| word.parse().ok())
    }

    /// The sample that the first report ends with.
    pub(crate) fn first_sample(&self) -> usize {
        usize::from(self.has('y') && self.interval().is_some_and(|every| every > 0))
    }
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

//! Runs blkstat in the process of the test, on a clock that the test controls.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

use blkstat::clock::Clock;
use blkstat::commands::{Plan, plan, run};
use blkstat::console::RunContext;
use blkstat::exit::Exit;

/// A command line, ready to run. Its time zone is UTC, and its standard output is not a terminal.
pub(crate) struct InProcess {
    words: Vec<OsString>,
    /// What the words mean, if that was changed or made without words.
    plan: Option<Plan>,
    environment: Vec<(String, OsString)>,
    is_terminal: bool,
    err_is_terminal: bool,
}

/// Returns a command line with arguments of blkstat separated by blanks.
pub(crate) fn in_process(words: &str) -> InProcess {
    let words = ["blkstat"]
        .into_iter()
        .chain(words.split_whitespace())
        .map(OsString::from)
        .collect();
    let environment = vec![("TZ".to_owned(), "UTC".into())];
    InProcess {
        words,
        plan: None,
        environment,
        is_terminal: false,
        err_is_terminal: false,
    }
}

/// Returns what is to run, instead of a command line.
pub(crate) fn of_plan(plan: Plan) -> InProcess {
    InProcess {
        plan: Some(plan),
        ..in_process("")
    }
}

impl InProcess {
    pub(crate) fn args(mut self, arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.words.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Reads the host below this directory.
    pub(crate) fn root(self, root: &Path) -> Self {
        self.args(["--root".into(), root.as_os_str().to_owned()])
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.retain(|(known, _)| known != name);
        self.environment.push((name.to_owned(), value.into()));
        self
    }

    /// Makes the standard output a terminal.
    pub(crate) fn on_terminal(mut self) -> Self {
        self.is_terminal = true;
        self
    }

    /// Makes standard error a terminal.
    pub(crate) fn beside_terminal(self) -> Self {
        Self {
            err_is_terminal: true,
            ..self
        }
    }

    /// Runs to the end. Returns standard output, standard error and how it ended.
    pub(crate) fn run(self, clock: &dyn Clock) -> (String, String, Exit) {
        let mut out = Vec::new();
        let (err, exit) = self.run_to(&mut out, clock);
        (String::from_utf8(out).unwrap(), err, exit)
    }

    /// Runs to the end, with standard output as given. Returns standard error and how it ended.
    pub(crate) fn run_to(self, out: &mut (dyn Write + Send), clock: &dyn Clock) -> (String, Exit) {
        let variable = |name: &str| {
            self.environment
                .iter()
                .find(|(known, _)| known == name)
                .map(|(_, value)| value.clone())
        };
        let plan = match self.plan.map_or_else(|| plan(self.words, &variable), Ok) {
            Ok(plan) => plan,
            Err(error) if error.exit == Exit::Success => {
                out.write_all(error.message.as_bytes()).unwrap();
                return (String::new(), error.exit);
            }
            Err(error) => return (error.message, error.exit),
        };
        let mut err = Vec::new();
        let mut context = RunContext {
            clock,
            environment: &variable,
            out,
            err: &mut err,
            is_terminal: self.is_terminal,
            err_is_terminal: self.err_is_terminal,
            may_lock_memory: false,
        };
        let exit = run(&plan, &mut context);
        (String::from_utf8(err).unwrap(), exit)
    }
}
